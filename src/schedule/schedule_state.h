/* Shared by the files of src/schedule. */
#ifndef ARCP_SCHEDULE_SCHEDULE_STATE_H
#define ARCP_SCHEDULE_SCHEDULE_STATE_H

#include "base/alloc.h"
#include "schedule/schedule.h"

/* More ranges are joined: the times between two of them then get a job, too. */
#define ARCP__SCHEDULE_RANGES_MAX 16u

/* The due times in (after, upto] are to get a job. */
typedef struct arcp__due_range {
    int64_t after, upto;
} arcp__due_range;

/* A job of the schedule, or a child of one, until the job is removed. */
typedef struct arcp__schedule_run {
    arcp__observer observer;
    struct arcp__schedule_run *prev, *next;
    arcp__schedule *schedule;
    bool is_own; /* not a child */
} arcp__schedule_run;

struct arcp__schedule {
    arcp__submitter submitter; /* the first member: its callbacks get this */
    arcp__schedules *schedules;
    UT_hash_handle hh;
    char *name; /* owned */

    /* As configured; `agent` is NULL until it is. Owned. */
    char *agent, *principal, *request;
    char *when; /* the texts of its recurrence, to find out that it has changed */
    arcp__recurrence recurrence;
    arcp__zone *zone;
    arcp__overlap overlap;
    arcp__catch_up catch_up;
    uint8_t fingerprint[32];

    /* In its row. */
    char *stored_when; /* `when` of the row; owned */
    int64_t decided;   /* due times up to here are in a range, or passed */
    arcp__due_range ranges[ARCP__SCHEDULE_RANGES_MAX];
    size_t range_count;
    int64_t last_due; /* the last one with a job; ARCP__DUE_NEVER: none */
    char last_job[ARCP__ID_SIZE];

    arcp__schedule_run *runs;
    size_t live_runs; /* own jobs that have not ended */
    arcp__admission *admission;
    int64_t admission_due;
    arcp__timer timer;
    unsigned refusals;  /* of the same due time, in a row */
    int64_t retry_mono; /* no attempt before */
    bool is_scheduled;
    arcp__schedule *previous_scheduled, *next_scheduled;
};

static inline int64_t arcp__schedules_now(const arcp__schedules *schedules)
{
    return schedules->context->now.wall_ns / ARCP_NS_PER_SEC;
}

/* ---- schedule.c ---- */
/* Lets arcp__schedules_run look at the schedule. */
void arcp__schedule_schedule(arcp__schedule *schedule);
/* The schedule with this name, which is made if there is none; NULL when out of memory. */
arcp__schedule *arcp__schedule_get(arcp__schedules *schedules, arcp_span name);

/* ---- schedule_row.c ---- */
void arcp__schedule_store(arcp__schedules *schedules, const arcp__schedule *schedule);

/* ---- schedule_decide.c ---- */
/* Decides the due times up to now, and arms the timer for the next one. */
void arcp__schedule_decide(arcp__schedules *schedules, arcp__schedule *schedule);
/* The first due time that waits for its job; ARCP__DUE_NEVER: none. */
int64_t arcp__schedule_first_due(arcp__schedule *schedule);
/* The due time waits no more. */
void arcp__schedule_pass(arcp__schedule *schedule, int64_t due);

/* ---- schedule_run.c ---- */
extern const arcp__submitter_ops arcp__schedule_submitter_ops;
/* Makes the schedule the owner of the job. */
void arcp__schedule_adopt(arcp__schedules *schedules, arcp__schedule *schedule, arcp__job *job,
                          bool is_own);
void arcp__schedule_forget_runs(arcp__schedules *schedules, arcp__schedule *schedule);

#endif
