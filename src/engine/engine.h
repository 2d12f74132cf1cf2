/* The engine: ARCP's protocol without I/O, clock or thread.
 *
 * Its inputs say what happened (a frame arrived, a batch is durable, an agent wrote a line, time
 * passed); its effects say what to do (send this frame, start this agent, write this batch). The
 * owner of the engine, usually src/runtime, passes the inputs and carries out the effects:
 *
 *   1. Call one of the inputs below with the time.
 *   2. Call arcp__engine_next_effect until it returns false, carrying out each effect at once.
 *   3. When the store can take a batch, call arcp__engine_take_batch and submit the batch.
 *   4. When no effect is left, call arcp__engine_next_forgotten until it returns false.
 *   5. Wait until arcp__engine_deadline at the latest, then call arcp__engine_tick.
 *
 * Inputs never call the owner back. Spans in effects are valid until the next call of any function
 * here. Durable before visible: an effect that shows state to a peer or an agent is handed out only
 * after the batch that records this state was reported committed.
 *
 * Only one thread may use an engine at a time. Nothing is global: a process may have many engines.
 * docs/architecture.md. */
#ifndef ARCP_ENGINE_ENGINE_H
#define ARCP_ENGINE_ENGINE_H

#include <arcp/gate.h>
#include <arcp/submit_policy.h>
#include <arcp/sys/provisioner.h>
#include <arcp/sys/store.h>
#include <arcp/time.h>
#include <arcp/wire.h>

#include "base/ulid.h"
#include "context/settings.h"
#include "core/job_port.h"
#include "credential/credential.h"
#include "engine/call.h"
#include "hook/hook.h"
#include "log/log.h"
#include "schedule/schedule.h"
#include "session/session.h"

typedef struct arcp__engine arcp__engine;

typedef struct arcp__engine_options {
    const char *runtime_name;    /* sent in session.welcome; borrowed for the engine's life */
    const char *runtime_version; /* sent in session.welcome; borrowed for the engine's life */
    arcp_settings settings;
    arcp__random_fn random; /* a CSPRNG, or a seeded source in tests */
    void *random_user;
    bool store_is_durable;    /* false: no restart reads the store, so rows are not written */
    arcp_span work_directory; /* absolute: jobs get <it>/<job id> as cwd; empty: none */
    arcp__credential_options credentials;
    arcp__agent_hosts hosts;   /* all zeros: no job is confined */
    void *owner;               /* job->live->owner of each job */
    uint64_t worker_keep_sec;  /* for which jobs on workers go on without the engine */
    bool makes_spans;          /* make SPAN effects */
    bool has_no_log;           /* make no LOG effects, and do not format their texts */
    size_t *sessions_of_all;   /* counts those of several engines, for limits.sessions; or NULL */
    arcp__place_share *places; /* of agents, shared with other engines; NULL: all are its own */
    bool is_door;              /* no link gets a session: door/door.h */
    bool is_one_of_many;       /* other engines have other principals: no answer tells of these */
    arcp_time now;
    arcp__record_fn record; /* gets each call and each outcome; NULL: nothing is recorded */
    void *record_user;
} arcp__engine_options;

ARCP_MUST_CHECK arcp_status arcp__engine_new(const arcp__engine_options *options,
                                             arcp__engine **out, arcp_error *err);
void arcp__engine_free(arcp__engine *engine); /* NULL is accepted */

/* Replaces the settings (reload). Limits apply from the next input on. */
void arcp__engine_set_settings(arcp__engine *engine, const arcp_settings *settings);

/* Says whether the audit log can be written. While it cannot and audit.on_failure is deny, nothing
 * is granted: submits, delegations, subscriptions and gate checks fail with INTERNAL_ERROR. */
void arcp__engine_set_audit_failing(arcp__engine *engine, bool failing);

/* Says whether the runtime has gateways. Jobs that are started on a worker then have a key for them
 * (job->live->numbers->gateway_key, until that is wiped), whose digest is stored with the job. */
void arcp__engine_set_gateway_keys(arcp__engine *engine, bool are_made);

/* ---- agents ---- */

/* Registers an agent as name@version. The first version of a name is its default unless a later
 * call sets `is_default`. Registering the same name and version again replaces host and cwd.
 * ARCP_E_INVALID_REQUEST for bad grammar. */
ARCP_MUST_CHECK arcp_status arcp__engine_register_agent(arcp__engine *engine,
                                                        const arcp__agent_registration *agent,
                                                        arcp_error *err);
/* Removes all agents (before a reload registers them again); running jobs continue. */
void arcp__engine_clear_agents(arcp__engine *engine);
/* Calls `each` with the host of each registered agent and of each job that may still need its host;
 * a host may be passed several times. The owner may free all other hosts. */
void arcp__engine_for_each_host(const arcp__engine *engine, void (*each)(void *user, void *host),
                                void *user);

/* Adds a row to the policy. */
ARCP_MUST_CHECK arcp_status arcp__engine_add_policy(arcp__engine *engine,
                                                    const arcp__policy *policy, arcp_error *err);
void arcp__engine_clear_policies(arcp__engine *engine);
/* Sets the embedding program's own policy; NULL: none. Like the functions of the options it is
 * called from within inputs: it decides from its arguments, does no I/O and does not call the
 * engine. */
void arcp__engine_set_submit_policy(arcp__engine *engine, arcp_submit_policy_fn decide, void *user);

/* Replaces all schedules, after the restart is done (schedule/schedule.h). ARCP_E_USAGE names the
 * schedule and the key, and nothing was changed. */
ARCP_MUST_CHECK arcp_status arcp__engine_set_schedules(arcp__engine *engine, arcp_time now,
                                                       const arcp__schedule_options *options,
                                                       size_t count, arcp_error *err);

/* As arcp__schedule_next. */
bool arcp__engine_next_schedule(const arcp__engine *engine, const char *name,
                                arcp__schedule_view *out);

/* Replaces all hooks (hook/hook.h). To be called before the restart, too, because jobs that it ends
 * make notifications. */
void arcp__engine_set_hooks(arcp__engine *engine, arcp_time now, const arcp__hook_options *options,
                            size_t count);
/* Places that are shared (options.places) have become free: jobs that wait may start. Not recorded.
 */
void arcp__engine_places_freed(arcp__engine *engine, arcp_time now);
/* What became of a NOTIFY effect: ARCP_OK, or why it was not delivered. */
void arcp__engine_notified(arcp__engine *engine, arcp_time now, uint64_t id, arcp_status status,
                           arcp_span message);
/* As arcp__notification_next. */
bool arcp__engine_next_notification(const arcp__engine *engine, const char *id,
                                    arcp__notification_view *out);

/* The rules that choose a session's peer profile. */
void arcp__engine_clear_peer_profiles(arcp__engine *engine);
ARCP_MUST_CHECK arcp_status arcp__engine_add_peer_profile(arcp__engine *engine,
                                                          const arcp__peer_profile_rule *rule,
                                                          arcp_error *err);

/* ---- links ---- */

/* Adds a link for a connection whose transport handshake is complete. NULL when out of memory. */
arcp__link *arcp__engine_connect(arcp__engine *engine, arcp_time now,
                                 const arcp__link_options *options);
/* False: the link takes no more frames for now, because its peer is not authenticated yet or does
 * not read the responses. The owner keeps what has arrived and continues after RESUME_LINK. */
bool arcp__engine_receive(arcp__engine *engine, arcp_time now, arcp__link *link, arcp_span frame);
/* Reports how long the last frame of the link took to handle. When it took too long and other
 * principals are connected, all links of its principal pause. True: some did, and the owner calls
 * arcp__engine_takes_frames for each link. */
bool arcp__engine_frame_took(arcp__engine *engine, arcp_time now, arcp__link *link,
                             int64_t took_ns);
/* Returns what arcp__engine_receive would return now. */
bool arcp__engine_takes_frames(arcp__engine *engine, arcp__link *link);
/* `unsent` bytes of what the transport was given are not sent yet. */
void arcp__engine_drained(arcp__engine *engine, arcp_time now, arcp__link *link, size_t unsent);
/* The peer sends nothing more but still reads. The link is closed, as by session.close, when its
 * session has nothing left to send: each request has its response, no job runs, and each event was
 * sent. Until then the peer's silence is not treated as a lost connection. */
void arcp__engine_input_over(arcp__engine *engine, arcp_time now, arcp__link *link);
/* Logs a refused connection; repeated refusals of one address for one reason are counted instead of
 * logged each. */
void arcp__engine_refused(arcp__engine *engine, arcp_time now, const arcp__refusal *refusal,
                          const char *reason);
/* The connection was closed; frees the link. */
void arcp__engine_disconnect(arcp__engine *engine, arcp_time now, arcp__link *link);

/* The result of an AUTHENTICATE effect: ARCP_OK with a principal; ARCP_E_INTERNAL_ERROR when the
 * token cannot be verified right now; any other status refuses the token. Ignored when the link was
 * closed meanwhile. limits.hello_timeout_sec keeps running until then. */
void arcp__engine_authenticated(arcp__engine *engine, arcp_time now, uint64_t auth_id,
                                const arcp__authentication *result);
/* The same at a door with a token that is valid: the link leaves (door/door.h).
 * False: the link was closed meanwhile. Not recorded: a trace has one engine. */
bool arcp__engine_hand_over(arcp__engine *engine, arcp_time now, uint64_t auth_id,
                            arcp__handover *out);

/* The response to an ASK_OWNER effect: with ARCP_OK `text` is an object, the payload, else the
 * message of the refusal. A request whose session has lost its link meanwhile gets none. */
void arcp__engine_owner_answered(arcp__engine *engine, arcp_time now, uint64_t id,
                                 arcp_status status, arcp_span text);
/* The codes and keys of browsers, each of which stands for what opened a session. After a restart,
 * and when tokens have changed, the owner checks whether that is still valid. `after` NULL: the
 * first; NULL after the last. */
const arcp__page_key *arcp__engine_page_key_next(const arcp__engine *engine,
                                                 const arcp__page_key *after);
void arcp__engine_page_key_checked(arcp__engine *engine, arcp_time now, const uint8_t hash[32],
                                   bool is_valid);
/* Whether the token is a code or a key of a browser that a session here has made. */
bool arcp__engine_knows_page(arcp__engine *engine, arcp_span token);
/* Tokens or peers have changed: closes the links of sessions with a role, which may resume. */
void arcp__engine_recheck_roles(arcp__engine *engine, arcp_time now);

/* ---- store ---- */

/* Closes the open batch and returns it, to be submitted now; NULL when there is nothing to write.
 * It stays valid until it is committed. Several batches may be under way; they commit in order. */
const arcp_store_batch *arcp__engine_take_batch(arcp__engine *engine);
/* The approximate number of changes in the open batch. */
size_t arcp__engine_pending_changes(const arcp__engine *engine);
/* A taken batch is durable (ARCP_OK) or could not be written. When it could not, the engine shows
 * nothing of it, closes the sessions' links with INTERNAL_ERROR, stops reading agents, and hands
 * the same batch out again after a pause. */
void arcp__engine_committed(arcp__engine *engine, arcp_time now, uint64_t batch_id,
                            arcp_status status);
/* The result of a READ effect, as the store returned it. */
void arcp__engine_read_done(arcp__engine *engine, arcp_time now, uint64_t read_id,
                            arcp_status status, uint64_t first, const arcp_span *records,
                            size_t count);

/* Restart: pass every row of the tables SESSIONS, JOBS, IDEMPOTENCY, SUBSCRIPTIONS, CREDENTIALS,
 * SCHEDULES and OUTBOX in any order, then call restore_done once, before the first link. Jobs that
 * were running end as INTERNAL_ERROR, but those on workers wait for these (job/job_worker.h);
 * credentials are revoked, and jobs with one end; queued jobs start when their agents are
 * registered. ARCP_E_CORRUPT for a row that cannot be read (the message names it).
 */
ARCP_MUST_CHECK arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table,
                                                     arcp_span key, arcp_span value,
                                                     arcp_error *err);
void arcp__engine_restore_done(arcp__engine *engine, arcp_time now);
/* False from restore_done until the READ effects that it caused are done: no link may be connected
 * before this is true. */
bool arcp__engine_is_restored(const arcp__engine *engine);
/* Why the restore failed: a READ failed, something stored is damaged (ARCP_E_CORRUPT; the message
 * names it), or memory ran out. The engine can then only be freed, and no batch of it may be
 * written. ARCP_OK while nothing has failed. */
ARCP_MUST_CHECK arcp_status arcp__engine_restore_status(const arcp__engine *engine,
                                                        arcp_error *err);

/* ---- agents at work ---- */

/* The agent of a START_AGENT effect runs, or it could not be started (then `status` is not ARCP_OK,
 * `message` is for people, and the job ends). The first line, output, message or exit of an agent
 * also shows that it runs; a start reported after that is ignored. */
void arcp__engine_agent_started(arcp__engine *engine, arcp_time now, arcp__job *job,
                                arcp_status status, arcp_span message);

/* Numbers: a host whose agents may outlive the engine numbers what they say (job/job_number.h),
 * from 1 on for each job. After a new link or a restart the host passes on again what the engine
 * has not said it need not keep. The engine ignores a number that it has taken, and an item that
 * does not follow the last one. `item` 0: the host does not number. */

/* One line of an agent's standard output, without its line feed (man/arcp-agent.7). */
void arcp__engine_agent_line(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                             arcp_span text);
/* A line was longer than the limit; the job ends. */
void arcp__engine_agent_line_too_long(arcp__engine *engine, arcp_time now, arcp__job *job,
                                      uint64_t item);
/* A line for the job's log. */
void arcp__engine_agent_log(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                            const char *level, arcp_span text);
/* An item that says nothing to the engine. */
void arcp__engine_agent_noted(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item);
/* Raw output of a `plain` agent, which has written `end` bytes with these (0: not numbered); ended
 * with agent_exited. */
void arcp__engine_agent_output(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t end,
                               arcp_span bytes);
/* A line of a `plain` agent's standard error, with a number of its own (or 0), for the job's log;
 * it is kept, too, as by agent_stderr. */
void arcp__engine_agent_error_line(arcp__engine *engine, arcp_time now, arcp__job *job,
                                   uint64_t number, arcp_span text, bool is_shown);

/* A line of another agent's standard error, which is kept for those who may read it; `is_shown`:
 * the submitter may. It is no sign of life of a job whose agent does not report. */
void arcp__engine_agent_stderr(arcp__engine *engine, arcp_time now, arcp__job *job, arcp_span line,
                               bool is_shown);

/* A message of an agent that used the job's port on another thread (core/job_port.h): the decision
 * was made and the budgets were charged there. */
void arcp__engine_agent_message(arcp__engine *engine, arcp_time now, arcp__job *job,
                                const arcp__job_message *message);

/* The sandbox of the agent's program denied an operation. The engine counts and audits it, and
 * makes an event of it: of each operation one, at most enforce.denials_per_job. */
void arcp__engine_agent_denied(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                               const arcp__denial *denial);

/* What the host of a job need not keep: all of its effects are durable, or it had none. All zeros
 * when nothing of the job has a number. */
void arcp__engine_get_kept(const arcp__engine *engine, arcp__job *job, arcp__job_kept *out);

/* ---- workers (job/job_worker.h) ---- */

/* Jobs of agents that have a worker get <directory>/<job id> as cwd, in place of one in the
 * engine's work directory; for jobs that are made later. Absolute. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__engine_set_worker_directory(arcp__engine *engine,
                                                              arcp_span directory, arcp_error *err);
/* A worker said hello. For each job that it has worker_claims follows, then worker_ready: effects
 * then start jobs that were placed on it and that it does not have, and give again what the others
 * do not have. The agents that it offers take the place of those that it has offered before. False:
 * its name or instance is not valid, or another life of it is connected and does not drain. */
bool arcp__engine_worker_joins(arcp__engine *engine, arcp_time now,
                               const arcp__worker_intro *intro);
/* `host` becomes job->live->host. *job is set unless the answer is FORGET. */
arcp__claim_answer arcp__engine_worker_claims(arcp__engine *engine, arcp_time now,
                                              arcp__worker_life life,
                                              const arcp__worker_claim *claim, void *host,
                                              arcp__job **job);
void arcp__engine_worker_ready(arcp__engine *engine, arcp_time now, arcp__worker_life life);
/* The worker's link has ended. No effect about its agents follows but FORGET_AGENT. */
void arcp__engine_worker_away(arcp__engine *engine, arcp_time now, arcp__worker_life life);
/* The programs of a life of the worker (no instance: of all lives) are dead, for certain: their
 * jobs end. Also the operator's word that they are. */
void arcp__engine_worker_lost(arcp__engine *engine, arcp_time now, arcp__worker_life life);
/* This life is away, and speaks no version of the protocol that the runtime does: its jobs are lost
 * as worker_too_old when it must have killed them. */
void arcp__engine_worker_too_old(arcp__engine *engine, arcp_time now, arcp__worker_life life);
/* The worker (no instance: all lives of that name) gets no new jobs from now on. */
void arcp__engine_worker_drains(arcp__engine *engine, arcp_time now, arcp__worker_life life);
/* The worker takes no job now, not even this one, whose START_AGENT it got: the job waits again, as
 * the next one. The host has forgotten its agent, and no FORGET_AGENT follows unless the job has
 * ended. */
void arcp__engine_agent_refused(arcp__engine *engine, arcp_time now, arcp__job *job);
/* For operators: the worker with this index, and one of the agents that it offers, from 0 on.
 * False: there is none. */
bool arcp__engine_worker_view(const arcp__engine *engine, size_t index, arcp__worker_view *out);
bool arcp__engine_worker_agent_view(const arcp__engine *engine, size_t index, size_t agent,
                                    arcp__worker_agent_view *out);
/* The worker has written the lines up to `at` to the job's agent. */
void arcp__engine_agent_got(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t at);

/* The agent has exited; nothing more comes from it. The engine then releases it (FORGET_AGENT). */
void arcp__engine_agent_exited(arcp__engine *engine, arcp_time now, arcp__job *job,
                               const arcp__agent_exit *end);

/* The operator's settings for all job ports; lives as long as the engine. */
const arcp__job_gates *arcp__engine_gates(const arcp__engine *engine);

/* ---- credentials ---- */

/* The request of a PROVISION effect. `out` borrows from the engine until its next call;
 * arcp__engine_provision_sent ends the loan and wipes the secret in it. */
arcp__provision_verb arcp__engine_provision_request(arcp__engine *engine, uint64_t call_id,
                                                    arcp_provision_request *out);
void arcp__engine_provision_sent(arcp__engine *engine);
/* The provisioner's response. A call that could not be made is REFUSED (issue, rotate) or UNKNOWN
 * (revoke, usage). Responses to calls that are not under way are ignored. */
void arcp__engine_provisioned(arcp__engine *engine, arcp_time now,
                              const arcp_provision_result *result);

/* ---- time ---- */

void arcp__engine_tick(arcp__engine *engine, arcp_time now);
/* On the monotonic clock; ARCP_TIME_NEVER when nothing is armed. */
int64_t arcp__engine_deadline(const arcp__engine *engine);

/* Begins to stop: new links are refused; running jobs get shutdown.grace_sec and then end as
 * INTERNAL_ERROR; when no job is left, links get 5 s to receive the last events and are closed with
 * GOING_AWAY. A second call ends the current one of these two periods at once.
 *
 * With `keeps_jobs` jobs on workers count as none: they go on without the runtime, and links get
 * half a second. A second call without it ends these jobs, too. */
void arcp__engine_shutdown(arcp__engine *engine, arcp_time now, bool keeps_jobs);
/* Jobs that a stop that keeps jobs leaves to their workers. */
size_t arcp__engine_jobs_on_workers(const arcp__engine *engine);
/* After shutdown with `keeps_jobs`: only jobs on workers are left. The owner takes nothing more
 * from workers and reports all as away. */
bool arcp__engine_leaves_workers(const arcp__engine *engine);
/* After shutdown: no job, agent or link is left but those that go on, and nothing is to be written.
 * For a failed engine: every link was sent its close. */
bool arcp__engine_is_finished(const arcp__engine *engine);
/* True when a small allocation failed, or a batch ended with ARCP_E_FENCED. The current input may
 * be half done, so the engine takes no more inputs and hands out no batch; its effects are the
 * remaining log lines and then the close (1011) of each link. Nothing that is stored is lost: the
 * owner frees this engine, ends its agents and makes a new engine from the store. Data whose size a
 * peer or an agent chooses is refused before that: its link is closed, or its job ends
 * (docs/decisions/0017). */
bool arcp__engine_has_failed(const arcp__engine *engine);
/* Why it has failed: another process owns the store. */
bool arcp__engine_is_fenced(const arcp__engine *engine);
/* True when the store has failed so many times in a row that a shutdown does not wait for it. */
bool arcp__engine_store_is_lost(const arcp__engine *engine);

/* ---- effects ---- */

/* Effects and their parameters: log/log.h. What hosts may read of a job: job/job.h. */

/* The next effect; false when there is none for now. */
bool arcp__engine_next_effect(arcp__engine *engine, arcp_time now, arcp__effect *out);

/* Only the next LOG effect, which is valid until the next call of either function. An audit line
 * must be handed out before the batch that shows the decision is submitted, and this need not wait
 * until all effects are done. */
bool arcp__engine_next_line(arcp__engine *engine, arcp__effect *out);

/* Only the next FORGET_AGENT. It waits for nothing and nothing waits for it, so the owner calls
 * this last, before it sleeps. */
bool arcp__engine_next_forgotten(arcp__engine *engine, arcp__effect *out);

/* Figures for metrics and tests. */
typedef struct arcp__engine_stats {
    uint64_t credentials_outstanding; /* issued, or possibly issued, and not known to be revoked */
    uint64_t credentials_stuck;       /* of these: revocation failed several times */
    uint64_t sessions;
    uint64_t sessions_connected;
    uint64_t jobs_running; /* or queued */
    uint64_t jobs_queued;
    uint64_t jobs_kept;
    uint64_t events;
    uint64_t denials;
    size_t tail_bytes;
    size_t store_queue_bytes;
} arcp__engine_stats;
void arcp__engine_get_stats(const arcp__engine *engine, arcp__engine_stats *out);
/* Appends all figures in Prometheus' text format. */
void arcp__engine_write_metrics(const arcp__engine *engine, arcp_buf *out);
/* Appends a line for each object and what it waits for: one JSON object per line, of each kind at
 * most `lines_max`, and last how many were left out. No secrets (context/dump.h). */
void arcp__engine_write_state(const arcp__engine *engine, arcp_time now, size_t lines_max,
                              arcp_buf *out);
/* Whether new sessions and jobs are accepted; `why` gets the reason when they are not, else
 * NULL. */
bool arcp__engine_is_ready(const arcp__engine *engine, const char **why);

#endif
