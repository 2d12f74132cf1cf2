/* When something is due: cron expressions and intervals, in time zones. No I/O and no clock. Times
 * are seconds since 1970 in UTC, without leap seconds.
 *
 * An expression is due at each minute whose local time matches it. So a local time that a zone
 * repeats is due twice. A local time that a zone skips is due at the first minute after the gap,
 * once for all that the gap skips, unless the expression names every hour. croniter (PyPI) does the
 * same; tests/calendar compares. */
#ifndef ARCP_CALENDAR_CALENDAR_H
#define ARCP_CALENDAR_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__DUE_NEVER INT64_MAX

/* ---- cron_read.c ---- */

/* A bit for each value. */
typedef struct arcp__cron {
    uint64_t minutes;
    uint32_t hours, days; /* days: of the month, from bit 1 */
    uint16_t months;      /* from bit 1 */
    uint8_t weekdays;     /* bit 0: Sunday */
    bool needs_both;      /* a day must match the day of the month and the weekday, because one of
                             the two fields begins with `*`; else one of them is enough */
} arcp__cron;

/* Reads an expression in the grammar of Vixie cron: five fields (minute, hour, day of the month,
 * month, weekday) with `*`, values, ranges, lists and steps after `*` or a range, names of months
 * and weekdays, or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.
 * ARCP_E_USAGE: the message names the field, the value and what is accepted; also for an expression
 * that matches no date. */
ARCP_MUST_CHECK arcp_status arcp__cron_read(arcp_span text, arcp__cron *out, arcp_error *err);

/* ---- zone.c ---- */

typedef struct arcp__zone arcp__zone;

/* Reads a file of the time zone database (TZif, RFC 8536), which is copied. ARCP_E_USAGE: it is
 * none, is damaged, or counts leap seconds. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__zone_new(arcp_span tzif, arcp__zone **out, arcp_error *err);
void arcp__zone_free(arcp__zone *zone); /* NULL is accepted */

/* ---- recurrence.c ---- */

typedef struct arcp__recurrence {
    uint64_t every_sec;     /* due at the multiples of this time since 1970; 0: `cron` decides */
    arcp__cron cron;        /* unless every_sec is set */
    const arcp__zone *zone; /* of `cron`; NULL: UTC */
} arcp__recurrence;

/* The first due time after `after`, and after 1970-01-02; ARCP__DUE_NEVER: none within 50 years. */
int64_t arcp__recurrence_next(const arcp__recurrence *recurrence, int64_t after);
/* The last due time in (after, at]; ARCP__DUE_NEVER: none. */
int64_t arcp__recurrence_last(const arcp__recurrence *recurrence, int64_t after, int64_t at);

#endif
