/* A job as the client knows it: the record behind a handle, and what belongs to it. */
#ifndef ARCP_CLIENT_CLIENT_JOB_H
#define ARCP_CLIENT_CLIENT_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/client.h>
#include <arcp/secret.h>
#include <arcp/span.h>

#include "base/arena.h"
#include "base/hash.h"
#include "client/client_session.h"

/* ---- client_items.c: errors as the wire tells them, read leniently ---- */

/* Reads the payload of the frame under way as an error: `detail` for `details`, any type of them,
 * an unknown code, no code at all (INTERNAL_ERROR), no message. `err` has a buffer for the details.
 */
void arcp__client_error_read(arcp__client_session *session, arcp_error *err);

/* ---- client_credentials.c ---- */

/* Provisioned credentials (§9.8): kept only until the program has seen them. */

/* Appends the object on one line without its member `credentials` (and, for a welcome,
 * without `resume_token`). {} for what is no object. */
void arcp__client_credentials_redact(const arcp_json *json, arcp_json_ref object, arcp_buf *out);

/* Keeps those of the list that a client can use: scheme "bearer" with an id and a value. *out stays
 * as it was when there are none; else it is the caller's. False when out of memory. */
ARCP_MUST_CHECK bool arcp__client_credentials_keep(const arcp_json *json, arcp_json_ref list,
                                                   arcp_secret **out);

/* Shows each of the kept ones; returns how many. */
size_t arcp__client_credentials_for_each(const arcp_secret *kept,
                                         void (*each)(void *user,
                                                      const arcp_credential *credential),
                                         void *user);

/* ---- client_result.c ---- */

/* Putting a streamed result together (§8.4): order, encoding and size are checked, the
 * bytes go to a sink as they come. */

/* Zero-initialised expects a first chunk for a sink in memory. */
typedef struct arcp__client_result_stream {
    arcp_result_sink sink;
    char *result_id; /* owned; NULL before the first chunk */
    uint64_t next_seq;
    uint64_t bytes; /* decoded, all chunks */
    bool complete;  /* the chunk with more:false was there */
    arcp_buf memory;
    arcp_buf decoded; /* scratch */
    arcp_error error; /* the first thing that went wrong; nothing is taken afterwards */
} arcp__client_result_stream;

void arcp__client_result_stream_fini(arcp__client_result_stream *stream);

/* Takes the body of a result_chunk event. What is wrong is kept in stream->error:
 * ARCP_E_CORRUPT for chunks that do not fit together, ARCP_E_LIMIT, or the sink's. */
void arcp__client_result_stream_take(arcp__client_result_stream *stream, arcp_span body);

/* The job succeeded with this result_id (empty: an inline result) and result_size
 * (UINT64_MAX: not told): checks that they belong to what was streamed. */
void arcp__client_result_stream_finish(arcp__client_result_stream *stream, arcp_span result_id,
                                       uint64_t result_size);

/* ---- client_job.c ---- */

/* Ids of jobs that a session has seen end and has forgotten: a hash of each, the latest
 * ARCP__GONE_JOBS_MAX of them. Finding one looks at no other but those of its bucket. */

#define ARCP__GONE_JOBS_MAX 4096u

/* All zero: none. Freed with arcp__free. */
typedef struct arcp__gone_jobs {
    uint64_t hashes[ARCP__GONE_JOBS_MAX]; /* a ring */
    uint16_t next[ARCP__GONE_JOBS_MAX];   /* in the same bucket: place + 1; 0: none */
    uint16_t buckets[ARCP__GONE_JOBS_MAX];
    size_t added;
} arcp__gone_jobs;

void arcp__gone_jobs_add(arcp__gone_jobs *gone, arcp_span id);
/* NULL is none. */
bool arcp__gone_jobs_has(const arcp__gone_jobs *gone, arcp_span id);

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
    bool is_past;       /* over, and kept for that (client_job.c) */
    size_t past_size;   /* what it counts for while it is */
    struct arcp_job *past_prev, *past_next;
    atomic_bool over;        /* JOB_ENDED was handed over; outcome is final */
    arcp__client_item *held; /* utlist: events that came before the job was announced */
    arcp__client_result_stream stream;
    arcp_outcome outcome;
    arcp_error error; /* what outcome.error points to, with error_details */
    arcp_buf error_details;
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

/* To be called for each of the job's events, in order, just before the program gets it:
 * feeds the result's sink and, with JOB_ENDED, finishes the outcome. May block as the sink
 * does; not under the lock. */
void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item);

#endif
