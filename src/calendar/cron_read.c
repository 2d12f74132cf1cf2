/* Cron expressions as bits, and the minutes that they match. */
#include "calendar/calendar_state.h"

#include <string.h>

#include "base/civil.h"
#include "base/digits.h"

#define YEARS_MAX 50

/* ---- reading ---- */

typedef struct field {
    const char *name;
    unsigned first, last;
    const char *names; /* of the values from `first` on, three letters each; NULL: none */
} field;

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const field fields[FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"weekday", 0, 7, "sunmontuewedthufrisat"}, /* 7 is Sunday, too */
};

static const struct {
    const char *name, *text;
} nicknames[] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(arcp_span text, const char *word)
{
    size_t i = 0;
    while (i < text.size && word[i] != '\0' && lower(text.data[i]) == word[i]) {
        i++;
    }
    return i == text.size && word[i] == '\0';
}

static arcp_status refuse(const field *of, arcp_span text, const char *what, arcp_error *err)
{
    const arcp_span shown = arcp_span_first(text, 48);
    return arcp_error_set(err, ARCP_E_USAGE, "%s \"%.*s\": %s", of->name, (int)shown.size,
                          shown.size == 0 ? "" : shown.data, what);
}

static arcp_status refuse_value(const field *of, arcp_span text, arcp_error *err)
{
    const arcp_span shown = arcp_span_first(text, 48);
    return arcp_error_set(err, ARCP_E_USAGE, "%s \"%.*s\": must be %u to %u%s", of->name,
                          (int)shown.size, shown.size == 0 ? "" : shown.data, of->first, of->last,
                          of->names == NULL ? "" : ", or the first three letters of a name");
}

static bool read_value(const field *of, arcp_span text, unsigned *out)
{
    uint64_t number = 0;
    if (arcp__digits_parse(text, &number)) {
        *out = (unsigned)number;
        return number >= of->first && number <= of->last;
    }
    if (of->names == NULL || text.size != 3) {
        return false;
    }
    for (size_t i = 0; of->names[3 * i] != '\0'; i++) {
        char word[4] = "";
        memcpy(word, of->names + 3 * i, 3);
        if (same_word(text, word)) {
            *out = of->first + (unsigned)i;
            return true;
        }
    }
    return false;
}

/* Splits at the first `separator`; false, with an empty *after, when there is none. */
static bool split(arcp_span text, char separator, arcp_span *before, arcp_span *after)
{
    const char *at = text.size == 0 ? NULL : memchr(text.data, separator, text.size);
    *before = at == NULL ? text : arcp_span_first(text, (size_t)(at - text.data));
    *after = at == NULL ? arcp_span_make(NULL, 0) : arcp_span_from(text, before->size + 1);
    return at != NULL;
}

/* Reads an item of a list: `*`, a value or a range, with a step after `*` or a range. */
static arcp_status read_item(const field *of, arcp_span item, uint64_t *bits, arcp_error *err)
{
    arcp_span range;
    arcp_span step_text;
    arcp_span from;
    arcp_span upto;
    uint64_t step = 1;
    unsigned first = of->first;
    unsigned last = of->last;
    const bool has_step = split(item, '/', &range, &step_text);
    const bool is_all = arcp_span_equal_cstr(range, "*");
    const bool is_range = split(range, '-', &from, &upto);
    if (has_step && (!arcp__digits_parse(step_text, &step) || step == 0)) {
        return refuse(of, item, "a step is a number from 1 on", err);
    }
    if (has_step && !is_all && !is_range) {
        return refuse(of, item, "a step follows * or a range, as in */5 or 10-59/5", err);
    }
    if (!is_all) {
        if (!read_value(of, from, &first)) {
            return refuse_value(of, from, err);
        }
        last = first;
        if (is_range && !read_value(of, upto, &last)) {
            return refuse_value(of, upto, err);
        }
        if (first > last) {
            return refuse(of, item, "the range ends before it begins; write two, as in 22-23,0-3",
                          err);
        }
    }
    for (uint64_t value = first; value <= last; value += step) {
        *bits |= UINT64_C(1) << value;
        if (step > last) {
            break;
        }
    }
    return ARCP_OK;
}

static arcp_status read_field(const field *of, arcp_span text, uint64_t *bits, arcp_error *err)
{
    arcp_span rest = text;
    bool more = true;
    *bits = 0;
    while (more) {
        arcp_span item;
        more = split(rest, ',', &item, &rest);
        const arcp_status status = read_item(of, item, bits, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes the next word. */
static arcp_span take_word(arcp_span *text)
{
    size_t start = 0;
    while (start < text->size && is_blank(text->data[start])) {
        start++;
    }
    size_t end = start;
    while (end < text->size && !is_blank(text->data[end])) {
        end++;
    }
    const arcp_span word = arcp_span_first(arcp_span_from(*text, start), end - start);
    *text = arcp_span_from(*text, end);
    return word;
}

static arcp_status replace_nickname(arcp_span *text, arcp_error *err)
{
    arcp_span rest = *text;
    const arcp_span word = take_word(&rest);
    if (word.size == 0 || word.data[0] != '@') {
        return ARCP_OK;
    }
    for (size_t i = 0; i < sizeof nicknames / sizeof nicknames[0]; i++) {
        if (same_word(word, nicknames[i].name) && take_word(&rest).size == 0) {
            *text = arcp_span_cstr(nicknames[i].text);
            return ARCP_OK;
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "\"%.*s\" must be @hourly, @daily, @midnight, @weekly, @monthly, @yearly "
                          "or @annually, and stand alone",
                          (int)arcp_span_first(*text, 48).size, text->data);
}

arcp_status arcp__cron_read(arcp_span text, arcp__cron *out, arcp_error *err)
{
    arcp_span words[FIELDS + 1];
    uint64_t bits[FIELDS];
    arcp_status status = replace_nickname(&text, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span rest = text;
    for (size_t i = 0; i <= FIELDS; i++) {
        words[i] = take_word(&rest);
    }
    if (words[FIELDS - 1].size == 0 || words[FIELDS].size != 0) {
        const arcp_span shown = arcp_span_first(text, 48);
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%.*s\" must have five fields: minute, hour, day of the month, "
                              "month, weekday",
                              (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    for (size_t i = 0; i < FIELDS; i++) {
        status = read_field(&fields[i], words[i], &bits[i], err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    const uint64_t sunday = bits[WEEKDAY] >> 7 & 1;
    *out = (arcp__cron){.minutes = bits[MINUTE],
                        .hours = (uint32_t)bits[HOUR],
                        .days = (uint32_t)bits[DAY],
                        .months = (uint16_t)bits[MONTH],
                        .weekdays = (uint8_t)((bits[WEEKDAY] | sunday) & 0x7f),
                        .needs_both = words[DAY].data[0] == '*' || words[WEEKDAY].data[0] == '*'};
    const int64_t years = INT64_C(366) * YEARS_MAX * 1440;
    return arcp__cron_minute(out, 0, years) == years
               ? arcp_error_set(err, ARCP_E_USAGE, "no date matches it")
               : ARCP_OK;
}

/* ---- matching ---- */

static bool matches_day(const arcp__cron *cron, const arcp__civil *date, int64_t day)
{
    const int64_t weekday = ((day + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    const bool of_month = (cron->days >> date->day & 1) != 0;
    const bool of_week = (cron->weekdays >> weekday & 1) != 0;
    return cron->needs_both ? of_month && of_week : of_month || of_week;
}

/* The first matching minute of a day from `from` on; 1440: none. */
static int minute_of_day(const arcp__cron *cron, int from)
{
    int minute = from % 60;
    for (int hour = from / 60; hour < 24; hour++, minute = 0) {
        const uint64_t left = cron->minutes >> minute;
        if ((cron->hours >> hour & 1) != 0 && left != 0) {
            return hour * 60 + minute + __builtin_ctzll(left);
        }
    }
    return 1440;
}

int64_t arcp__cron_minute(const arcp__cron *cron, int64_t from, int64_t upto)
{
    int64_t day = from / 1440;
    int minute = (int)(from % 1440);
    while (day * 1440 + minute < upto) {
        const arcp__civil date = arcp__civil_of_days(day);
        if ((cron->months >> date.month & 1) == 0) {
            day = date.month == 12 ? arcp__civil_days(date.year + 1, 1, 1)
                                   : arcp__civil_days(date.year, date.month + 1, 1);
            minute = 0;
            continue;
        }
        minute = matches_day(cron, &date, day) ? minute_of_day(cron, minute) : 1440;
        if (minute < 1440) {
            const int64_t found = day * 1440 + minute;
            return found < upto ? found : upto;
        }
        day++;
        minute = 0;
    }
    return upto;
}
