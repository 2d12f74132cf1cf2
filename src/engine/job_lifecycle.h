/* The life of a job and of its agent, as two state machines that run beside each other.
 *
 * The job's status (§7.3), which everybody sees:
 *
 *     PENDING ── the agent runs ──> RUNNING ── its result ──> SUCCESS
 *        │                             │
 *        └── a failure, a cancel, a deadline ──> ERROR, CANCELLED, TIMED_OUT
 *
 * A job ends once, with the first that comes of the agent's result or error, its exit, a cancel, a
 * deadline, the lease's expiry, the parent's end, and the runtime's stop.
 *
 * The agent, of which only its host knows:
 *
 *     NONE ── START_AGENT is queued ──> STARTING ── it runs ──> RUNNING
 *                                          │                       │
 *                                          └── it could not ──> GONE <── its exit
 *                                                                  │
 *                     RELEASED <── the host has let go of it ──────┘
 *
 * An agent that says something runs, whether its host told of its start or not. A job may end
 * before its agent is gone: the agent is then told to stop and, after the grace, to die. A job that
 * ends without an agent goes from NONE to RELEASED. What both need is freed when the job has ended
 * and its agent is RELEASED. */
#ifndef ARCP_ENGINE_JOB_LIFECYCLE_H
#define ARCP_ENGINE_JOB_LIFECYCLE_H

#include <arcp/wire.h>

typedef enum arcp__agent_state {
    ARCP__AGENT_NONE,
    ARCP__AGENT_STARTING,
    ARCP__AGENT_RUNNING,
    ARCP__AGENT_GONE,    /* FORGET_AGENT is due, or at its host */
    ARCP__AGENT_RELEASED /* nobody has it any more */
} arcp__agent_state;

/* What an agent was told; each is told once. */
typedef enum arcp__agent_stop {
    ARCP__AGENT_STOP_NONE,
    ARCP__AGENT_STOP_ASKED, /* CANCEL_AGENT */
    ARCP__AGENT_STOP_KILLED /* KILL_AGENT */
} arcp__agent_stop;

/* Whether a job whose status is `from` may get the status `to`. */
bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to);

/* The same of an agent. */
bool arcp__agent_state_may_become(arcp__agent_state from, arcp__agent_state to);

#endif
