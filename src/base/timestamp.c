#include "base/timestamp.h"

#include <arcp/time.h>

#include "base/civil.h"

#define YEAR_MIN 1970
#define YEAR_MAX 9999

/* Reads `count` characters that are known to be digits. */
static int read_digits(arcp_span text, size_t from, size_t count)
{
    int value = 0;
    for (size_t digit = from; digit < from + count; digit++) {
        value = value * 10 + (text.data[digit] - '0');
    }
    return value;
}

static arcp_status refuse(arcp_span text, size_t offset, const char *what, arcp_error *err)
{
    const arcp_span shown = arcp_span_first(text, 48);
    return arcp_error_set_at(
        err, ARCP_E_INVALID_REQUEST, offset,
        "\"%.*s\" is not an RFC 3339 time in UTC: %s (expected e.g. 2026-05-13T19:42:13Z)",
        (int)shown.size, shown.size == 0 ? "" : shown.data, what);
}

arcp_status arcp__timestamp_parse(arcp_span text, arcp__instant *out, arcp_error *err)
{
    static const char shape[] = "0000-00-00T00:00:00";
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        const bool digit = i < text.size && text.data[i] >= '0' && text.data[i] <= '9';
        if (i >= text.size || (shape[i] == '0' ? !digit : text.data[i] != shape[i])) {
            return refuse(text, i, "its form is wrong", err);
        }
    }
    const int year = read_digits(text, 0, 4);
    const int month = read_digits(text, 5, 2);
    const int day = read_digits(text, 8, 2);
    const int hour = read_digits(text, 11, 2);
    const int minute = read_digits(text, 14, 2);
    const int second = read_digits(text, 17, 2);
    const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < YEAR_MIN || year > YEAR_MAX) {
        return refuse(text, 0, "the year must be 1970 to 9999", err);
    }
    if (month < 1 || month > 12) {
        return refuse(text, 5, "there is no such month", err);
    }
    if (day < 1 || day > month_days[month - 1] + (month == 2 && is_leap ? 1 : 0)) {
        return refuse(text, 8, "there is no such day", err);
    }
    if (hour > 23 || minute > 59) {
        return refuse(text, 11, "there is no such time of day", err);
    }
    const bool is_leap_second = second == 60 && hour == 23 && minute == 59;
    if (second > 59 && !is_leap_second) {
        return refuse(text, 17, "there is no such second", err);
    }
    size_t i = 19;
    int64_t fraction_ns = 0;
    arcp_span rest = {NULL, 0};
    if (i < text.size && text.data[i] == '.') {
        const size_t first = ++i;
        int64_t unit = ARCP_NS_PER_SEC / 10;
        for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++, unit /= 10) {
            fraction_ns += unit * (text.data[i] - '0');
        }
        if (i == first) {
            return refuse(text, i, "a fraction needs digits", err);
        }
        if (i - first > 9) {
            rest = arcp_span_make(text.data + first + 9, i - first - 9);
            while (rest.size > 0 && rest.data[rest.size - 1] == '0') {
                rest.size--;
            }
        }
    }
    if (i + 1 != text.size || text.data[i] != 'Z') {
        return refuse(text, i, "it must end with Z", err);
    }
    const int64_t seconds = arcp__civil_days(year, month, day) * 86400 + INT64_C(3600) * hour +
                            INT64_C(60) * minute + second;
    *out = (arcp__instant){.seconds = seconds, .ns = (uint32_t)fraction_ns, .rest = rest};
    if (__builtin_mul_overflow(seconds, ARCP_NS_PER_SEC, &out->wall_ns) ||
        __builtin_add_overflow(out->wall_ns, fraction_ns, &out->wall_ns)) {
        out->wall_ns = ARCP_TIME_NEVER;
    }
    return ARCP_OK;
}

arcp__instant arcp__instant_at(int64_t wall_ns)
{
    return (arcp__instant){.seconds = wall_ns / ARCP_NS_PER_SEC,
                           .ns = (uint32_t)(wall_ns % ARCP_NS_PER_SEC),
                           .wall_ns = wall_ns};
}

int arcp__instant_compare(arcp__instant a, arcp__instant b)
{
    if (a.seconds != b.seconds) {
        return a.seconds < b.seconds ? -1 : 1;
    }
    if (a.ns != b.ns) {
        return a.ns < b.ns ? -1 : 1;
    }
    const size_t common = a.rest.size < b.rest.size ? a.rest.size : b.rest.size;
    const int order = common == 0 ? 0 : memcmp(a.rest.data, b.rest.data, common);
    if (order != 0) {
        return order < 0 ? -1 : 1;
    }
    /* Without trailing zeros the longer one is later. */
    return a.rest.size == b.rest.size ? 0 : (a.rest.size < b.rest.size ? -1 : 1);
}

static void write_digits(char *out, int value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void arcp__timestamp_format(int64_t wall_ns, char out[ARCP__TIMESTAMP_SIZE])
{
    int64_t ms = wall_ns / ARCP_NS_PER_MS;
    ms = wall_ns < 0 ? 0 : ms;
    const int64_t days = ms / 86400000;
    const int rest = (int)(ms % 86400000);
    const arcp__civil date = arcp__civil_of_days(days);
    memcpy(out, "0000-00-00T00:00:00.000Z", ARCP__TIMESTAMP_SIZE);
    write_digits(out, date.year, 4);
    write_digits(out + 5, date.month, 2);
    write_digits(out + 8, date.day, 2);
    write_digits(out + 11, rest / 3600000, 2);
    write_digits(out + 14, rest / 60000 % 60, 2);
    write_digits(out + 17, rest / 1000 % 60, 2);
    write_digits(out + 20, rest % 1000, 3);
}
