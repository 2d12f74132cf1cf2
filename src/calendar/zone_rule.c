/* The rule at the end of a TZif file, such as CET-1CEST,M3.5.0,M10.5.0/3 (RFC 8536, 3.3). */
#include "calendar/calendar_state.h"

#include "base/civil.h"
#include "base/digits.h"

#define HOURS_MAX 167u /* of a rule's time of day, either way */

/* ---- reading ---- */

static bool take(arcp_span *text, char c)
{
    const bool is_next = text->size != 0 && text->data[0] == c;
    *text = is_next ? arcp_span_from(*text, 1) : *text;
    return is_next;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* An abbreviation: letters, or anything in <>. */
static bool take_name(arcp_span *text)
{
    size_t size = 0;
    if (take(text, '<')) {
        while (size < text->size && text->data[size] != '>') {
            size++;
        }
        *text = arcp_span_from(*text, size);
        return size != 0 && take(text, '>');
    }
    while (size < text->size && is_letter(text->data[size])) {
        size++;
    }
    *text = arcp_span_from(*text, size);
    return size != 0;
}

static bool take_number(arcp_span *text, uint64_t max, int *out)
{
    uint64_t number = 0;
    const bool is_number = arcp__digits_take(text, &number) && number <= max;
    *out = is_number ? (int)number : 0;
    return is_number;
}

/* [+-]hours[:minutes[:seconds]] as seconds. */
static bool take_time(arcp_span *text, int32_t *out)
{
    int parts[3] = {0, 0, 0};
    const bool is_negative = take(text, '-');
    if (!is_negative) {
        (void)take(text, '+');
    }
    if (!take_number(text, HOURS_MAX, &parts[0])) {
        return false;
    }
    for (size_t i = 1; i < 3 && take(text, ':'); i++) {
        if (!take_number(text, 59, &parts[i])) {
            return false;
        }
    }
    const int32_t seconds = parts[0] * 3600 + parts[1] * 60 + parts[2];
    *out = is_negative ? -seconds : seconds;
    return true;
}

static bool take_day(arcp_span *text, arcp__zone_day *out)
{
    bool is_day = false;
    *out = (arcp__zone_day){.time = 7200};
    if (take(text, 'M')) {
        out->kind = ARCP__ZONE_DAY_OF_WEEK;
        is_day = take_number(text, 12, &out->month) && out->month >= 1 && take(text, '.') &&
                 take_number(text, 5, &out->week) && out->week >= 1 && take(text, '.') &&
                 take_number(text, 6, &out->day);
    } else if (take(text, 'J')) {
        out->kind = ARCP__ZONE_DAY_JULIAN;
        is_day = take_number(text, 365, &out->day) && out->day >= 1;
    } else {
        out->kind = ARCP__ZONE_DAY_OF_YEAR;
        is_day = take_number(text, 365, &out->day);
    }
    return is_day && (!take(text, '/') || take_time(text, &out->time));
}

bool arcp__zone_rule_read(arcp_span text, arcp__zone_rule *out)
{
    int32_t west = 0; /* POSIX counts offsets to the west */
    *out = (arcp__zone_rule){0};
    if (!take_name(&text) || !take_time(&text, &west)) {
        return false;
    }
    out->offset = -west;
    if (text.size == 0) {
        return true;
    }
    out->has_saving = true;
    if (!take_name(&text)) {
        return false;
    }
    west -= 3600;
    if (text.size != 0 && text.data[0] != ',' && !take_time(&text, &west)) {
        return false;
    }
    out->saving_offset = -west;
    return take(&text, ',') && take_day(&text, &out->begins) && take(&text, ',') &&
           take_day(&text, &out->ends) && text.size == 0;
}

/* ---- instants ---- */

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The day of a year, in days since 1970. */
static int64_t day_in(const arcp__zone_day *day, int year)
{
    const int64_t january = arcp__civil_days(year, 1, 1);
    if (day->kind == ARCP__ZONE_DAY_OF_YEAR) {
        return january + day->day;
    }
    if (day->kind == ARCP__ZONE_DAY_JULIAN) {
        return january + day->day - 1 + (is_leap(year) && day->day >= 60 ? 1 : 0);
    }
    const int64_t first = arcp__civil_days(year, day->month, 1);
    const int64_t weekday = (first + 4) % 7; /* 1970-01-01 was a Thursday */
    const int64_t found = first + (day->day - weekday + 7) % 7 + 7 * (int64_t)(day->week - 1);
    const int64_t next = day->month == 12 ? arcp__civil_days(year + 1, 1, 1)
                                          : arcp__civil_days(year, day->month + 1, 1);
    return found >= next ? found - 7 : found;
}

arcp__zone_period arcp__zone_rule_at(const arcp__zone_rule *rule, int64_t instant)
{
    arcp__zone_period period = {rule->offset, ARCP__DUE_NEVER};
    if (!rule->has_saving) {
        return period;
    }
    /* The changes of three years, in order: those of one may lie in its neighbour. */
    const int year = arcp__civil_of_days(instant / ARCP__DAY_SEC).year;
    for (int y = year - 1; y <= year + 1; y++) {
        const struct {
            int64_t at;
            int32_t offset;
        } begins = {day_in(&rule->begins, y) * ARCP__DAY_SEC + rule->begins.time - rule->offset,
                    rule->saving_offset},
          ends = {day_in(&rule->ends, y) * ARCP__DAY_SEC + rule->ends.time - rule->saving_offset,
                  rule->offset};
        const bool begins_first = begins.at < ends.at;
        for (int i = 0; i < 2; i++) {
            const bool is_begin = (i == 0) == begins_first;
            const int64_t at = is_begin ? begins.at : ends.at;
            if (at > instant) {
                period.end = at;
                return period;
            }
            period.offset = is_begin ? begins.offset : ends.offset;
        }
    }
    return period;
}
