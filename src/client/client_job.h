/* The client's record of a job, and what belongs to it. */
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

/* ---- client_items.c: errors ---- */

/* Reads the payload of the current frame as an error, leniently: accepts `detail` for `details`,
 * any type of them, an unknown code, a missing code (INTERNAL_ERROR), a missing message. `err` has
 * a buffer for the details. */
void arcp__client_error_read(arcp__client_session *session, arcp_error *err);

/* ---- client_credentials.c ---- */

/* Provisioned credentials (§9.8): kept only until the program takes them. */

/* Appends the object on one line without its members `credentials` and `resume_token`; {} if it is
 * not an object. */
void arcp__client_credentials_redact(const arcp_json *json, arcp_json_ref object, arcp_buf *out);

/* Keeps the usable credentials of the list: those of the scheme "bearer" with an id and a value.
 * *out is unchanged if there are none; otherwise the caller owns it. False when out of memory. */
ARCP_MUST_CHECK bool arcp__client_credentials_keep(const arcp_json *json, arcp_json_ref list,
                                                   arcp_secret **out);

/* Calls `each` with each kept credential; returns their number. */
size_t arcp__client_credentials_for_each(const arcp_secret *kept,
                                         void (*each)(void *user,
                                                      const arcp_credential *credential),
                                         void *user);

/* ---- client_result.c ---- */

/* Assembles a streamed result (§8.4): checks order, encoding and size, and writes the bytes to a
 * sink as they arrive. */

/* A zero-initialised stream expects the first chunk, and its sink is memory. */
typedef struct arcp__client_result_stream {
    arcp_result_sink sink;
    char *result_id; /* owned; NULL before the first chunk */
    uint64_t next_seq;
    uint64_t bytes; /* decoded, all chunks */
    bool complete;  /* the chunk with more:false was received */
    arcp_buf memory;
    arcp_buf decoded; /* scratch */
    arcp_error error; /* the first error; later chunks are ignored */
} arcp__client_result_stream;

void arcp__client_result_stream_fini(arcp__client_result_stream *stream);

/* Processes the body of a result_chunk event. Errors are kept in stream->error: ARCP_E_CORRUPT for
 * inconsistent chunks, ARCP_E_LIMIT, or the sink's error. */
void arcp__client_result_stream_take(arcp__client_result_stream *stream, arcp_span body);

/* Called when the job has succeeded: checks that its result_id (empty: an inline result) and
 * result_size (UINT64_MAX: unknown) match what was streamed. */
void arcp__client_result_stream_finish(arcp__client_result_stream *stream, arcp_span result_id,
                                       uint64_t result_size);

/* ---- client_job.c ---- */

/* Hashes of the ids of jobs that have ended and were forgotten by the session: the latest
 * ARCP__REMOVED_JOBS_MAX of them, in a hash table. */

#define ARCP__REMOVED_JOBS_MAX 4096u

/* All zero: empty. Freed with arcp__free. */
typedef struct arcp__removed_jobs {
    uint64_t hashes[ARCP__REMOVED_JOBS_MAX]; /* a ring */
    uint16_t next[ARCP__REMOVED_JOBS_MAX];   /* of the same bucket: index + 1; 0: none */
    uint16_t buckets[ARCP__REMOVED_JOBS_MAX];
    size_t added;
} arcp__removed_jobs;

void arcp__removed_jobs_add(arcp__removed_jobs *removed, arcp_span id);
/* NULL is an empty set. */
bool arcp__removed_jobs_has(const arcp__removed_jobs *removed, arcp_span id);

/* Budgets in further currencies are not shown (the runtime still enforces them). */
#define ARCP__JOB_BUDGETS_MAX 16

/* Guarded by the client's lock in the blocking form, except `stream` and `outcome`, which belong to
 * the thread that delivers the job's events. */
struct arcp_job {
    atomic_uint refs;              /* one per handle, one per item of the job, one for the table */
    atomic_uint handles;           /* references held by the program */
    arcp__client_session *session; /* NULL when it was freed, or has forgotten the job */
    void *owner;                   /* the arcp_client; NULL once it is freed */
    arcp__arena strings;
    arcp_span id;
    arcp_span agent, lease, constraints, trace_id, parent_id, delegate_id, descriptor;
    arcp_secret *credentials; /* JSON array of the usable ones, until the program takes them */
    arcp_job_budget *budgets; /* owned, ARCP__JOB_BUDGETS_MAX entries; NULL until one is needed */
    size_t budget_count;
    arcp_job_status status;
    bool announced;       /* the program knows it, or will by the items queued so far */
    bool ended;           /* its terminal frame was received */
    bool has_events;      /* an event of it was received */
    bool is_accepted;     /* job.accepted was received for it: the session may cancel it */
    bool outcome_only;    /* the program does not want its events */
    bool is_keyed;        /* the program chose its idempotency key, and may submit it again */
    bool has_own_numbers; /* its frames have a separate numbering, see client_receive.c */
    uint64_t own_seq;     /* the last number received in that numbering */
    bool is_kept;         /* over, without a handle, and kept (client_job.c) */
    size_t kept_size;     /* its bytes in kept_bytes */
    struct arcp_job *kept_prev, *kept_next;
    atomic_bool over;        /* JOB_ENDED was delivered; the outcome is final */
    arcp__client_item *held; /* utlist: events received before the job was announced */
    arcp__client_result_stream stream;
    arcp_outcome outcome;
    arcp_error error; /* outcome.error points here */
    arcp_buf error_details;
    void *user;
    /* Blocking form: events that the program has not read, and the last one it has read. */
    arcp__client_item *unread;
    arcp__client_item *current;
    bool is_being_read;
    UT_hash_handle hh;
};

/* A record with one reference for the caller; NULL when out of memory. */
ARCP_MUST_CHECK arcp_job *arcp__client_job_new(arcp_span id);
/* References, without and with a handle for the program. */
void arcp__client_job_hold(arcp_job *job);
void arcp__client_job_drop(arcp_job *job); /* NULL is accepted */
void arcp__client_job_hold_handle(arcp_job *job);
void arcp__client_job_drop_handle(arcp_job *job); /* NULL is accepted */

/* Called for each of the job's events, in order, just before it is delivered to the program: feeds
 * the result's sink and, for JOB_ENDED, completes the outcome. A result_chunk may block in the
 * sink: for those it must not be called with the lock held. */
void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item);

#endif
