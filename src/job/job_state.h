/* What the files about jobs share, from the bottom up: a file uses what stands above it. */
#ifndef ARCP_JOB_JOB_STATE_H
#define ARCP_JOB_JOB_STATE_H

#include <assert.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "core/agent_name.h"
#include "core/authority.h"
#include "core/decode.h"
#include "core/envelope.h"
#include "core/error_payload.h"
#include "core/event_body.h"
#include "job/job.h"
#include "json/json_put.h"

/* ---- structs ---- */

/* One version of an agent. */
struct arcp__agent_version {
    char *name, *version; /* owned; version is "" for none */
    char *text;           /* owned: name@version, or name */
    char *cwd;            /* owned; "" for none */
    void *host;
    bool is_default;           /* of those with its name; else the first is */
    arcp__agent_version *next; /* those of one name beside each other, else as they came */
};

struct arcp__idempotency {
    UT_hash_handle hh;
    arcp__principal *principal;
    uint8_t fingerprint[32];
    char job_id[ARCP__ID_SIZE];
    int64_t expires_wall_ns;
    arcp__job *job;                   /* whose row has the key; NULL: the job is forgotten */
    char *accepted;                   /* owned, from then on: the payload of the first answer */
    arcp__idempotency *older, *newer; /* by when they were made */
    bool has_row;                     /* in the table IDEMPOTENCY */
    uint32_t accepted_size;           /* of the payload, which the job or the key has */
    uint32_t key_size;
    char key[]; /* principal, line feed, key */
};

/* An order on its way to a job (admission.c). Counted as a running job. */
struct arcp__admission {
    arcp__admission *previous, *next;           /* all, oldest first */
    arcp__admission *own_previous, *own_next;   /* of its submitter, likewise */
    arcp__admission *peer_previous, *peer_next; /* of its principal, likewise */
    arcp__submitter *key_waiters;               /* whose next submit has the same key */
    arcp__credential_slot credential;           /* asked for or issued; or empty */
    bool is_ready;                              /* nothing more to wait for but its turn */
    arcp_error error;                           /* why it is refused, unless ARCP_OK */
    char job_id[ARCP__ID_SIZE];
    int64_t created_wall_ns;
    char trace_id[33];
    arcp__trace trace;
    /* Its principal has a running job more, and so stays; its parent is pinned, its lease is
     * referenced, and it has no agent: that is looked for again. */
    arcp__job_order order;
    arcp__arena texts; /* of the order */
    arcp_span body;    /* JSON: all that the agent said, of a delegation, for its event */
    arcp_buf notes;    /* what the policies said, for the log */
};

typedef enum arcp__cancel_reason {
    ARCP__CANCEL_CLIENT,
    ARCP__CANCEL_TIMEOUT,
    ARCP__CANCEL_LEASE_EXPIRED,
    ARCP__CANCEL_PARENT,
    ARCP__CANCEL_SHUTDOWN
} arcp__cancel_reason;

/* ---- job_lifecycle.c ---- */
/* Whether a job whose status is `from` may get the status `to`. */
bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to);
/* The same of an agent. */
bool arcp__agent_state_may_become(arcp__agent_state from, arcp__agent_state to);

/* The only two that change a state; a transition must be legal. */
static inline void arcp__job_enter(arcp__job *job, arcp_job_status status)
{
    assert(arcp__job_status_may_become(job->status, status));
    job->status = status;
}

static inline void arcp__agent_enter(arcp__job *job, arcp__agent_state state)
{
    assert(arcp__agent_state_may_become(job->agent_state, state));
    job->agent_state = state;
}

/* Its agent runs, or is to start. */
static inline bool arcp__job_has_agent(const arcp__job *job)
{
    return job->agent_state == ARCP__AGENT_STARTING || job->agent_state == ARCP__AGENT_RUNNING;
}

/* Whether its session gets the chunks of its result. */
static inline bool arcp__job_streams(const arcp__job *job)
{
    return (job->features & ARCP_FEATURE_BIT(ARCP_FEATURE_RESULT_CHUNK)) != 0;
}

static inline void arcp__job_pin(arcp__job *job)
{
    job->pins++;
}

/* ---- directory.c ---- */
bool arcp__principal_add_job(arcp__principal *principal, arcp__job *job);
void arcp__principal_drop_job(arcp__principal *principal, const arcp__job *job);
/* Frees those that stayed until their buckets were full. */
void arcp__principals_sweep(arcp__jobs *jobs);
/* All of them: nothing is left of their jobs. */
void arcp__principals_free(arcp__jobs *jobs);
/* Takes a token for a submit that is no repetition. Otherwise an error whose details say when there
 * is one. */
ARCP_MUST_CHECK arcp_status arcp__principal_may_submit(arcp__jobs *jobs, arcp__principal *principal,
                                                       arcp_buf *details, arcp_error *err);
/* Resolves name[@version] (§7.5). Errors: INVALID_REQUEST, AGENT_NOT_AVAILABLE,
 * AGENT_VERSION_NOT_AVAILABLE. */
arcp_status arcp__agent_resolve(const arcp__jobs *jobs, arcp_span text,
                                const arcp__agent_version **version, arcp_error *err);

/* ---- idempotency.c ---- */
arcp__idempotency *arcp__idempotency_find(arcp__jobs *jobs, const arcp__principal *principal,
                                          arcp_span key);
/* The payload of the first answer. */
arcp_span arcp__idempotency_accepted(const arcp__idempotency *entry);
/* Whether the principal may have one key more whose answer has so many bytes. If not:
 * INTERNAL_ERROR (retryable), with details. */
ARCP_MUST_CHECK arcp_status arcp__idempotency_check(arcp__jobs *jobs,
                                                    const arcp__principal *principal,
                                                    uint64_t bytes, arcp_buf *details,
                                                    arcp_error *err);
/* The key that made the job, which has been accepted. */
void arcp__idempotency_add(arcp__jobs *jobs, arcp__job *job, arcp_span key,
                           const uint8_t fingerprint[32]);
/* As if the job had not been made; nothing for one without a key. */
void arcp__idempotency_take_back(arcp__jobs *jobs, arcp__job *job);
/* Before the job's row goes and the job is forgotten: its key, if it has one, gets a row of its
 * own, unless that has expired, and the payload that the job was answered with. */
void arcp__idempotency_outlive(arcp__jobs *jobs, arcp__job *job);
/* Writes the member "idempotency" of the job's row; nothing for one without a key. */
void arcp__idempotency_write_row(const arcp__job *job, arcp_json_writer *writer);
/* The member of the job's row. */
arcp_status arcp__idempotency_restore_of_job(arcp__jobs *jobs, const arcp_json *json,
                                             arcp_json_ref object, arcp__job *job, arcp_error *err);
/* All rows are there. */
void arcp__idempotency_restored(arcp__jobs *jobs);
/* Keys that have expired go, some at a time. Whether there are more. */
bool arcp__idempotency_sweep(arcp__jobs *jobs);
/* Of forgotten jobs; the others go with their jobs. */
void arcp__idempotency_free_all(arcp__jobs *jobs);

/* ---- trace.c ---- */
void arcp__trace_of_child(arcp__jobs *jobs, const arcp__job *parent, arcp__trace *out);
/* The member "trace" of a running job's row. */
void arcp__trace_write_row(const arcp__trace *trace, arcp_json_writer *writer);
void arcp__trace_restore(arcp__jobs *jobs, const arcp_json *row, arcp_json_ref stored,
                         arcp__job *job);
void arcp__span_job_ended(arcp__jobs *jobs, const arcp__job *job);
/* It was not to become a job. */
void arcp__span_refused(arcp__jobs *jobs, const arcp__admission *admission, arcp_status code);

/* ---- job.c ---- */
/* `id` is empty for a fresh one. NULL when out of memory. */
arcp__job *arcp__job_new(arcp__jobs *jobs, arcp__principal *principal, arcp_span id);
/* Takes the job out of every table; memory goes with the last pin. */
void arcp__job_drop(arcp__jobs *jobs, arcp__job *job);
void arcp__job_unpin(arcp__job *job);
void arcp__job_note_head(arcp__job *job);
/* Its authority, of the lease that it has, below its parent's. */
arcp_status arcp__job_make_authority(arcp__jobs *jobs, arcp__job *job, const arcp__job *parent,
                                     arcp_error *err);
/* Frees job->live. */
void arcp__job_release_live(arcp__jobs *jobs, arcp__job *job);
/* Pauses or resumes reading the job's agent, as its owner and the store's queue want it. */
void arcp__job_update_pressure(arcp__jobs *jobs, arcp__job *job);
/* So many bytes were recorded: the job waits while its principal is too far ahead of the store. */
void arcp__job_recorded(arcp__jobs *jobs, arcp__job *job, size_t bytes);

/* ---- kept.c ---- */
/* An ended job can be listed and subscribed until then. */
void arcp__job_keep(arcp__jobs *jobs, arcp__job *job, int64_t until_ns);
/* It is not counted any more. */
void arcp__job_keep_no_longer(arcp__jobs *jobs, arcp__job *job);
void arcp__job_keep_due(arcp__jobs *jobs, arcp__job *job);
/* What the principal has in the store, and would have if its ended jobs were forgotten. */
uint64_t arcp__kept_at_least(const arcp__jobs *jobs, const arcp__principal *principal);

/* ---- job_log.c ---- */
void arcp__metrics_job_began(arcp__jobs *jobs, arcp__job *job);
/* An agent reported to have spent so much. */
void arcp__job_note_cost(arcp__jobs *jobs, arcp__job *job, arcp_span currency, arcp_decimal amount);
/* It has ended: how, after how long, and what it cost; for the log and the audit log. */
void arcp__job_log_end(arcp__jobs *jobs, arcp__job *job);

/* ---- job_row.c ---- */
/* Writes its row into the open batch. */
void arcp__job_store(arcp__jobs *jobs, arcp__job *job);
/* When the open batch is taken, once, and not for a job that is forgotten before. */
void arcp__job_store_with_batch(arcp__jobs *jobs, arcp__job *job, arcp__row_due what);
void arcp__budget_delete_row(arcp__jobs *jobs, const arcp__job *job);
/* Writes the member "budget" for the job's agent: what can still be spent of each currency
 * that the job or one above it counts; nothing when none does. */
void arcp__budget_write_available(const arcp__job *job, arcp_json_writer *writer);

/* ---- job_record.c ---- */
/* Appends a terminal record (job.result, job.error) to the job's stream and tells its
 * observers. False when out of memory, or when it is `is_bounded` and has no room. */
bool arcp__job_emit_terminal(arcp__jobs *jobs, arcp__job *job, const char *type, arcp_span payload,
                             bool is_bounded);
/* A job.event of a kind with a body; a session needs the feature to see it. */
void arcp__job_emit_event(arcp__jobs *jobs, arcp__job *job, arcp_feature feature,
                          arcp_span kind_text, arcp_span body);
void arcp__job_emit_denial(arcp__jobs *jobs, arcp__job *job, arcp_span call_id,
                           const arcp_error *error, arcp_span details);
/* A piece of its result, where its session gets those. */
void arcp__job_emit_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data_json, bool is_base64,
                          bool more);
/* What is left of a budget. */
void arcp__job_emit_remaining(arcp__jobs *jobs, arcp__job *job, const arcp_budget_report *report);

/* ---- agent.c ---- */
/* A line for the agent, which is moved from. */
void arcp__agent_say(arcp__jobs *jobs, arcp__job *job, arcp_buf *line);
void arcp__agent_reply(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to, arcp_span payload);
void arcp__agent_reply_error(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to,
                             const arcp_error *error, arcp_span details);
/* Tells the agent to stop and, after the grace, kills it. */
void arcp__agent_cancel(arcp__jobs *jobs, arcp__job *job, arcp__cancel_reason reason,
                        uint64_t grace_ms);
void arcp__agent_kill(arcp__jobs *jobs, arcp__job *job);
/* The job has no agent any more, or never had one: what it needs only while it is live goes when
 * no input uses it and it has ended; before that its owner is told to forget the agent, if it was
 * started. Needs no memory. */
void arcp__agent_over(arcp__jobs *jobs, arcp__job *job);
/* It is gone: queues FORGET_AGENT, the last word about the job to its host. */
void arcp__agent_forget(arcp__jobs *jobs, arcp__job *job);

/* ---- job_end.c ---- */
void arcp__job_succeed(arcp__jobs *jobs, arcp__job *job, arcp_span result_json,
                       arcp_span summary_json);
void arcp__job_fail(arcp__jobs *jobs, arcp__job *job, arcp_status code, arcp_span message,
                    bool retryable, arcp_span details);
/* The end of an expired or exhausted job, after the agent has its answer. */
void arcp__job_after_denial(arcp__jobs *jobs, arcp__job *job, arcp_status code);

/* ---- job_output.c ---- */
arcp_status arcp__job_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data, arcp_span data_json,
                            bool is_base64, bool more, arcp_error *err);

/* ---- policy.c ---- */
/* What the operator's rows and the program's own policy say about a job that is asked for:
 * order->lease is replaced (a new reference) by what it may have. `notes` gets what the log is to
 * be told when there is a job, `details` those of a refusal. */
arcp_status arcp__policy_apply(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *notes,
                               arcp_buf *details, arcp_error *err);
/* The refusal of a request whose leases are too much work, from ARCP_E_LIMIT. */
arcp_status arcp__lease_too_complex(arcp_buf *details, arcp_error *err);
void arcp__policy_audit(arcp__jobs *jobs, const arcp__job *job, const arcp_buf *notes);

/* ---- admission.c ---- */
/* Whether the order has to wait, for a credential or, when `waits_for_turn`, for its submitter.
 * Then *out is its admission, which has the notes; NULL: memory ran out. */
bool arcp__admission_is_needed(arcp__jobs *jobs, const arcp__job_order *order, bool waits_for_turn,
                               arcp_buf *notes, arcp__admission **out);
/* Its credential was issued, or could not be (then `error` says why), or it needs none. */
void arcp__admission_provisioned(arcp__jobs *jobs, arcp__admission *admission,
                                 const arcp_error *error);
/* A parent ended. */
void arcp__admission_drop_children(arcp__jobs *jobs, const arcp__job *parent);

/* ---- job_submit.c: the parts that a submit and a delegation share ---- */
/* What the members lease_request and lease_constraints say, within the limits that are set; an
 * expiry that is not in the future is refused. */
ARCP_MUST_CHECK arcp_status arcp__job_read_lease(const arcp__jobs *jobs,
                                                 const arcp__job_order *order, arcp_lease **out,
                                                 arcp_error *err);
/* Makes the job with its authority, accepted payload, stream and row; NULL when out of
 * memory, when the budget cannot be made, or when there is no room for its key (err says why). */
arcp__job *arcp__job_create(arcp__jobs *jobs, const arcp__job_order *order, arcp_buf *details,
                            arcp_error *err);

/* ---- agent_line.c ---- */
/* Counts and audits what the gate answered. */
void arcp__job_decided(arcp__jobs *jobs, const arcp__job *job, const arcp_decision *decision);

/* ---- job_delegate.c ---- */
/* A delegate line of an agent, which gets its answer when the child exists, unless `wait` asks for
 * the child's end. */
arcp_status arcp__job_delegate(arcp__jobs *jobs, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *details,
                               arcp_error *err);

/* ---- agent_line.c, for docs/reference ---- */

/* The types of lines that agents write, one for each i from 0 on, and their members (none of
 * delegate and job.error, whose payload is that of the event and of an error). NULL after the last.
 */
const char *arcp__agent_line_type(size_t i, const arcp__members **members);

#endif
