/* A schedule as configured. Apart from schedule.h, for programs that do not include the engine. */
#ifndef ARCP_SCHEDULE_SCHEDULE_OPTIONS_H
#define ARCP_SCHEDULE_SCHEDULE_OPTIONS_H

#include <stdint.h>

#include <arcp/span.h>

/* What happens at a due time while the schedule's last job runs. */
typedef enum arcp__overlap {
    ARCP__OVERLAP_SKIP,  /* the due time gets no job */
    ARCP__OVERLAP_QUEUE, /* its job is submitted when the other one has ended */
    ARCP__OVERLAP_CANCEL /* the same, and the other one is cancelled */
} arcp__overlap;

/* Which missed due times get a job. */
typedef enum arcp__catch_up {
    ARCP__CATCH_UP_NONE,
    ARCP__CATCH_UP_LAST,
    ARCP__CATCH_UP_ALL
} arcp__catch_up;

/* A schedule as configured; everything is copied. */
typedef struct arcp__schedule_options {
    arcp_span name, agent, principal;
    arcp_span cron;       /* empty: every_sec */
    arcp_span zone, tzif; /* of the expression: its name, and the bytes of its file; empty: UTC */
    uint64_t every_sec;
    /* A JSON object whose members are those of a job.submit: input, lease_request. */
    arcp_span request;
    arcp__overlap overlap;
    arcp__catch_up catch_up;
} arcp__schedule_options;

#endif
