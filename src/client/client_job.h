/* A job as the client knows it: the record behind a handle. */
#ifndef ARCP_CLIENT_CLIENT_JOB_H
#define ARCP_CLIENT_CLIENT_JOB_H

#include <stdatomic.h>

#include <arcp/secret.h>

#include "base/arena.h"
#include "base/hash.h"
#include "client/client_result.h"
#include "client/client_session.h"

/* Counters of more currencies than this are not shown (the runtime still enforces them). */
#define ARCP__JOB_BUDGETS_MAX 16

/* Guarded by the client's lock in the blocking form, but for `stream` and `outcome`, which
 * belong to whoever hands the job's events over. */
struct arcp_job {
    atomic_uint refs;    /* one per handle, per item that names the job, one of the table */
    atomic_uint handles; /* references that the program holds */
    arcp__client_session *session; /* NULL when it is gone or has forgotten the job */
    void *owner;                   /* the arcp_client, NULL once it is freed */
    arcp__arena strings;
    arcp_span id;
    arcp_span agent, lease, constraints, trace_id, parent_id, delegate_id, descriptor;
    arcp_secret *credentials; /* JSON array of the usable ones, until they are taken */
    arcp_job_budget *budgets; /* owned, ARCP__JOB_BUDGETS_MAX of them; NULL until there is one */
    size_t budget_count;
    arcp_job_status status;
    bool announced;     /* the program knows of it, or will by the items queued so far */
    bool ended;         /* its terminal frame was received */
    bool was_heard;     /* an event or the end of it was received */
    bool is_accepted;   /* job.accepted was received for it: the session may cancel it */
    bool outcome_only;  /* its events are not wanted */
    bool is_keyed;      /* the program gave its idempotency key, and may ask for it again */
    bool numbers_apart; /* its frames have a numbering of their own, see client_receive.c */
    uint64_t apart_seq; /* the last one of it that was received */
    bool is_past;       /* over, and kept for that (client_jobs.c) */
    size_t past_size;   /* what it counts for while it is */
    struct arcp_job *past_prev, *past_next;
    atomic_bool over;        /* JOB_ENDED was handed over; outcome is final */
    arcp__client_item *held; /* utlist: events that came before the job was announced */
    arcp__client_result_stream stream;
    arcp_outcome outcome;
    arcp_failure failure; /* what outcome.failure points to */
    void *user;
    /* The blocking form's: events that the program has not read, and the last one it got. */
    arcp__client_item *unread;
    arcp__client_item *current;
    bool is_being_read;
    UT_hash_handle hh;
};

/* A record with one reference, the caller's; NULL when out of memory. */
ARCP_MUST_CHECK arcp_job *arcp__client_job_new(arcp_span id);
/* Without and with a handle of the program's. */
void arcp__client_job_hold(arcp_job *job);
void arcp__client_job_drop(arcp_job *job); /* NULL is accepted */
void arcp__client_job_hold_handle(arcp_job *job);
void arcp__client_job_drop_handle(arcp_job *job); /* NULL is accepted */
/* Frees what is held for the job. Held items hold the job: without this it stays. */
void arcp__client_job_drop_held(arcp_job *job);

/* Fills what is not known yet from the payload of job.accepted or job.subscribed. What the
 * payload has a wrong shape for counts as left out. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__client_job_describe(arcp_job *job, const arcp_json *json,
                                                      arcp_json_ref payload, arcp_buf *scratch);

/* Notes what a metric event says about a budget. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__client_job_note_metric(arcp_job *job, const arcp_json *json,
                                                         arcp_json_ref body);

/* Prepares the outcome from the payload of job.result or job.error. */
ARCP_MUST_CHECK arcp_status arcp__client_job_end(arcp_job *job, const arcp_json *json,
                                                 arcp_json_ref payload, bool is_error,
                                                 arcp_buf *scratch);

/* To be called for each of the job's events, in order, just before the program gets it:
 * feeds the result's sink and, with JOB_ENDED, finishes the outcome. May block as the sink
 * does; not under the lock. */
void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item);

#endif
