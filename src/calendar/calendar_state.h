/* Shared by the files of src/calendar. */
#ifndef ARCP_CALENDAR_CALENDAR_STATE_H
#define ARCP_CALENDAR_CALENDAR_STATE_H

#include "calendar/calendar.h"

#define ARCP__DAY_SEC INT64_C(86400)

/* ---- cron_read.c ---- */
/* The first matching minute in [from, upto), in minutes of local time since 1970; `upto`: none. */
int64_t arcp__cron_minute(const arcp__cron *cron, int64_t from, int64_t upto);

/* ---- zone_rule.c: the rule for times after the last transition, as POSIX writes TZ ---- */

typedef enum arcp__zone_day_kind {
    ARCP__ZONE_DAY_JULIAN,  /* 1 to 365, February 29 is never counted */
    ARCP__ZONE_DAY_OF_YEAR, /* 0 to 365 */
    ARCP__ZONE_DAY_OF_WEEK  /* a weekday of a month */
} arcp__zone_day_kind;

/* When daylight saving time begins or ends. */
typedef struct arcp__zone_day {
    arcp__zone_day_kind kind;
    int day;         /* of the year; or the weekday, 0 is Sunday */
    int month, week; /* week 5: the last */
    int32_t time;    /* seconds from the day's midnight, may be negative */
} arcp__zone_day;

typedef struct arcp__zone_rule {
    bool has_saving;
    int32_t offset, saving_offset; /* seconds east of UTC */
    arcp__zone_day begins, ends;   /* daylight saving time */
} arcp__zone_rule;

/* False: the text is not a rule. */
bool arcp__zone_rule_read(arcp_span text, arcp__zone_rule *out);

/* The time around an instant in which the offset from UTC does not change. */
typedef struct arcp__zone_period {
    int32_t offset; /* seconds east of UTC */
    int64_t end;    /* the first instant after it; ARCP__DUE_NEVER: none */
} arcp__zone_period;

arcp__zone_period arcp__zone_rule_at(const arcp__zone_rule *rule, int64_t instant);

/* ---- zone.c ---- */
arcp__zone_period arcp__zone_at(const arcp__zone *zone, int64_t instant);

#endif
