/* Due times: an expression's minutes in the periods of a zone. */
#include "calendar/calendar_state.h"

#define HOURS_ALL   0xffffffu
#define BEGIN       (2 * ARCP__DAY_SEC) /* local times are not negative from then on */
#define HORIZON_SEC (INT64_C(366) * 50 * ARCP__DAY_SEC)

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first whole minute at or after a local time. */
static int64_t minute_from(int64_t local)
{
    return (local + 59) / 60;
}

static arcp__zone_period period_at(const arcp__recurrence *recurrence, int64_t instant)
{
    return recurrence->zone == NULL ? (arcp__zone_period){0, ARCP__DUE_NEVER}
                                    : arcp__zone_at(recurrence->zone, instant);
}

static int64_t next_of_cron(const arcp__recurrence *recurrence, int64_t after)
{
    const arcp__cron *cron = &recurrence->cron;
    const int64_t horizon = after + HORIZON_SEC;
    int64_t from = after + 1;
    while (from < horizon) {
        const arcp__zone_period period = period_at(recurrence, from);
        const int64_t end = min_of(period.end, horizon);
        const int64_t upto = minute_from(end + period.offset);
        const int64_t minute = arcp__cron_minute(cron, minute_from(from + period.offset), upto);
        if (minute < upto) {
            return minute * 60 - period.offset;
        }
        if (end == horizon) {
            break;
        }
        /* The local times between the two periods do not exist, if the clock goes forward. */
        const int32_t offset = period_at(recurrence, end).offset;
        const int64_t gap_end = minute_from(end + offset);
        if (cron->hours != HOURS_ALL && arcp__cron_minute(cron, upto, gap_end) < gap_end) {
            return gap_end * 60 - offset;
        }
        from = end;
    }
    return ARCP__DUE_NEVER;
}

int64_t arcp__recurrence_next(const arcp__recurrence *recurrence, int64_t after)
{
    after = after < BEGIN ? BEGIN : after;
    if (recurrence->every_sec != 0) {
        const int64_t every = (int64_t)recurrence->every_sec;
        return (after / every + 1) * every;
    }
    return next_of_cron(recurrence, after);
}

int64_t arcp__recurrence_last(const arcp__recurrence *recurrence, int64_t after, int64_t at)
{
    after = after < BEGIN ? BEGIN : after;
    if (recurrence->every_sec != 0) {
        const int64_t every = (int64_t)recurrence->every_sec;
        return at / every * every > after ? at / every * every : ARCP__DUE_NEVER;
    }
    /* Search backwards in windows that grow, because searching forward from `after` could pass
     * through years of due times. */
    int64_t window = INT64_C(3600);
    for (int64_t end = at; end > after; window *= 2) {
        const int64_t begin = end - after > window ? end - window : after;
        int64_t due = arcp__recurrence_next(recurrence, begin);
        if (due <= end) {
            int64_t last = due;
            for (; due <= end; due = arcp__recurrence_next(recurrence, due)) {
                last = due;
            }
            return last;
        }
        end = begin;
    }
    return ARCP__DUE_NEVER;
}
