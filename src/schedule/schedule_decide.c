/* Which due times get a job: arithmetic on the wall clock. */
#include "schedule/schedule_state.h"

#include "base/timestamp.h"

/* Adds (after, upto] to the times that are to get a job. */
static void accept(arcp__schedule *schedule, int64_t after, int64_t upto)
{
    arcp__due_range *last =
        schedule->range_count == 0 ? NULL : &schedule->ranges[schedule->range_count - 1];
    if (last != NULL &&
        (last->upto == after || schedule->range_count == ARCP__SCHEDULE_RANGES_MAX)) {
        last->upto = upto;
    } else {
        schedule->ranges[schedule->range_count++] = (arcp__due_range){after, upto};
    }
}

/* Decides the times in (decided, upto], which were missed. */
static void decide_missed(arcp__schedules *schedules, arcp__schedule *schedule, int64_t upto)
{
    const int64_t last = arcp__recurrence_last(&schedule->recurrence, schedule->decided, upto);
    if (last == ARCP__DUE_NEVER) {
        return;
    }
    if (schedule->catch_up == ARCP__CATCH_UP_ALL) {
        accept(schedule, schedule->decided, upto);
        return;
    }
    const bool is_last = schedule->catch_up == ARCP__CATCH_UP_LAST;
    const int64_t first = arcp__recurrence_next(&schedule->recurrence, schedule->decided);
    if (is_last) {
        accept(schedule, last - 1, last);
    }
    if (!is_last || first != last) {
        char from[ARCP__TIMESTAMP_SIZE];
        char to[ARCP__TIMESTAMP_SIZE];
        arcp__timestamp_format(first * ARCP_NS_PER_SEC, from);
        arcp__timestamp_format(last * ARCP_NS_PER_SEC, to);
        schedules->metrics.missed++;
        arcp__effect_log(schedules->log, ARCP__LOG_WARN,
                         "schedule \"%s\": due times from %.*s to %.*s were missed, and %s",
                         schedule->name, (int)sizeof from, from, (int)sizeof to, to,
                         is_last ? "only the last one gets a job (catch_up: last)"
                                 : "get no job (catch_up: none)");
    }
}

static void arm(const arcp__schedules *schedules, arcp__schedule *schedule)
{
    arcp__context *context = schedules->context;
    const int64_t next = arcp__recurrence_next(&schedule->recurrence, schedule->decided);
    int64_t at_ns = ARCP_TIME_NEVER;
    int64_t wall_ns = 0;
    if (next != ARCP__DUE_NEVER && !__builtin_mul_overflow(next, ARCP_NS_PER_SEC, &wall_ns)) {
        at_ns = context->now.mono_ns + (wall_ns - context->now.wall_ns);
    }
    if (schedule->range_count != 0 && schedule->retry_mono > context->now.mono_ns &&
        schedule->retry_mono < at_ns) {
        at_ns = schedule->retry_mono;
    }
    arcp__context_arm(context, &schedule->timer, schedules->timer_kind, schedule, at_ns);
}

void arcp__schedule_decide(arcp__schedules *schedules, arcp__schedule *schedule)
{
    const int64_t now = arcp__schedules_now(schedules);
    const int64_t late = now - ARCP__SCHEDULE_LATE_SEC;
    if (schedules->context->stopping) {
        return; /* the next start decides */
    }
    if (schedule->decided > now + ARCP__SCHEDULE_BACK_SEC) {
        arcp__effect_log(schedules->log, ARCP__LOG_WARN,
                         "schedule \"%s\": the clock was set back by more than 3 h; its due times "
                         "count from now on",
                         schedule->name);
        schedule->decided = now;
        arcp__schedule_store(schedules, schedule);
    }
    const int64_t next = arcp__recurrence_next(&schedule->recurrence, schedule->decided);
    if (next <= now) {
        if (next <= late) {
            decide_missed(schedules, schedule, late);
            schedule->decided = late;
        }
        accept(schedule, schedule->decided, now);
        schedule->decided = now;
        arcp__schedule_store(schedules, schedule);
        arcp__schedule_schedule(schedule);
    }
    arm(schedules, schedule);
}

int64_t arcp__schedule_first_due(arcp__schedule *schedule)
{
    while (schedule->range_count != 0) {
        arcp__due_range *first = &schedule->ranges[0];
        const int64_t due = arcp__recurrence_next(&schedule->recurrence, first->after);
        if (due <= first->upto) {
            return due;
        }
        schedule->range_count--;
        memmove(first, first + 1, schedule->range_count * sizeof *first);
    }
    return ARCP__DUE_NEVER;
}

void arcp__schedule_pass(arcp__schedule *schedule, int64_t due)
{
    schedule->refusals = 0;
    schedule->retry_mono = 0;
    /* A reload may have discarded it, while its job waited for a credential. */
    if (arcp__schedule_first_due(schedule) == due) {
        schedule->ranges[0].after = due;
        (void)arcp__schedule_first_due(schedule); /* drops the range if it is empty now */
    }
}
