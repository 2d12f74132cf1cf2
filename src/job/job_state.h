/* Shared by the files of src/job, from the bottom up: a file uses what is declared above it. */
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
#include "job/worker_state.h"
#include "json/json_put.h"

/* ---- structs ---- */

/* One version of an agent. */
struct arcp__agent_version {
    char *name, *version;                /* owned; version is "" for none */
    char *text;                          /* owned: name@version, or name */
    char *cwd;                           /* owned; "" for none */
    char worker[ARCP__WORKER_NAME_SIZE]; /* "" for none */
    void *host;
    bool is_default;           /* the default of its name; if no version is, the first is */
    bool is_unconfined;        /* as registered */
    bool has_no_cwd;           /* the same */
    bool is_remote;            /* workers offer it, and the configuration does not have it */
    size_t offers;             /* of it, by workers */
    arcp__place_agent *places; /* borrowed from the placement, which keeps it while offered */
    arcp__agent_version *next; /* in order of registration, versions of one name together */
};

struct arcp__idempotency {
    UT_hash_handle hh;
    arcp__principal *principal;
    uint8_t fingerprint[32];
    char job_id[ARCP__ID_SIZE];
    int64_t expires_wall_ns;
    arcp__job *job; /* whose row contains the key; NULL: the job was removed */
    char *accepted; /* owned once `job` is NULL: the payload of the first response */
    arcp__idempotency *older, *newer; /* in order of creation */
    bool has_row;                     /* in the table IDEMPOTENCY */
    uint32_t accepted_size;           /* of the payload in `job` or `accepted` */
    uint32_t key_size;
    char key[]; /* principal, line feed, key */
};

/* An order that waits to become a job (admission.c). Counted as a running job. */
struct arcp__admission {
    arcp__admission *previous, *next;           /* all, oldest first */
    arcp__admission *own_previous, *own_next;   /* of its submitter, likewise */
    arcp__admission *peer_previous, *peer_next; /* of its principal, likewise */
    arcp__submitter *key_waiters;               /* submitters whose next submit has the same key */
    arcp__credential_slot credential;           /* requested or issued; or empty */
    bool is_ready;                              /* waits only for its turn */
    arcp_error error;                           /* why it is refused, unless ARCP_OK */
    char job_id[ARCP__ID_SIZE];
    int64_t created_wall_ns;
    char trace_id[33];
    arcp__trace trace;
    /* It is counted as a running job of its principal, which therefore is not freed; its parent is
     * pinned and its lease referenced. Its agent is resolved again when the job is made. */
    arcp__job_order order;
    arcp__arena texts; /* of the order */
    arcp_span body;    /* JSON: the whole delegate body of a delegation, for its event */
    uint64_t item;     /* of the delegation; 0: it has no number */
    arcp_buf details;  /* of `error` */
    arcp_buf notes;    /* what the policies removed, for the audit log */
};

typedef enum arcp__cancel_reason {
    ARCP__CANCEL_CLIENT,
    ARCP__CANCEL_TIMEOUT,
    ARCP__CANCEL_LEASE_EXPIRED,
    ARCP__CANCEL_PARENT,
    ARCP__CANCEL_SHUTDOWN
} arcp__cancel_reason;

/* ---- job_changes.c ---- */
/* Marks a job whose row has changed, if anybody watches it. */
void arcp__job_changed(arcp__jobs *jobs, arcp__job *job);
void arcp__job_forget_changes(arcp__job *job);
void arcp__principal_forget_changes(arcp__jobs *jobs, arcp__principal *principal);

/* ---- job_lifecycle.c ---- */
/* Whether a job whose status is `from` may get the status `to`. */
bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to);
/* The same for an agent's state. */
bool arcp__agent_state_may_become(arcp__agent_state from, arcp__agent_state to);

/* The only two functions that change a state; the transition must be legal. */
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

/* Whether its agent runs or is being started. */
static inline bool arcp__job_has_agent(const arcp__job *job)
{
    return job->agent_state == ARCP__AGENT_STARTING || job->agent_state == ARCP__AGENT_RUNNING;
}

/* Whether its session gets its result in chunks. */
static inline bool arcp__job_streams(const arcp__job *job)
{
    return (job->features & ARCP_FEATURE_BIT(ARCP_FEATURE_RESULT_CHUNK)) != 0;
}

/* The directory of its agent as the agent's program sees it, until the job has started: a sandbox
 * may show it at another path. Empty: none. */
static inline arcp_span arcp__job_seen_cwd(const arcp__job_live *live)
{
    const arcp__enforcement *enforcement = live->enforcement;
    return enforcement != NULL && enforcement->texts[ARCP__ADMIT_CWD].size != 0
               ? arcp_buf_span(&enforcement->texts[ARCP__ADMIT_CWD])
               : arcp_span_cstr(live->cwd);
}

/* The kind of place that a job below `parent` (NULL: none) gets. */
static inline arcp__place_kind arcp__place_kind_below(const arcp__job *parent)
{
    return parent == NULL ? ARCP__PLACE_SUBMITTED : ARCP__PLACE_DELEGATED;
}

static inline void arcp__job_pin(arcp__job *job)
{
    job->pins++;
}

/* ---- job_list.c ---- */
/* False when out of memory. */
bool arcp__job_list_add(arcp__job_list *list, arcp__job *job);
void arcp__job_list_remove(arcp__job_list *list, const arcp__job *job);

/* ---- directory.c ---- */
/* Frees idle principals whose buckets are full. */
void arcp__principals_sweep(arcp__jobs *jobs);
/* Frees all of them; their jobs must be freed already. */
void arcp__principals_free(arcp__jobs *jobs);
/* Takes a token for a submit that is not a duplicate. When there is none, the details of the error
 * say when there will be one. */
ARCP_MUST_CHECK arcp_status arcp__principal_may_submit(arcp__jobs *jobs, arcp__principal *principal,
                                                       arcp_buf *details, arcp_error *err);
/* Resolves name[@version] (§7.5). Errors: INVALID_REQUEST, AGENT_NOT_AVAILABLE,
 * AGENT_VERSION_NOT_AVAILABLE. */
arcp_status arcp__agent_resolve(const arcp__jobs *jobs, arcp_span text,
                                const arcp__agent_version **version, arcp_error *err);
/* Whether the configuration has an agent of this name, which hides those of workers. */
bool arcp__agent_is_ours(const arcp__jobs *jobs, arcp_span name);
/* An agent that one more worker offers, and one less. NULL: out of memory, or the name or version
 * is not valid. */
/* The default version of the name of this first one; NULL for NULL. */
const arcp__agent_version *arcp__agent_default_of(const arcp__agent_version *first);
arcp__agent_version *arcp__agent_add_offer(arcp__jobs *jobs, arcp_span name, arcp_span version);
void arcp__agent_drop_offer(arcp__jobs *jobs, arcp__agent_version *agent);

/* ---- idempotency.c ---- */
arcp__idempotency *arcp__idempotency_find(arcp__jobs *jobs, const arcp__principal *principal,
                                          arcp_span key);
/* The payload of the first response. */
arcp_span arcp__idempotency_accepted(const arcp__idempotency *entry);
/* Whether the principal may have one more key, whose response has this many bytes. If not:
 * INTERNAL_ERROR (retryable), with details. */
ARCP_MUST_CHECK arcp_status arcp__idempotency_check(arcp__jobs *jobs,
                                                    const arcp__principal *principal,
                                                    uint64_t bytes, arcp_buf *details,
                                                    arcp_error *err);
/* Adds the key of a job that has its `accepted`. */
void arcp__idempotency_add(arcp__jobs *jobs, arcp__job *job, arcp_span key,
                           const uint8_t fingerprint[32]);
/* Removes the job's key, if it has one. */
void arcp__idempotency_remove(arcp__jobs *jobs, arcp__job *job);
/* To be called before the job and its row are removed: its key, if it has one, takes over the
 * payload of the response and, unless it has expired, gets a row of its own. */
void arcp__idempotency_detach(arcp__jobs *jobs, arcp__job *job);
/* Writes the member "idempotency" of the job's row if it has a key. */
void arcp__idempotency_write_row(const arcp__job *job, arcp_json_writer *writer);
/* Restores the key from that member. */
arcp_status arcp__idempotency_restore_of_job(arcp__jobs *jobs, const arcp_json *json,
                                             arcp_json_ref object, arcp__job *job, arcp_error *err);
/* To be called after all rows. */
void arcp__idempotency_restored(arcp__jobs *jobs);
/* Removes expired keys, a limited number at a time. True: there are more. */
bool arcp__idempotency_expire(arcp__jobs *jobs);
/* Frees the keys of removed jobs; other keys are freed with their jobs. */
void arcp__idempotency_free_all(arcp__jobs *jobs);

/* ---- trace.c ---- */
void arcp__trace_of_child(arcp__jobs *jobs, const arcp__job *parent, arcp__trace *out);
/* Writes the member "trace" of a running job's row. */
void arcp__trace_write_row(const arcp__trace *trace, arcp_json_writer *writer);
void arcp__trace_restore(arcp__jobs *jobs, const arcp_json *row, arcp_json_ref stored,
                         arcp__job *job);
void arcp__span_job_ended(arcp__jobs *jobs, const arcp__job *job);
/* What the jobs of a principal may spend on one day; NULL: it is not limited. */
const arcp_lease *arcp__policy_spend(const arcp__jobs *jobs, const char *principal);
/* Makes the span of a call through a gateway, if the job's trace is recorded. */
void arcp__span_call(arcp__jobs *jobs, const arcp__job *job, const arcp__job_call *call);
/* Makes the spans of an admission that was refused. */
void arcp__span_refused(arcp__jobs *jobs, const arcp__admission *admission, arcp_status code);

/* ---- job.c ---- */
/* An empty `id` stands for a new one. NULL when out of memory. */
arcp__job *arcp__job_new(arcp__jobs *jobs, arcp__principal *principal, arcp_span id);
/* Removes the job from every table; the last unpin frees it. */
void arcp__job_drop(arcp__jobs *jobs, arcp__job *job);
void arcp__job_unpin(arcp__job *job);
void arcp__job_format_head(arcp__job *job);
/* Makes the job's authority from its lease, below its parent's. */
arcp_status arcp__job_make_authority(arcp__jobs *jobs, arcp__job *job, const arcp__job *parent,
                                     arcp_error *err);
/* Makes it again, with the same counters, for a queued job that is about to start. */
arcp_status arcp__job_renew_authority(arcp__jobs *jobs, arcp__job *job, arcp_error *err);
/* Frees job->live. */
void arcp__job_release_live(arcp__jobs *jobs, arcp__job *job);
/* Pauses or resumes reading the job's agent, depending on its owner and the store's queue. */
void arcp__job_update_pressure(arcp__jobs *jobs, arcp__job *job);
/* So many bytes were recorded: the job waits while its principal is too far ahead of the store. */
void arcp__job_recorded(arcp__jobs *jobs, arcp__job *job, size_t bytes);

/* ---- job_number.c ---- */
typedef enum arcp__item_turn {
    ARCP__ITEM_ACTS,
    ARCP__ITEM_AGAIN,  /* it has had its effect */
    ARCP__ITEM_IGNORED /* items before it are missing, or memory is */
} arcp__item_turn;
arcp__item_turn arcp__item_begin_numbered(arcp__jobs *jobs, arcp__job *job, uint64_t item);
void arcp__item_end_numbered(arcp__jobs *jobs, arcp__job *job);
/* An item (0: without a number) is going to be acted upon. */
static inline arcp__item_turn arcp__item_begin(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    return item == 0 ? ARCP__ITEM_ACTS : arcp__item_begin_numbered(jobs, job, item);
}
/* It was. */
static inline void arcp__item_end(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    if (item != 0) {
        arcp__item_end_numbered(jobs, job);
    }
}
/* The number of the job's item that is being acted upon; 0: none. */
static inline uint64_t arcp__item_of(const arcp__job *job)
{
    return job->live->numbers == NULL ? 0 : job->live->numbers->answering;
}
/* The answer to that item is made again when the item comes again. */
void arcp__item_stores_nothing(const arcp__job *job);
/* That item has its effect later: between arcp__item_reopen and arcp__item_done, both with its
 * number. */
void arcp__item_leave_open(arcp__jobs *jobs, arcp__job *job);
void arcp__item_reopen(arcp__jobs *jobs, arcp__job *job, uint64_t item);
void arcp__item_done(arcp__jobs *jobs, arcp__job *job, uint64_t item);
/* The bytes of a plain program's output that were not seen yet. If there are any,
 * arcp__output_taken follows when they are in plain_output or in records. */
arcp_span arcp__output_unseen(arcp__jobs *jobs, arcp__job *job, uint64_t end, arcp_span bytes);
void arcp__output_taken(arcp__jobs *jobs, arcp__job *job);
/* Whether this line of standard error is the next. If so, arcp__item_end_numbered follows. */
bool arcp__error_line_is_next(arcp__jobs *jobs, arcp__job *job, uint64_t line);
void arcp__job_numbers_free(arcp__job_numbers *numbers);
/* False when out of memory. */
ARCP_MUST_CHECK bool arcp__item_add_open(arcp__job_numbers *numbers, uint64_t item);
/* After a restart: sets the numbers to those of the job's row in the store. */
void arcp__numbers_restore(arcp__job_numbers *numbers, uint64_t item, uint64_t bytes,
                           uint64_t errors);
/* A worker keeps items and lines of standard error from these on, and items that are open; `stored`
 * was reported to it. */
void arcp__numbers_resume(arcp__job_numbers *numbers, uint64_t items_first, uint64_t stored,
                          uint64_t errors_first);

/* ---- job_live.c ---- */
void arcp__live_write_row(arcp__jobs *jobs, arcp__job *job);
void arcp__live_delete_row(arcp__jobs *jobs, arcp__job *job);
/* Whether a row with this suffix is such a row, also of an earlier release. */
bool arcp__live_is_row(arcp_span suffix);
arcp_status arcp__live_restore_row(arcp__jobs *jobs, arcp__job *job, arcp_span suffix,
                                   arcp_span key, arcp_error *err);

/* ---- job_stderr.c ---- */
/* Its agent has exited. */
void arcp__job_stderr_exited(arcp__jobs *jobs, const arcp__job *job);
void arcp__job_stderr_drop(arcp__jobs *jobs, const arcp__job *job);

/* ---- job_facts.c ---- */
void arcp__job_facts_fini(arcp__job_facts *facts);
void arcp__job_details_fini(arcp__job_details *details);
/* Writes the members "details", "progress" and "costs" of the job's row, and restores them from the
 * context's index. False when out of memory. */
void arcp__job_facts_write_row(const arcp__job_facts *facts, arcp_json_writer *writer);
ARCP_MUST_CHECK bool arcp__job_facts_restore(arcp__jobs *jobs, arcp__job_facts *facts,
                                             arcp_json_ref progress, arcp_json_ref costs,
                                             arcp_json_ref details);
/* Keeps the numbers of a progress event, given its body. */
void arcp__job_note_progress(arcp__jobs *jobs, arcp__job *job, arcp_span body);
typedef struct arcp__denied_note {
    arcp_span capability, target; /* target empty: several operations, which are only counted */
    const char *layer;            /* static */
    arcp_status code;
    uint64_t count;
} arcp__denied_note;
void arcp__job_note_refused(arcp__jobs *jobs, arcp__job *job, const arcp__denied_note *note);
/* Its agent is about to be started, and has its input still. */
void arcp__job_details_begin(arcp__jobs *jobs, arcp__job *job);
/* It has ended. */
void arcp__job_details_end(arcp__jobs *jobs, arcp__job *job);
/* It is removed. */
void arcp__job_details_drop(arcp__jobs *jobs, const arcp__job *job);

/* ---- kept.c ---- */
/* Keeps an ended job until `until_ns`, so that it can be listed and subscribed to. */
void arcp__job_keep(arcp__jobs *jobs, arcp__job *job, int64_t until_ns);
/* Removes the job from the counts of kept jobs. */
void arcp__job_unkeep(arcp__jobs *jobs, arcp__job *job);
void arcp__job_keep_due(arcp__jobs *jobs, arcp__job *job);
/* The bytes that the principal would still have in the store if its ended jobs were evicted. */
uint64_t arcp__kept_at_least(const arcp__jobs *jobs, const arcp__principal *principal);

/* ---- job_log.c ---- */
void arcp__metrics_job_began(arcp__jobs *jobs, arcp__job *job);
/* After a restart: says so if the job had a credential that was not given back to it. */
void arcp__job_note_lost_credential(arcp__jobs *jobs, arcp__job *job);
/* Counts costs that an agent reported. */
void arcp__job_note_cost(arcp__jobs *jobs, arcp__job *job, arcp_span currency, arcp_decimal amount);
/* Writes the end of a job to the log and the audit log: status, duration and costs. */
void arcp__job_log_end(arcp__jobs *jobs, arcp__job *job);
/* Writes the audit line that summarises the denials of its sandbox that have no line of their own,
 * when no more will come. */
void arcp__denials_audit_rest(arcp__jobs *jobs, const arcp__job *job);

/* ---- job_queue_row.c: what a queued job needs to start after a restart ---- */
void arcp__queue_write_start(arcp__jobs *jobs, const arcp__job *job);
/* Writes the turn of its principal, which has changed. */
void arcp__queue_write_turn(arcp__jobs *jobs, const arcp__job *job);
void arcp__queue_delete_rows(arcp__jobs *jobs, const arcp__job *job);
/* Restores a row of these from the context's index; `suffix` is its key without the job's id. */
arcp_status arcp__queue_restore_row(arcp__jobs *jobs, arcp__job *job, arcp_span suffix,
                                    arcp_span key, arcp_error *err);

/* ---- job_start.c ---- */
/* Starts the agent of a job that has a place. */
void arcp__job_start_agent(arcp__jobs *jobs, arcp__job *job);
/* Queues START_AGENT behind the open batch. */
void arcp__agent_push_start(arcp__jobs *jobs, arcp__job *job);
/* The same of a job on a worker, when the row that says where it was placed is durable. */
void arcp__worker_send_start(arcp__jobs *jobs, arcp__job *job, const arcp__worker_entry *worker);
/* Arms max_runtime_sec, of a job that was accepted `age_ns` ago, and the lease's expiry. */
void arcp__job_arm_deadlines(arcp__jobs *jobs, arcp__job *job, int64_t age_ns);

/* ---- job_place.c ---- */
/* Whether an order may become a job, as far as places are concerned: it gets one, or the queue
 * takes it. If not: INTERNAL_ERROR (retryable), with details. The order has its input. */
ARCP_MUST_CHECK arcp_status arcp__job_check_place(const arcp__jobs *jobs,
                                                  const arcp__job_order *order, arcp_buf *details,
                                                  arcp_error *err);
/* The job begins to wait for a place, and ends that. */
void arcp__job_begin_wait(arcp__jobs *jobs, arcp__job *job, arcp__place_agent *places);
/* The job, which was accepted `age_ns` ago, waits now (placement.h): it has nothing of a place. */
void arcp__job_enter_queue(arcp__jobs *jobs, arcp__job *job, int64_t age_ns);
void arcp__job_end_wait(arcp__jobs *jobs, arcp__job *job);
/* Two parts of the beginning, for a job that was accepted `age_ns` ago and waits after a restart;
 * the second also for one that waits for its worker. */
void arcp__job_count_wait(arcp__jobs *jobs, arcp__job *job);
void arcp__job_arm_wait(arcp__jobs *jobs, arcp__job *job, int64_t age_ns);
/* Stores the turn of a job that the placement has moved. */
void arcp__job_store_turn(arcp__jobs *jobs, const arcp__place *moved);
/* The job needs a place no longer: its agent has exited, or it has ended without one. */
void arcp__job_leave_place(arcp__jobs *jobs, arcp__job *job);

/* ---- job_row.c ---- */
/* Writes its row into the open batch. */
void arcp__job_store(arcp__jobs *jobs, arcp__job *job);
/* Has that row written once, when the open batch is taken, unless the job is removed before. */
void arcp__job_store_with_batch(arcp__jobs *jobs, arcp__job *job, arcp__row_due what);
/* Something in the row <job>/live of a job on a worker has changed. Does nothing for other jobs. */
void arcp__job_live_changed(arcp__jobs *jobs, arcp__job *job);
/* Writes the member "spent", {"USD":"1.5"}; nothing for a job without counters. */
void arcp__spent_write(const arcp__job *job, arcp_json_writer *writer);
/* Keeps that member of a row until the authorities are restored; the last row wins. False when out
 * of memory. */
ARCP_MUST_CHECK bool arcp__spent_keep(const arcp_json *row, arcp_json_ref spent, arcp__job *job);
/* Writes the member "budget" for the job's agent: what can still be spent of each currency that the
 * job or an ancestor counts; nothing when none does. */
void arcp__budget_write_available(const arcp__job *job, arcp_json_writer *writer);

/* ---- job_record.c ---- */
/* Appends a terminal record (job.result, job.error) to the job's stream and notifies its observers.
 * False when out of memory or, if `is_bounded`, when the record exceeds a limit. */
bool arcp__job_emit_terminal(arcp__jobs *jobs, arcp__job *job, const char *type, arcp_span payload,
                             bool is_bounded);
/* Appends a job.event; a session needs the feature to see it. */
void arcp__job_emit_event(arcp__jobs *jobs, arcp__job *job, arcp_feature feature,
                          arcp_span kind_text, arcp_span body);
void arcp__job_emit_denial(arcp__jobs *jobs, arcp__job *job, arcp_span call_id,
                           const arcp_error *error, arcp_span details);
/* Appends a chunk of the result, if its session gets chunks. */
void arcp__job_emit_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data_json, bool is_base64,
                          bool more);
/* Reports what is left of a budget. */
void arcp__job_emit_remaining(arcp__jobs *jobs, arcp__job *job, const arcp_budget_report *report);

/* ---- agent.c ---- */
/* Sends a line, which is moved from, to the agent; `item`: that it answers, or 0. */
void arcp__agent_send_line(arcp__jobs *jobs, arcp__job *job, uint64_t item, arcp_buf *line,
                           bool is_secret);
/* Replies to the line `reply_to` (empty: no reply is wanted), which is the item that is being acted
 * upon. */
void arcp__agent_reply(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to, arcp_span payload);
/* The same for an earlier item; 0: it has no number. */
void arcp__agent_reply_late(arcp__jobs *jobs, arcp__job *job, uint64_t item, arcp_span reply_to,
                            arcp_span payload);
void arcp__agent_reply_error(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to,
                             const arcp_error *error, arcp_span details);
/* Sends the agent a cancel and, after the grace period, kills it. */
void arcp__agent_cancel(arcp__jobs *jobs, arcp__job *job, arcp__cancel_reason reason,
                        uint64_t grace_ms);
void arcp__agent_kill(arcp__jobs *jobs, arcp__job *job, bool at_once); /* without SIGTERM before */
/* Appends the line with the job's credentials. */
void arcp__agent_write_credentials(arcp__jobs *jobs, const arcp__job *job, arcp_buf *out);
/* Notifies the sandbox of the agent that the lease grants nothing any more. */
void arcp__agent_revoke(arcp__jobs *jobs, arcp__job *job, arcp_status code);
/* Lists a job without an agent for release. arcp__job_next_forgotten, which no input interrupts,
 * then has the host forget the agent, if one was started, and frees job->live if the job has ended.
 * Allocates nothing. */
void arcp__agent_queue_release(arcp__jobs *jobs, arcp__job *job);
/* Drops the effects that wait for the agent. */
void arcp__agent_drop_effects(arcp__jobs *jobs, arcp__job *job);
/* The agent has exited: queues FORGET_AGENT, the last effect about the job for its host. */
void arcp__agent_forget(arcp__jobs *jobs, arcp__job *job);

/* ---- job_end.c ---- */
void arcp__job_succeed(arcp__jobs *jobs, arcp__job *job, arcp_span result_json,
                       arcp_span summary_json);
void arcp__job_fail(arcp__jobs *jobs, arcp__job *job, arcp_status code, arcp_span message,
                    bool retryable, arcp_span details);
/* Ends a job whose lease is expired or exhausted; called after the agent has its reply. */
void arcp__job_after_denial(arcp__jobs *jobs, arcp__job *job, arcp_status code);

/* ---- job_output.c ---- */
arcp_status arcp__job_chunk(arcp__jobs *jobs, arcp__job *job, arcp_span data, arcp_span data_json,
                            bool is_base64, bool more, arcp_error *err);

/* ---- policy.c ---- */
/* Applies the operator's policy rows and the program's own policy to an order: order->lease is
 * replaced by a new reference to the lease that is granted. `notes` gets what arcp__policy_audit
 * logs once there is a job, `details` the details of a refusal. */
arcp_status arcp__policy_apply(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *notes,
                               arcp_buf *details, arcp_error *err);
/* The operator's rows only. */
arcp_status arcp__policy_narrow(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *notes,
                                arcp_buf *details, arcp_error *err);
/* Turns ARCP_E_LIMIT, for leases that need too much work, into the refusal of the request. */
arcp_status arcp__lease_too_complex(arcp_buf *details, arcp_error *err);
void arcp__policy_audit(arcp__jobs *jobs, const arcp__job *job, const arcp_buf *notes);

/* ---- host_admission.c ---- */
/* Asks the host whether a job of an order may run. `place` has the job's id, directory and
 * endpoint. *out is what is known of its enforcement; unchanged when it is refused or no host is
 * asked. `details` may be NULL. */
ARCP_MUST_CHECK arcp_status arcp__job_ask_host(arcp__jobs *jobs, const arcp__job_order *order,
                                               const arcp__admit_request *place,
                                               arcp__enforcement **out, arcp_buf *details,
                                               arcp_error *err);
/* The same without a job: `out`, zero-initialised, gets the texts of the answer, and no plan. The
 * caller frees them. */
void arcp__job_ask_host_only(const arcp__jobs *jobs, const arcp__job_order *order,
                             const arcp__admit_request *place, arcp__admit_answer *out);
/* Releases the plan, too. NULL is accepted. */
void arcp__enforcement_free(arcp__enforcement *enforcement);
void arcp__admit_texts_fini(arcp_buf texts[ARCP__ADMIT_TEXTS]);

/* ---- job_enforce.c ---- */
/* The job starts: its first event, the lines of the log and of the audit log. */
void arcp__enforcement_show(arcp__jobs *jobs, arcp__job *job);
/* Notifies the sandbox of the job, once, that the lease grants nothing any more. */
void arcp__job_revoke(arcp__jobs *jobs, arcp__job *job, arcp_status code);
/* A budget of the job is used up: where that denies everything, the sandboxes of the job and of all
 * jobs below it are notified, each once. */
void arcp__jobs_revoke_exhausted(arcp__jobs *jobs, arcp__job *top);
/* The same for all jobs that draw on a purse. NULL is accepted. */
void arcp__jobs_revoke_purse(arcp__jobs *jobs, const struct arcp__purse *purse);
/* The same for a job that just began to run with a budget of zero. */
void arcp__agent_revoke_if_without_budget(arcp__jobs *jobs, arcp__job *job);

/* ---- job_denial.c ---- */
/* The event that summarises the denials without an event, if there are any: before the terminal
 * record. */
void arcp__denials_emit_rest(arcp__jobs *jobs, arcp__job *job);

/* ---- job_site.c ---- */
/* Where a job may run. */
typedef struct arcp__job_site {
    arcp__place_offer *offer; /* of a worker; NULL: the agent is registered */
    void *host;
    char *cwd;                      /* owned: absolute; NULL for none */
    bool owns_cwd;                  /* it is made for the job */
    arcp__enforcement *enforcement; /* owned: what the host says; NULL: nothing */
} arcp__job_site;
/* Without asking the host. */
ARCP_MUST_CHECK arcp_status arcp__job_make_site(arcp__jobs *jobs, const arcp__agent_version *agent,
                                                const char *job_id, arcp__place_offer *offer,
                                                arcp__job_site *out, arcp_error *err);
/* Asks the host of one place whether a job of the order may run there. `details` and `err` may be
 * NULL. When it is refused *out is empty. */
ARCP_MUST_CHECK arcp_status arcp__job_ask_site(arcp__jobs *jobs, const arcp__job_order *order,
                                               const char *job_id, arcp_span endpoint,
                                               arcp__place_offer *offer, arcp__job_site *out,
                                               arcp_buf *details, arcp_error *err);
/* The first place whose host takes the job. */
ARCP_MUST_CHECK arcp_status arcp__job_find_site(arcp__jobs *jobs, const arcp__job_order *order,
                                                const char *job_id, arcp_span endpoint,
                                                arcp__job_site *out, arcp_buf *details,
                                                arcp_error *err);
/* Moves it into the job. */
void arcp__job_set_site(arcp__job *job, arcp__job_site *site);
void arcp__job_site_fini(arcp__job_site *site);

/* ---- admission.c ---- */
/* Whether the order has to wait for a credential or, with `waits_for_turn`, for its submitter. If
 * so, *out is its admission, which takes the notes; NULL when out of memory. */
bool arcp__admission_is_needed(arcp__jobs *jobs, const arcp__job_order *order, bool waits_for_turn,
                               arcp_buf *notes, arcp__admission **out);
/* Its credential was issued or, with `error`, will not be; or it needs none. */
void arcp__admission_provisioned(arcp__jobs *jobs, arcp__admission *admission,
                                 const arcp_error *error);
/* Removes the admissions of a parent that has ended. */
void arcp__admission_drop_children(arcp__jobs *jobs, const arcp__job *parent);

/* ---- job_submit.c: shared by submits and delegations ---- */
/* Reads the members lease_request and lease_constraints within the configured limits; refuses an
 * expiry that is not in the future. */
ARCP_MUST_CHECK arcp_status arcp__job_read_lease(const arcp__jobs *jobs,
                                                 const arcp__job_order *order, arcp_lease **out,
                                                 arcp_error *err);
/* Refuses an order that uses what was not negotiated; its lease has been read. */
ARCP_MUST_CHECK arcp_status arcp__job_check_features(const arcp__job_order *order, arcp_error *err);
/* Makes the job with its authority, accepted payload, stream and row; NULL when out of memory, when
 * the budget cannot be made, or when its key exceeds a limit (err says why). */
arcp__job *arcp__job_create(arcp__jobs *jobs, const arcp__job_order *order, arcp_buf *details,
                            arcp_error *err);

/* ---- agent_line.c ---- */
/* Counts and audits a decision of the gate. */
void arcp__job_record_decision(arcp__jobs *jobs, arcp__job *job, const arcp_decision *decision);

/* ---- job_delegate.c ---- */
/* Handles an agent's delegate line. The agent gets the reply when the child exists or, with `wait`,
 * when it has ended. */
arcp_status arcp__job_delegate(arcp__jobs *jobs, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *details,
                               arcp_error *err);

/* ---- agent_line.c, for docs/reference ---- */

/* The types of lines that agents write, one for each i from 0 on, and their members (none of
 * delegate and job.error, whose payload is that of the event and of an error). NULL after the last.
 */
const char *arcp__agent_line_type(size_t i, const arcp__members **members);

#endif
