/* What the engine's files offer each other, by file. Private to src/engine.
 *
 * Out of memory: a function calls arcp__context_no_memory and returns at once; the engine has
 * failed then (input.c). */
#ifndef ARCP_ENGINE_PARTS_H
#define ARCP_ENGINE_PARTS_H

#include "core/authority.h"
#include "core/envelope.h"
#include "core/error_payload.h"
#include "core/event_body.h"
#include "core/lease_work.h"
#include "credential/credential.h"
#include "engine/job_lifecycle.h"
#include "engine/kept.h"
#include "engine/mail.h"
#include "engine/message.h"
#include "engine/principal_rate.h"
#include "engine/reads.h"
#include "engine/row.h"
#include "engine/span.h"
#include "engine/state.h"

/* ---- metrics.c ---- */
void arcp__metrics_job_began(arcp__engine *engine, arcp__job *job);
void arcp__metrics_job_ended(arcp__engine *engine, arcp__job *job);
void arcp__metrics_denied(arcp__engine *engine, arcp_status code, arcp_span capability);
void arcp__metrics_spent(arcp__engine *engine, arcp_span currency, arcp_decimal amount);

/* ---- link.c ---- */
/* NULL when out of memory. */
arcp__link *arcp__link_new(arcp__engine *engine, const arcp__link_options *options);
/* The link whose hello waits for this answer; NULL: it has gone, or was closed. */
arcp__link *arcp__link_find_authenticating(const arcp__engine *engine, uint64_t auth_id);
/* Nobody else reads it: a pipe, loopback, or encrypted. */
bool arcp__link_is_private(const arcp__link *link);
void arcp__link_receive(arcp__engine *engine, arcp__link *link, arcp_span frame);
/* False: its owner is to hand over no more frames until RESUME_LINK. */
bool arcp__link_takes_more(arcp__link *link);
void arcp__link_drained(arcp__engine *engine, arcp__link *link, size_t unsent);
void arcp__link_disconnect(arcp__engine *engine, arcp__link *link);
/* session.error and close (§12: it is fatal). */
void arcp__link_fail(arcp__engine *engine, arcp__link *link, const arcp_error *error,
                     arcp_span details, int close_code);
void arcp__link_close(arcp__engine *engine, arcp__link *link, int close_code, const char *reason,
                      bool durable);
/* The next CLOSE of a link for which there was no memory. */
bool arcp__links_next_close(arcp__engine *engine, arcp__effect *out);
void arcp__link_hello_timeout(arcp__engine *engine, arcp__link *link);
/* Its sender is known, or refused: the frame behind the hello is handled. */
void arcp__link_authenticated(arcp__engine *engine, arcp__link *link);
/* It takes no frames for so long. */
void arcp__link_rest(arcp__engine *engine, arcp__link *link, int64_t for_ns);
/* A frame of it took so long; true when its principal's links rest for that. */
bool arcp__link_took(arcp__engine *engine, const arcp__link *link, int64_t took_ns);
void arcp__link_rest_due(arcp__engine *engine, arcp__link *link);
/* Its owner may hand over frames again, unless something is still against it. */
void arcp__link_resume(arcp__engine *engine, arcp__link *link);

/* ---- session.c ---- */
arcp__session *arcp__session_find(const arcp__engine *engine, arcp_span id);
/* For the audit log: a session that asked, and the job that it asked about; NULL: none. */
arcp__audit_who arcp__session_who(const arcp__session *session, const arcp__job *job);
arcp__session *arcp__session_new(arcp__engine *engine, arcp__principal *principal);
/* Takes the session apart (its observations, runs, rows) and frees it. Its jobs go on. */
void arcp__session_end(arcp__engine *engine, arcp__session *session, const char *why);
/* Writes its row into the open batch. */
void arcp__session_store(arcp__engine *engine, arcp__session *session);
/* The link is gone or taken away: the window begins. */
void arcp__session_detach(arcp__engine *engine, arcp__session *session);
void arcp__session_attach(arcp__engine *engine, arcp__session *session, arcp__link *link);
void arcp__session_window_due(arcp__engine *engine, arcp__session *session);
/* A job that it observes ended: the window may begin now. */
void arcp__session_job_ended(arcp__engine *engine, arcp__session *session);
bool arcp__session_has_live_jobs(const arcp__session *session);
bool arcp__session_has_feature(const arcp__session *session, arcp_feature feature);
/* A frame for the session's link, if it has one. */
void arcp__session_send(arcp__engine *engine, arcp__session *session, arcp_buf *frame,
                        bool durable);
/* Adds the job's credentials to an answer when the session may see them. */
void arcp__session_reveal(arcp__engine *engine, const arcp__session *session, arcp_span job_id,
                          arcp_buf *frame);
/* Sends it, durable. */
void arcp__session_send_revealed(arcp__engine *engine, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame);
/* Registers a session read from the store under its id (shorter than ARCP__ID_SIZE). */
arcp__session *arcp__session_add_restored(arcp__engine *engine, arcp__principal *principal,
                                          arcp_span id);
/* After a restart: the window of a session that nobody is connected to begins. */
void arcp__session_start_window(arcp__engine *engine, arcp__session *session);

/* ---- session_hello.c, session_resume.c ---- */
/* The frame and its envelope, which is read. */
void arcp__session_hello(arcp__engine *engine, arcp__link *link, arcp_span frame,
                         arcp__message *in);
/* Whose token it is, or why nobody's. */
void arcp__session_authenticated(arcp__engine *engine, arcp__link *link, arcp_status status,
                                 arcp_span principal, bool is_anonymous);
void arcp__session_welcome(arcp__engine *engine, arcp__session *session, arcp_span request_id,
                           arcp_span token);
/* Records that the session was opened or resumed. */
void arcp__session_audit(arcp__engine *engine, const arcp__link *link, const arcp__session *session,
                         const char *request);
void arcp__session_make_token(arcp__engine *engine, arcp__session *session, arcp_buf *token);
void arcp__session_resume(arcp__engine *engine, arcp__link *link, arcp__principal *principal,
                          const arcp__envelope *envelope, const arcp__resume_request *resume);

/* ---- session_request.c ---- */
/* A frame of which the envelope is read. */
void arcp__session_receive(arcp__engine *engine, arcp__session *session, arcp__message *in);
/* To the payload, an object, request_id and reply_to are added; it waits for the open batch. */
void arcp__request_answer(arcp__engine *engine, arcp__request *request, const char *type,
                          arcp_span job_id, arcp_span trace_id, arcp_span payload);
/* A submit is freed when its answer has left, which may be now. */
void arcp__request_finish(arcp__engine *engine, arcp__request *request);
void arcp__session_fail_submits(arcp__session *session);
/* Its list of submits, or its profile, has changed. */
void arcp__session_note_submits(arcp__session *session);
/* The number of the session's own record; 0 when out of memory. */
uint64_t arcp__session_append_own(arcp__engine *engine, arcp__session *session, arcp_span record);

/* ---- session_submit.c ---- */
void arcp__session_submit(arcp__engine *engine, arcp__request *request, const arcp__message *in);
/* A submit or a child of it may have its turn now. */
void arcp__session_look(arcp__engine *engine, arcp__session *session);
void arcp__session_leave_turns(arcp__engine *engine, arcp__session *session);
/* All that have their turn; part of settling. */
void arcp__sessions_take_turns(arcp__engine *engine);

/* ---- session_subscribe.c ---- */
void arcp__session_subscribe(arcp__engine *engine, arcp__request *request, const arcp__message *in);
void arcp__session_unsubscribe(arcp__engine *engine, arcp__request *request,
                               const arcp__message *in);

/* ---- session_cancel.c ---- */
void arcp__session_cancel(arcp__engine *engine, arcp__request *request, const arcp__message *in);

/* ---- session_accepted.c ---- */
/* The payload of job.accepted, as it was first made, in the form that a profile wants; a
 * failure marks `out`. */
void arcp__accepted_format(arcp__engine *engine, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out);
/* The frame that tells the session of a job that it did not just ask for. */
void arcp__session_format_accepted(arcp__engine *engine, const arcp__session *session,
                                   const arcp__job *job, arcp_buf *frame);

/* ---- session_refusal.c ---- */
/* Or in the form of the peer's profile, which may show `subject`: the job that it is about, or the
 * agent that a submit names, or none. `details`: a JSON object or empty. */
void arcp__request_refuse(arcp__engine *engine, arcp__request *request, const arcp_error *error,
                          arcp_span subject, arcp_span details);

void arcp__request_refuse_unknown_job(arcp__engine *engine, arcp__request *request,
                                      arcp_span job_id);
void arcp__session_settle_refusal(arcp__engine *engine, arcp__session *session);

/* ---- session_answer.c ---- */
/* A job.accepted for the session's link, with the job's credentials added when the session may see
 * them: durable, and behind the refusals of submits that were made before it. */
void arcp__session_send_in_order(arcp__engine *engine, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame);
/* session.closed, behind these, and the end of the link. */
void arcp__session_send_closed(arcp__engine *engine, arcp__session *session, arcp_buf *frame);
/* Whether an answer that is made now has to wait. */
bool arcp__session_holds_answers(const arcp__session *session);
/* The first one whose turn it is into engine->sending; false: none. */
bool arcp__session_next_answer(arcp__engine *engine, arcp__session *session);
void arcp__session_drop_answers(arcp__session *session);

/* ---- session_seen.c ---- */
void arcp__session_forget_seen(arcp__session *session);
/* False when out of memory. */
bool arcp__seen_add(arcp__engine *engine, arcp__session *session, uint64_t hash);
/* `seq`: of an answer that is a record, or 0. `end`: the record behind it, said again with it. */
void arcp__seen_keep_answer(arcp__session *session, uint64_t hash, uint64_t seq, arcp_span frame,
                            arcp_span end);
/* What showed credentials is not kept: asked again, it is executed again. */
void arcp__seen_forget_answer(arcp__session *session, uint64_t hash);
/* True when the request was seen before and is not to be executed again; then *is_answered says
 * whether it has its answer. */
bool arcp__seen_find(const arcp__session *session, uint64_t hash, bool *is_answered);
/* Sends the answer that is kept once more. */
void arcp__seen_answer_again(arcp__engine *engine, arcp__session *session, uint64_t hash);

/* ---- session_outbox.c ---- */
/* Gives `count` records of a stream from `position` on their numbers. */
uint64_t arcp__session_number(arcp__engine *engine, arcp__session *session, arcp__stream *stream,
                              uint64_t position, uint32_t count, uint64_t bytes);
/* The agents of its jobs are not read while it has more than limits.unsent_bytes to send, until
 * half of that is sent. */
void arcp__session_weigh_backlog(arcp__engine *engine, arcp__session *session);
void arcp__session_wake(arcp__engine *engine, arcp__session *session);
void arcp__session_leave_outbox(arcp__engine *engine, arcp__session *session);
/* The next frame for the session's link into engine->sending; false: nothing now. */
bool arcp__session_next_frame(arcp__engine *engine, arcp__session *session);
void arcp__session_read_done(arcp__engine *engine, arcp__session *session, uint64_t first,
                             const arcp_span *records, size_t count, bool failed);
/* Runs up to the last one that was acknowledged need not be kept. */
void arcp__session_forget_acked(arcp__engine *engine, arcp__session *session);
/* The runs numbered since the last batch, one index record each. */
void arcp__session_write_index(arcp__engine *engine, arcp__session *session);
/* Runs whose batch is committed are durable. */
void arcp__session_note_durable(arcp__session *session, uint64_t committed_id);
void arcp__session_evict(arcp__engine *engine, arcp__session *session);
/* The oldest runs, fewer than there are; what they said of their jobs is kept. */
void arcp__session_forget_oldest(arcp__engine *engine, arcp__session *session, size_t count);
void arcp__session_drop_runs(arcp__engine *engine, arcp__session *session);
void arcp__session_drained(arcp__engine *engine, arcp__session *session);
/* The next frame of a record, of whichever session has one. */
bool arcp__sessions_next_frame(arcp__engine *engine, arcp__effect *out);
/* Builds the frame of a record for this session. */
void arcp__session_format_frame(arcp__engine *engine, const arcp__session *session, uint64_t seq,
                                arcp_span record, arcp_buf *out);
bool arcp__session_push_run(arcp__session *session, const arcp__run *run);

/* ---- session_durable.c ---- */
/* The session has new numbers, or an answer that waits: they become visible when the open batch is
 * durable. False when out of memory. */
void arcp__session_mark(arcp__engine *engine, arcp__session *session);
/* It ends. */
void arcp__session_unmark(arcp__engine *engine, arcp__session *session);
/* Before the open batch is taken: what sessions numbered since the last one becomes index records
 * of this one. */
void arcp__sessions_write_indexes(arcp__engine *engine);
/* A batch was committed. */
void arcp__sessions_durable(arcp__engine *engine);

/* ---- session_ack.c ---- */
void arcp__session_ack(arcp__engine *engine, arcp__request *request, const arcp__message *in);
/* An event was numbered for the observer. */
void arcp__session_note_lag(arcp__engine *engine, arcp__observation *observation);

/* ---- session_close.c ---- */
/* Answers session.closed, then closes the link. */
void arcp__session_close(arcp__engine *engine, arcp__session *session,
                         const arcp__envelope *envelope);
void arcp__session_bye(arcp__engine *engine, arcp__session *session);
void arcp__link_input_over(arcp__engine *engine, arcp__link *link);
/* Closes the links whose peers said that nothing more comes, and that have all they asked for. */
void arcp__sessions_leave(arcp__engine *engine);

/* ---- session_heartbeat.c ---- */
void arcp__session_heartbeat_start(arcp__engine *engine, arcp__session *session);
void arcp__session_heartbeat_due(arcp__engine *engine, arcp__session *session);
/* False: the nonce is larger than is repeated. */
bool arcp__session_pong(arcp__engine *engine, arcp__session *session, const arcp__message *in);

/* ---- session_list_jobs.c ---- */
void arcp__session_list_jobs(arcp__engine *engine, arcp__request *request, const arcp__message *in);

/* ---- peer_profile.c ---- */
/* By the rules that are set, else by the table; `principal` may be NULL: not known yet. */
const arcp__peer_profile *arcp__peer_profile_of(const arcp__engine *engine, arcp_span client,
                                                const arcp__principal *principal);

/* ---- directory.c ---- */
arcp__principal *arcp__principal_get(arcp__engine *engine, arcp_span name);
void arcp__principal_maybe_free(arcp__engine *engine, arcp__principal *principal);
/* Frees those that stayed until their buckets were full. */
void arcp__principals_sweep(arcp__engine *engine);
bool arcp__principal_add_job(arcp__principal *principal, arcp__job *job);
void arcp__principal_drop_job(arcp__principal *principal, const arcp__job *job);
/* Resolves name[@version] (§7.5). Errors: INVALID_REQUEST, AGENT_NOT_AVAILABLE,
 * AGENT_VERSION_NOT_AVAILABLE. */
arcp_status arcp__agent_resolve(const arcp__engine *engine, arcp_span text,
                                const arcp__agent **agent, const arcp__agent_version **version,
                                arcp_error *err);
void arcp__directory_write_agents(const arcp__engine *engine, bool rich, arcp_json_writer *writer);
void arcp__directory_free(arcp__engine *engine);
/* ---- job.c ---- */
arcp__job *arcp__job_find(const arcp__engine *engine, arcp_span id);
/* For the audit log. */
arcp__audit_who arcp__job_who(const arcp__job *job);
/* `admission` (may be NULL) has the id and the time that it was promised. */
arcp__job *arcp__job_new(arcp__engine *engine, arcp__principal *principal,
                         const arcp__admission *admission);
void arcp__job_pin(arcp__job *job);
void arcp__job_unpin(arcp__job *job);
/* Queues START_AGENT behind the open batch and arms its deadlines. */
void arcp__job_start(arcp__engine *engine, arcp__job *job);
void arcp__job_free(arcp__engine *engine, arcp__job *job);
bool arcp__job_is_visible_to(const arcp__engine *engine, const arcp__job *job,
                             const arcp__principal *principal);
/* Takes the job out of every table; memory goes with the last pin. */
void arcp__job_drop(arcp__engine *engine, arcp__job *job);
/* Takes over a new job's budget: kept when it has counters of its own. */
void arcp__job_take_budget(arcp__job *job, arcp_budget *budget);
/* Frees job->live, and what was reserved for it. */
void arcp__job_release_live(arcp__engine *engine, arcp__job *job);
/* The members lease and, if it has any, lease_constraints. */
void arcp__job_write_lease(const arcp__job *job, arcp_json_writer *writer);
void arcp__job_write_budget(const arcp__job *job, bool current, bool as_text,
                            arcp_json_writer *writer);
/* Registers a job read from the store under its id. */
arcp__job *arcp__job_add_restored(arcp__engine *engine, arcp__principal *principal, arcp_span id);
void arcp__job_note_head(arcp__job *job);
void arcp__job_agent_started(arcp__engine *engine, arcp__job *job, arcp_status status,
                             arcp_span message);
/* Queues FORGET_AGENT; the last word about the job to its host. */
void arcp__job_forget_agent(arcp__engine *engine, arcp__job *job);
uint64_t arcp__job_position_after(const arcp__job *job, uint64_t owner_seq);
uint64_t arcp__job_owner_seq(const arcp__job *job, uint64_t position);
/* The owner gave numbers from `seq` on to `count` records; its first number of the job is
 * `job_first_seq`. */
void arcp__job_note_owner_run(arcp__engine *engine, arcp__job *job, uint64_t job_first_seq,
                              uint64_t seq, uint64_t position, uint64_t count);
void arcp__job_observe(arcp__job *job, arcp__observer *observer);
/* It runs on the submitter, whose observer gets all of it. */
void arcp__job_adopt(arcp__job *job, arcp__submitter *submitter, arcp__observer *observer);
void arcp__job_unobserve(arcp__engine *engine, arcp__observer *observer);

/* ---- job_release.c ---- */
/* The job has no agent any more, or never had one: what it needs only while it is live goes when
 * no input uses it and it has ended; before that its owner is told to forget the agent, if it was
 * started. Needs no memory. */
void arcp__job_agent_over(arcp__engine *engine, arcp__job *job);
/* The next FORGET_AGENT; every agent that was started gets one, so it needs no memory. */
bool arcp__job_next_forgotten(arcp__engine *engine, arcp__effect *out);
/* The owner has carried it out. */
void arcp__job_forgotten_by_owner(arcp__engine *engine);
/* All that are due, without an owner. */
void arcp__jobs_forget_agents(arcp__engine *engine);

/* ---- job_row.c ---- */
/* Writes its row into the open batch. */
void arcp__job_store(arcp__engine *engine, arcp__job *job);
/* When the open batch is taken, once, and not for a job that is forgotten before. */
void arcp__job_store_with_batch(arcp__engine *engine, arcp__job *job);
/* False when memory ran out: the batch has to wait, since it shows what the rows say. */
void arcp__jobs_store_due(arcp__engine *engine);

/* ---- job_create.c: the parts that a submit and a delegation share ---- */
/* What the members lease_request and lease_constraints say, within the limits that are set; an
 * expiry that is not in the future is refused. */
ARCP_MUST_CHECK arcp_status arcp__job_read_lease(const arcp__engine *engine, const arcp_json *json,
                                                 arcp_json_ref lease, arcp_json_ref constraints,
                                                 arcp_lease **out, arcp_error *err);
typedef struct arcp__job_order {
    /* What is asked for. */
    arcp__submitter *submitter; /* the job runs on it */
    arcp__principal *principal;
    arcp_feature_set features;
    arcp_span asked_agent;
    const arcp_json *json;
    arcp_json_ref asked_input, lease_request, lease_constraints;
    uint64_t max_runtime_sec;
    arcp_span key;              /* idempotency_key; empty for none */
    const uint8_t *fingerprint; /* 32 bytes, of the key's parameters */
    arcp_span trace_id;         /* 32 hex */
    const arcp__trace *trace;
    arcp_span tracestate;
    arcp__job *parent;  /* of a delegation, like what follows */
    arcp_json_ref body; /* all that the agent said */
    arcp_span delegate_id;
    arcp_span reply_to;
    bool waits_for_end;
    /* What becomes of it. */
    const arcp__agent_version *agent;
    arcp_span agent_name;             /* without the version */
    arcp_span input;                  /* compact JSON */
    const arcp_lease *lease;          /* effective */
    arcp__lease_work lease_work;      /* what its leases may still cost */
    const arcp__admission *admission; /* it had to wait: its id and time; NULL: it had not */
} arcp__job_order;
/* Makes the job with its authority, accepted payload, stream and row; NULL when out of
 * memory, when the budget cannot be made, or when there is no room for its key (err says why). */
arcp__job *arcp__job_create(arcp__engine *engine, const arcp__job_order *order, arcp_buf *details,
                            arcp_error *err);

/* ---- job_submit.c ---- */
typedef enum arcp__job_outcome {
    ARCP__JOB_MADE,     /* and durable with the open batch; it is still to be started */
    ARCP__JOB_WAITS,    /* for a credential; the submitter is told when that is there */
    ARCP__JOB_SAME_KEY, /* it was made before */
    ARCP__JOB_REFUSED
} arcp__job_outcome;
typedef struct arcp__job_answer {
    arcp__job *job;                 /* MADE */
    bool is_narrowed;               /* likewise: a policy gave it less than was asked for */
    arcp__admission *admission;     /* WAITS; NULL: memory ran out */
    const arcp__idempotency *entry; /* SAME_KEY */
    arcp_buf details;               /* REFUSED: JSON object or empty; owned by the caller */
} arcp__job_answer;
/* What a client asks for. */
arcp__job_outcome arcp__job_submit(arcp__engine *engine, arcp__job_order *order,
                                   arcp__job_answer *answer, arcp_error *err);
/* The job of an admission that is ready: MADE or REFUSED. The caller frees the admission. */
arcp__job_outcome arcp__job_admit(arcp__engine *engine, arcp__admission *admission,
                                  arcp__job_order *order, arcp__job_answer *answer,
                                  arcp_error *err);

/* ---- job_event.c ---- */
/* Appends a terminal record (job.result, job.error) to the job's stream and tells its
 * observers. False when out of memory, or when it is `is_bounded` and has no room
 * (job_bytes.c). */
bool arcp__job_emit_terminal(arcp__engine *engine, arcp__job *job, const char *type,
                             arcp_span payload, bool is_bounded);
/* A job.event of a kind with a body. */
void arcp__job_emit_event(arcp__engine *engine, arcp__job *job, arcp_event_kind kind,
                          arcp_span kind_text, arcp_span body);
void arcp__job_emit_status(arcp__engine *engine, arcp__job *job, const char *phase,
                           arcp_span message);
/* What follows a spend, after its metric: reports, rows, the end of the job where the
 * operator wants that. */
void arcp__job_spent(arcp__engine *engine, arcp__job *job, const arcp_budget_report *reports,
                     size_t count);
void arcp__job_emit_log(arcp__engine *engine, arcp__job *job, const char *level, arcp_span text);
void arcp__job_emit_denial(arcp__engine *engine, arcp__job *job, arcp_span call_id,
                           const arcp_error *error, arcp_span details);
/* An event that an agent asked for: gate, budget, chunks. ARCP_OK, or the error it gets
 * (details appended to `details`). */
arcp_status arcp__job_agent_event(arcp__engine *engine, arcp__job *job, arcp_span kind_text,
                                  const arcp_json *json, arcp_json_ref body, arcp_buf *details,
                                  arcp_error *err);
/* Asks the gate, with what follows from the answer (audit, LEASE_EXPIRED ends the job). */
bool arcp__job_authorize(arcp__engine *engine, arcp__job *job, arcp_span capability,
                         arcp_span target, arcp_buf *details, arcp_error *err);
/* Counts and audits what the gate answered. */
void arcp__job_decided(arcp__engine *engine, const arcp__job *job, const arcp_decision *decision);
/* What came through a port of the job. */
void arcp__job_hear(arcp__engine *engine, arcp__job *job, const arcp__job_message *message);
/* The end of an expired or exhausted job, after the agent has its answer. */
void arcp__job_after_denial(arcp__engine *engine, arcp__job *job, arcp_status code);

/* ---- job_result.c ---- */
arcp_status arcp__job_chunk(arcp__engine *engine, arcp__job *job, arcp_span data,
                            arcp_span data_json, bool is_base64, bool more, arcp_error *err);
/* The end of a job, exactly once: later calls do nothing. */
void arcp__job_succeed(arcp__engine *engine, arcp__job *job, arcp_span result_json,
                       arcp_span summary_json);
void arcp__job_fail(arcp__engine *engine, arcp__job *job, arcp_status code, arcp_span code_text,
                    arcp_span message, bool retryable, arcp_span details);
void arcp__job_fail_with(arcp__engine *engine, arcp__job *job, arcp_status code,
                         const char *message);
void arcp__job_plain_output(arcp__engine *engine, arcp__job *job, arcp_span bytes);
void arcp__job_agent_exited(arcp__engine *engine, arcp__job *job, const arcp__agent_exit *exit);

/* ---- job_cancel.c ---- */
/* `message` is what the canceller wrote; the first one's counts. */
void arcp__job_cancel(arcp__engine *engine, arcp__job *job, const char *message);
/* While the store fails: what stops agents that run waits for it no longer. */
void arcp__jobs_release_stops(arcp__engine *engine);
void arcp__job_grace_due(arcp__engine *engine, arcp__job *job);
void arcp__job_runtime_due(arcp__engine *engine, arcp__job *job);
void arcp__job_expiry_due(arcp__engine *engine, arcp__job *job);
void arcp__jobs_follow_wall_clock(arcp__engine *engine);
/* Tells the agent to stop and, after the grace, kills it. */
void arcp__job_stop_agent(arcp__engine *engine, arcp__job *job, arcp__cancel_reason reason,
                          uint64_t grace_ms);

/* ---- observation.c ---- */
static inline arcp__observation *arcp__observation_of(arcp__observer *observer)
{
    return (arcp__observation *)observer;
}
/* Whether the job runs on its session. */
static inline bool arcp__observation_is_owner(const arcp__observation *observation)
{
    return observation->observer.job->owner == &observation->observer;
}
arcp__observation *arcp__observation_find(const arcp__session *session, const arcp__job *job);
arcp__observation *arcp__observation_add(arcp__engine *engine, arcp__session *session,
                                         arcp__job *job);
/* The job runs on the session, and is `is_new`: its records are numbered as they come. False when
 * out of memory. */
bool arcp__session_adopt(arcp__engine *engine, arcp__session *session, arcp__job *job, bool is_new);
/* The session's index has no run of the job below `position` any more; store_moved writes
 * what that changed for the session's rows, in the batch that trims the index. */
void arcp__observation_moved(arcp__observation *observation, uint64_t position);
/* Its row, so that a restart finds it. */
void arcp__observation_store(arcp__engine *engine, arcp__observation *observation);
void arcp__observations_store_moved(arcp__engine *engine, arcp__session *session);
void arcp__observation_remove(arcp__engine *engine, arcp__observation *observation);
/* Numbers what the session has not got yet, and goes live. */
void arcp__observation_catch_up(arcp__engine *engine, arcp__observation *observation);
void arcp__observation_read_done(arcp__engine *engine, arcp__observation *observation,
                                 uint64_t first, const arcp_span *records, size_t count,
                                 bool failed);
bool arcp__record_is_hidden(const arcp__session *session, arcp_span record);
arcp_status arcp__observation_restore(arcp__engine *engine, const arcp_json *json, arcp_error *err);

/* ---- job_delegate.c ---- */
/* A delegate line of an agent, which gets its answer when the child exists, unless `wait` asks for
 * the child's end. */
arcp_status arcp__job_delegate(arcp__engine *engine, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *details,
                               arcp_error *err);
/* The turn of a delegation that had to wait; the admission is freed. */
void arcp__job_admit_child(arcp__engine *engine, arcp__admission *admission);
void arcp__job_child_ended(arcp__engine *engine, arcp__job *parent, arcp__job *child,
                           arcp_span terminal);
void arcp__job_end_children(arcp__engine *engine, arcp__job *job);
void arcp__job_leave_parent(arcp__job *job);

/* ---- agent_line.c ---- */
void arcp__job_agent_line(arcp__engine *engine, arcp__job *job, arcp_span text);
/* A line for the agent, which is moved from. */
void arcp__agent_say(arcp__engine *engine, arcp__job *job, arcp_buf *line);
void arcp__agent_reply(arcp__engine *engine, arcp__job *job, arcp_span reply_to, arcp_span payload);
void arcp__agent_reply_error(arcp__engine *engine, arcp__job *job, arcp_span reply_to,
                             const arcp_error *error, arcp_span details);
void arcp__agent_format_start(arcp__engine *engine, const arcp__job *job, arcp_buf *out);
/* Its owner has too much to send, or no longer: the agent is not read. */
void arcp__job_hold(arcp__engine *engine, arcp__job *job, bool is_held);
/* Pauses or resumes reading the job's agent, as its owner and the store's queue want it. */
void arcp__job_update_pressure(arcp__engine *engine, arcp__job *job);
void arcp__engine_update_pressure(arcp__engine *engine);

/* ---- job_credential.c ---- */
extern const arcp__credential_ops arcp__job_credential_ops;
/* NULL: it has none. */
static inline const arcp__credential_slot *arcp__job_credential(const arcp__job *job)
{
    return job->live == NULL ? NULL : &job->live->credential;
}

/* ---- admission.c ---- */
/* Whether the order has to wait, for a credential or, when `waits_for_turn`, for its submitter.
 * Then *out is its admission, which has the notes; NULL: memory ran out. */
bool arcp__admission_is_needed(arcp__engine *engine, const arcp__job_order *order,
                               bool waits_for_turn, arcp_buf *notes, arcp__admission **out);
/* What it was made of, borrowed from it. */
void arcp__admission_order(const arcp__admission *admission, arcp__job_order *out);
void arcp__admission_free(arcp__engine *engine, arcp__admission *admission);
/* Its credential was issued, or could not be (then `error` says why), or it needs none. */
void arcp__admission_provisioned(arcp__engine *engine, arcp__admission *admission,
                                 const arcp_error *error);
/* Whether somebody else is making a job under this key: the submitter is told when it is free. */
bool arcp__submitter_waits_for_key(arcp__submitter *submitter, const arcp__principal *principal,
                                   arcp_span key);
/* The oldest delegation that can be made; NULL: none. */
arcp__admission *arcp__submitter_ready_child(const arcp__submitter *submitter);
/* It is gone, and what waits for it. */
void arcp__submitter_leave(arcp__engine *engine, arcp__submitter *submitter);
/* A parent ended, or the runtime stops. */
void arcp__admission_drop_children(arcp__engine *engine, const arcp__job *parent);
void arcp__admission_drop_all(arcp__engine *engine, const char *why);
void arcp__admission_free_all(arcp__engine *engine);

/* ---- policy.c ---- */
/* What the operator's rows and the program's own policy say about a job that is asked for:
 * order->lease is replaced (a new reference) by what it may have. `notes` gets what the log is to
 * be told when there is a job, `details` those of a refusal. */
arcp_status arcp__policy_apply(arcp__engine *engine, arcp__job_order *order, arcp_buf *notes,
                               arcp_buf *details, arcp_error *err);
/* The refusal of a request whose leases are too much work, from ARCP_E_LIMIT. */
arcp_status arcp__lease_too_complex(arcp_buf *details, arcp_error *err);
void arcp__policy_audit(arcp__engine *engine, const arcp__job *job, const arcp_buf *notes);

/* ---- job_budget.c ---- */
/* Something was spent by the job or below it: its row is written with the open batch. */
void arcp__budget_changed(arcp__engine *engine, arcp__job *job);
/* Before a batch is sealed: the rows of what was spent since the last one. False when there was no
 * memory for all. */
void arcp__budgets_store(arcp__engine *engine);
void arcp__budget_delete_row(arcp__engine *engine, const arcp__job *job);
/* Writes the member "spent": {"USD":"1.5"}; nothing for a job without counters. */
void arcp__budget_write_spent(const arcp__job *job, arcp_json_writer *writer);
/* Writes the member "budget" for the job's agent: what can still be spent of each currency
 * that the job or one above it counts; nothing when none does. */
void arcp__budget_write_available(const arcp__job *job, arcp_json_writer *writer);
/* Whether a key of the table of jobs is that of a spent row, and of which job. */
bool arcp__budget_row_key(arcp_span key, arcp_span *job_id);

/* ---- restore_authority.c ---- */
/* Keeps the member "spent" of a row for later; it may be absent. */
arcp_status arcp__budget_keep_row(arcp__engine *engine, const arcp_json *row, arcp_json_ref spent,
                                  arcp_span job_id, bool is_own_row, arcp_error *err);
/* When every row was read: gives the jobs their authorities and counters. */
void arcp__authorities_restore(arcp__engine *engine);
void arcp__budget_free_rows(arcp__engine *engine);

/* The details of an error; none when there was no memory for them. */
static inline arcp_span arcp__details(const arcp_buf *details)
{
    return details->failed ? arcp_span_make(NULL, 0) : arcp_buf_span(details);
}

#endif
