/* What the engine's files offer each other, by file. Private to src/engine.
 *
 * Out of memory: a function calls arcp__context_no_memory and returns at once; the engine has
 * failed then (input.c). */
#ifndef ARCP_ENGINE_PARTS_H
#define ARCP_ENGINE_PARTS_H

#include "core/envelope.h"
#include "core/error_payload.h"
#include "credential/credential.h"
#include "engine/mail.h"
#include "engine/message.h"
#include "engine/reads.h"
#include "engine/row.h"
#include "engine/state.h"

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

#endif
