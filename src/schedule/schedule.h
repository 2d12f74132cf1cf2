/* Schedules: jobs that the runtime submits itself at the times when they are due.
 *
 * A schedule is a submitter like a session: its submits pass the same checks (limits, policy,
 * lease, credential, audit log), with the idempotency key schedule/NAME/TIME.
 *
 * Each due time is handled once. A schedule knows up to which instant its due times were decided;
 * times that are to get a job are kept as ranges of instants until they have one. Both are in the
 * schedule's row, which is written in the batch that makes the job. So a crash leaves either the
 * job and the row that counts it, or neither.
 *
 *     time passes ── decide ──> ranges ── overlap ──> submit ──> job, row
 *                      │ catch_up        │ skip          │ refused for good
 *                      v                 v               v
 *                    passed            passed          passed (logged, audited, counted)
 *
 * A due time that is more than ARCP__SCHEDULE_LATE_SEC old when it is decided was missed, because
 * no runtime ran or the clock was set forward: `catch_up` says which of these get a job. Others
 * always do, unless `overlap` passes over them. A clock that is set back does not repeat due times,
 * unless it is set back by more than ARCP__SCHEDULE_BACK_SEC, which corrects a wrong time.
 * docs/schedules.md. */
#ifndef ARCP_SCHEDULE_SCHEDULE_H
#define ARCP_SCHEDULE_SCHEDULE_H

#include "calendar/calendar.h"
#include "job/job.h"
#include "schedule/schedule_options.h"

#define ARCP__SCHEDULE_LATE_SEC 60
#define ARCP__SCHEDULE_BACK_SEC 10800

typedef struct arcp__schedule arcp__schedule;

/* Reads when the schedule is due; the caller frees out->zone. ARCP_E_USAGE: the message names
 * cron, zone or every_sec. */
ARCP_MUST_CHECK arcp_status arcp__schedule_recurrence(const arcp__schedule_options *options,
                                                      arcp__recurrence *out, arcp__zone **zone,
                                                      arcp_error *err);

/* Counters. */
typedef struct arcp__schedule_metrics {
    uint64_t submitted, refused; /* due times with a job, and those whose submit was refused */
    uint64_t overlapped;         /* passed over, because the last job ran */
    uint64_t missed;             /* schedules that passed over missed due times */
} arcp__schedule_metrics;

typedef struct arcp__schedules {
    /* Set by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__jobs *jobs;
    int timer_kind; /* of the timers for arcp__schedule_due */

    arcp__schedule *all;       /* by name */
    arcp__schedule *scheduled; /* that have something to do at the end of this input */
    arcp__schedule_metrics metrics;
} arcp__schedules;

/* When no job is freed yet. */
void arcp__schedules_fini(arcp__schedules *schedules);

/* ARCP_E_USAGE names the schedule and the key that is not valid. */
ARCP_MUST_CHECK arcp_status arcp__schedules_check(const arcp__schedule_options *options,
                                                  size_t count, arcp_error *err);

/* Replaces all schedules. One with the name of an earlier one continues it, also after a restart;
 * if it is due at other times than before, its due times count from now on. The state of the others
 * is removed. Errors of arcp__schedules_check: nothing was changed. */
ARCP_MUST_CHECK arcp_status arcp__schedules_set(arcp__schedules *schedules,
                                                const arcp__schedule_options *options, size_t count,
                                                arcp_error *err);

void arcp__schedule_due(arcp__schedules *schedules, arcp__timer *timer);
/* The wall clock was set. */
void arcp__schedules_wall_clock_set(arcp__schedules *schedules);
/* Submits what is due. At the end of an input, as it uses the context's JSON index. */
void arcp__schedules_run(arcp__schedules *schedules);
/* Restores a row of the table SCHEDULES from the context's index. */
arcp_status arcp__schedule_restore_row(arcp__schedules *schedules, arcp_span key, arcp_error *err);

/* A schedule as it is listed; times in seconds since 1970, ARCP__DUE_NEVER: none. */
typedef struct arcp__schedule_view {
    const char *name, *agent, *principal;
    int64_t next, last;
    const char *last_job; /* "" for none */
    size_t waiting;       /* 1: a due time waits for the last job's end, or for another attempt */
} arcp__schedule_view;

/* The schedule with the first name after `name` in the order of names (NULL: the first); false:
 * none. */
bool arcp__schedule_next(const arcp__schedules *schedules, const char *name,
                         arcp__schedule_view *out);

#endif
