/* The engine: ARCP's protocol without I/O, clock or thread.
 *
 * It is told what happened (a frame came, a batch is durable, an agent wrote a line, time
 * passed) and says what should happen (send this frame, start this agent, write this
 * batch, wake me at this instant). Its owner, usually src/runtime, does it.
 *
 *   1. Call one of the inputs below with the time.
 *   2. Call arcp__engine_next_effect until it returns false, doing each effect at once.
 *   3. When the store has room, arcp__engine_take_batch and submit it.
 *   4. When peers were sent what there is, arcp__engine_next_forgotten until it returns false.
 *   5. Wait until arcp__engine_deadline at the latest, then arcp__engine_tick.
 *
 * Inputs never call back. Spans in effects live until the next call of any function here.
 * Durable before visible: an effect that shows state to a peer or an agent is handed out
 * only after the batch that records this state was reported committed.
 *
 * One thread at a time. Nothing is global: a process may have many engines.
 * docs/architecture.md. */
#ifndef ARCP_ENGINE_ENGINE_H
#define ARCP_ENGINE_ENGINE_H

#include <arcp/gate.h>
#include <arcp/settings.h>
#include <arcp/submit_policy.h>
#include <arcp/sys/provisioner.h>
#include <arcp/sys/store.h>
#include <arcp/time.h>
#include <arcp/wire.h>

#include "base/ulid.h"
#include "core/job_port.h"
#include "credential/credential.h"
#include "log/log.h"
#include "session/session.h"

typedef struct arcp__engine arcp__engine;

typedef struct arcp__engine_options {
    const char *runtime_name;    /* in the welcome; borrowed for the engine's life */
    const char *runtime_version; /* likewise */
    arcp_settings settings;
    arcp__random_fn random; /* a CSPRNG, or a seeded source in tests */
    void *random_user;
    bool store_is_durable;    /* else only records are written, no rows: nothing restarts from it */
    arcp_span work_directory; /* absolute: jobs get <it>/<job id> as cwd; empty: none */
    arcp__credential_options credentials;
    bool makes_spans; /* SPAN effects are wanted */
    bool has_no_log;  /* LOG effects are not: decisions are not put into words for nobody */
    arcp_time now;
} arcp__engine_options;

ARCP_MUST_CHECK arcp_status arcp__engine_new(const arcp__engine_options *options,
                                             arcp__engine **out, arcp_error *err);
void arcp__engine_free(arcp__engine *engine); /* NULL is accepted */

/* Replaces the settings (reload). Limits apply to what comes from now on. */
void arcp__engine_set_settings(arcp__engine *engine, const arcp_settings *settings);

/* Whether what was decided can be recorded. While it cannot and audit.on_failure is deny,
 * nothing is granted: submits, delegations, subscriptions and gates answer INTERNAL_ERROR. */
void arcp__engine_set_audit_failing(arcp__engine *engine, bool failing);

/* ---- agents ---- */

/* Makes name@version known. The first version of a name is its default unless a later
 * call says `is_default`. Registering the same name and version again replaces host and
 * cwd. ARCP_E_INVALID_REQUEST for bad grammar. */
ARCP_MUST_CHECK arcp_status arcp__engine_register_agent(arcp__engine *engine,
                                                        const arcp__agent_registration *agent,
                                                        arcp_error *err);
/* Forgets all agents (before a reload registers them anew); running jobs go on. */
void arcp__engine_clear_agents(arcp__engine *engine);
/* Calls `visit` with the host of each agent that is registered and of each job that may still need
 * its own; with some several times. The owner may let go of the others. */
void arcp__engine_visit_hosts(const arcp__engine *engine, void (*visit)(void *user, void *host),
                              void *user);

/* A row of the policy is added. */
ARCP_MUST_CHECK arcp_status arcp__engine_add_policy(arcp__engine *engine,
                                                    const arcp__policy *policy, arcp_error *err);
void arcp__engine_clear_policies(arcp__engine *engine);
/* The embedding program's own policy; NULL: none. Called from within inputs, as the functions
 * of the options are: it decides from its arguments, does no I/O and does not call the engine. */
void arcp__engine_set_submit_policy(arcp__engine *engine, arcp_submit_policy_fn ask, void *user);

/* Which peer profile a session gets. */
void arcp__engine_clear_peer_profiles(arcp__engine *engine);
ARCP_MUST_CHECK arcp_status arcp__engine_add_peer_profile(arcp__engine *engine,
                                                          const arcp__peer_profile_rule *rule,
                                                          arcp_error *err);

/* ---- links ---- */

/* A connection whose transport handshake is complete. NULL when out of memory. */
arcp__link *arcp__engine_connect(arcp__engine *engine, arcp_time now,
                                 const arcp__link_options *options);
/* False: the link takes no more frames for now, since its sender is not authenticated yet or does
 * not read its answers. Its owner keeps what has arrived, and goes on after RESUME_LINK. */
bool arcp__engine_receive(arcp__engine *engine, arcp_time now, arcp__link *link, arcp_span frame);
/* The last frame of the link took so long to handle. A principal whose frames are slow rests on all
 * of its links while others are connected: after true the owner asks arcp__engine_takes_frames of
 * each link. */
bool arcp__engine_frame_took(arcp__engine *engine, arcp_time now, arcp__link *link,
                             int64_t took_ns);
/* What arcp__engine_receive returns, without a frame. */
bool arcp__engine_takes_frames(arcp__engine *engine, arcp__link *link);
/* The transport has `unsent` bytes left of what it was given. */
void arcp__engine_drained(arcp__engine *engine, arcp_time now, arcp__link *link, size_t unsent);
/* The peer sends nothing more, and still reads: what it asked for is answered. The link is closed
 * as by a bye when its session has nothing left to tell it: no request without its answer, no job
 * that runs, no event that has not left. Its silence is not taken for a loss. */
void arcp__engine_input_over(arcp__engine *engine, arcp_time now, arcp__link *link);
/* Tells the operator, but not each time that an address is refused for the same. */
void arcp__engine_refused(arcp__engine *engine, arcp_time now, const arcp__refusal *refusal,
                          const char *reason);
/* The connection is gone; the link is freed. */
void arcp__engine_disconnect(arcp__engine *engine, arcp_time now, arcp__link *link);

/* The answer to an AUTHENTICATE effect: ARCP_OK with a principal; ARCP_E_INTERNAL_ERROR
 * when nobody can tell right now; anything else refuses. Ignored when the link has gone or
 * was closed meanwhile: limits.hello_timeout_sec goes on counting. */
void arcp__engine_authenticated(arcp__engine *engine, arcp_time now, uint64_t auth_id,
                                arcp_status status, arcp_span principal, bool is_anonymous);

/* ---- store ---- */

/* The batch that was filled, to be submitted now; NULL when there is nothing to write. It
 * stays valid until it is committed. Several may be under way; they commit in order. */
const arcp_store_batch *arcp__engine_take_batch(arcp__engine *engine);
/* How many changes wait to be taken, about. */
size_t arcp__engine_gathered(const arcp__engine *engine);
/* A taken batch is durable (ARCP_OK), or could not be written. In that case the engine
 * shows nothing of it, closes its sessions' links with INTERNAL_ERROR, reads no agent, and
 * hands the same batch out again after a pause. */
void arcp__engine_committed(arcp__engine *engine, arcp_time now, uint64_t batch_id,
                            arcp_status status);
/* The answer to a READ effect, as the store gave it. */
void arcp__engine_read_done(arcp__engine *engine, arcp_time now, uint64_t read_id,
                            arcp_status status, uint64_t first, const arcp_span *records,
                            size_t count);

/* Restart: feed every row of the tables SESSIONS, JOBS, IDEMPOTENCY, SUBSCRIPTIONS, CREDENTIALS in
 * any order, then restore_done once, before the first link. Jobs that were running end as
 * INTERNAL_ERROR, and what was issued for them is revoked. ARCP_E_CORRUPT for a row that cannot be
 * read (the message names it). */
ARCP_MUST_CHECK arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table,
                                                     arcp_span key, arcp_span value,
                                                     arcp_error *err);
void arcp__engine_restore_done(arcp__engine *engine, arcp_time now);
/* False between restore_done and the answers to the READ effects it caused: no link may be
 * connected before this is true. */
bool arcp__engine_is_restored(const arcp__engine *engine);
/* Why it never will be: a READ failed, something stored is damaged (ARCP_E_CORRUPT, named
 * in the message), or memory ran out. The engine can only be freed then, and no batch of it
 * may be written. ARCP_OK while all is well. */
ARCP_MUST_CHECK arcp_status arcp__engine_restore_status(const arcp__engine *engine,
                                                        arcp_error *err);

/* ---- agents at work ---- */

/* The agent of a START_AGENT effect runs; or it could not be started (then `status` is not
 * ARCP_OK, `message` is for people, and the job ends). The first line, output, message or exit of
 * an agent says that it runs as well; what is told of its start after that is ignored. */
void arcp__engine_agent_started(arcp__engine *engine, arcp_time now, arcp__job *job,
                                arcp_status status, arcp_span message);
/* One line of an agent's standard output, without its line feed (man/arcp-agent.7). */
void arcp__engine_agent_line(arcp__engine *engine, arcp_time now, arcp__job *job, arcp_span text);
/* A line was longer than the limit; the job ends. */
void arcp__engine_agent_line_too_long(arcp__engine *engine, arcp_time now, arcp__job *job);
/* Raw output of a `plain` agent; ended with agent_exited. */
void arcp__engine_agent_output(arcp__engine *engine, arcp_time now, arcp__job *job,
                               arcp_span bytes);
/* A line for the job's log, e.g. of a plain agent's standard error. */
void arcp__engine_agent_log(arcp__engine *engine, arcp_time now, arcp__job *job, const char *level,
                            arcp_span text);

/* What came through a port of the job that is not the engine's own: decided, and taken from the
 * budgets, on another thread (core/job_port.h). */
void arcp__engine_agent_says(arcp__engine *engine, arcp_time now, arcp__job *job,
                             const arcp__job_message *message);

/* The agent is gone; nothing more comes from it. After this the engine releases it. */
void arcp__engine_agent_exited(arcp__engine *engine, arcp_time now, arcp__job *job,
                               const arcp__agent_exit *exit);

/* What the operator wants of all ports; lives as long as the engine. */
const arcp__job_gates *arcp__engine_gates(const arcp__engine *engine);

/* ---- credentials ---- */

/* What a PROVISION effect asks for. `out` borrows from the engine until its next call;
 * arcp__engine_provision_asked ends that (and wipes what was secret in it). */
arcp__provision_verb arcp__engine_provision_request(arcp__engine *engine, uint64_t call_id,
                                                    arcp_provision_request *out);
void arcp__engine_provision_asked(arcp__engine *engine);
/* Its answer, as the provisioner gave it. A call that could not be made is REFUSED (issue,
 * rotate) or UNKNOWN (revoke, usage). Answers to calls that are not under way are ignored. */
void arcp__engine_provisioned(arcp__engine *engine, arcp_time now,
                              const arcp_provision_result *result);

/* ---- time ---- */

void arcp__engine_tick(arcp__engine *engine, arcp_time now);
/* On the monotonic clock; ARCP_TIME_NEVER when nothing is armed. */
int64_t arcp__engine_deadline(const arcp__engine *engine);

/* Stop: links that come are refused, running jobs have shutdown.grace_sec, then end as
 * INTERNAL_ERROR; links are closed with GOING_AWAY when no job is left and they were sent how the
 * last ones ended, for which they have 5 s. Asked again, what is left of these times is over. */
void arcp__engine_shutdown(arcp__engine *engine, arcp_time now);
/* After shutdown: no job, no agent, no link, nothing to write. Of a failed engine: every link was
 * told. */
bool arcp__engine_is_finished(const arcp__engine *engine);
/* A small allocation failed. What the input at hand began may be half done, so the engine takes no
 * more inputs and hands out no batch; its effects are the log's lines and then the close (1011) of
 * each link. Nothing is lost that a store has: the owner frees this engine, ends its agents and
 * makes another one from the store. What a peer or an agent makes large is refused before that:
 * its link is closed, or its job ends. (docs/decisions/0017) */
bool arcp__engine_has_failed(const arcp__engine *engine);
/* The store fails and goes on failing: a shutdown does not wait for it. */
bool arcp__engine_is_hopeless(const arcp__engine *engine);

/* ---- effects ---- */

/* What there is to do, and its parameters: log/log.h. What hosts may ask of a job: job/job.h. */

/* The next thing to do; false when there is nothing more for now. */
bool arcp__engine_next_effect(arcp__engine *engine, arcp_time now, arcp__effect *out);

/* Only the next LOG effect, which lives until the next call of either function: what was decided
 * has to be told before a batch that shows it is submitted, and that need not wait until all
 * effects are done. */
bool arcp__engine_next_line(arcp__engine *engine, arcp__effect *out);

/* Only the next FORGET_AGENT. It waits for nothing, and nobody waits for it: it comes when there is
 * time, which is before the owner waits. */
bool arcp__engine_next_forgotten(arcp__engine *engine, arcp__effect *out);

/* Figures for metrics and tests. */
typedef struct arcp__engine_stats {
    uint64_t credentials_outstanding; /* issued, or perhaps issued, and not known to be revoked */
    uint64_t credentials_stuck;       /* of these: revoking failed several times */
    uint64_t sessions;
    uint64_t sessions_connected;
    uint64_t jobs_running;
    uint64_t jobs_kept;
    uint64_t events;
    uint64_t denials;
    size_t tail_bytes;
    size_t store_queue_bytes;
} arcp__engine_stats;
void arcp__engine_get_stats(const arcp__engine *engine, arcp__engine_stats *out);
/* Appends all figures in Prometheus' text format. */
void arcp__engine_write_metrics(const arcp__engine *engine, arcp_buf *out);
/* Appends what there is and what each thing waits for: one JSON object per line, of each kind at
 * most `lines_max`, and last how many have none. No secrets (context/dump.h). */
void arcp__engine_write_state(const arcp__engine *engine, arcp_time now, size_t lines_max,
                              arcp_buf *out);
/* Whether sessions and jobs are taken; `why` says why not. */
bool arcp__engine_is_ready(const arcp__engine *engine, const char **why);

#endif
