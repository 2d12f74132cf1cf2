/* What acts for a job (a program by its lines, a callback of the embedding program) asks and says
 * through the job's port. The checks stand here once:
 *
 *   authority  what the job holds: `authority`
 *   emit       arcp__job_port_emit: the event's shape, refused calls, the gate
 *   deny       arcp__job_port_authorize, and arcp__job_port_refuse for a call that is refused
 *   spend      arcp__job_port_spend
 *   end        arcp__job_port_end: the authority ends with the job
 *
 * Each decides on the calling thread, because leases are immutable, gates are atomic and the
 * counters of a budget have a lock, and fills a message: what the engine has to be told, on its own
 * thread, by arcp__engine_agent_says. A port is used by one thread at a time; only
 * arcp__job_port_end may be called by another. */
#ifndef ARCP_CORE_JOB_PORT_H
#define ARCP_CORE_JOB_PORT_H

#include <stdatomic.h>

#include <arcp/gate.h>
#include <arcp/json.h>
#include <arcp/wire.h>

/* A spend reports from a chain of budgets: depth at most 64, one counter each. */
#define ARCP__JOB_PORT_REPORTS_MAX 80u

/* What the operator wants of all ports; set by the engine's thread. */
typedef struct arcp__job_gates {
    atomic_bool are_shut;          /* decisions cannot be recorded, and must be */
    atomic_bool grants_are_logged; /* audit.grants */
    atomic_bool must_record;       /* audit.on_failure is deny */
} arcp__job_gates;

#define ARCP__DENIED_CALLS_MAX 256u

/* Which calls of a job the runtime has answered itself, with a denial: the agent may not
 * answer them again, so that no record shows a result for a call that was refused. The last
 * ARCP__DENIED_CALLS_MAX are remembered, by hashes of their ids. */
typedef struct arcp__denied_calls {
    uint64_t *hashes; /* owned; NULL until the first denial */
    size_t count;
    size_t next; /* the oldest, once all places are used */
} arcp__denied_calls;

typedef struct arcp__job_port {
    const arcp_authority *authority; /* borrowed, as the next */
    const arcp__job_gates *gates;
    arcp__denied_calls denied;
    atomic_bool is_over;
} arcp__job_port;

/* Borrows from the port's authority, from what was asked and from the buffers that came with it. */
typedef struct arcp__job_message {
    bool is_decided; /* the gate's answer is to be recorded: a denial, or a grant that is logged */
    arcp_decision decision; /* also when it is not */
    arcp_event_kind kind;
    arcp_span kind_text;
    arcp_span body; /* compact JSON; empty: no event */
    /* What a metric said that something cost; an empty unit: nothing. Also without a budget. */
    arcp_span unit;
    arcp_decimal amount;
    bool is_spent; /* taken from a budget */
    const arcp_budget_report *reports;
    size_t report_count;
} arcp__job_message;

/* An event that is to be emitted, and room for what becomes of it. */
typedef struct arcp__job_port_event {
    arcp_span kind;
    const arcp_json *json;
    arcp_json_ref body;
    arcp_buf *scratch; /* has room for all strings of the body */
    arcp_buf *out;     /* the message's body is appended; `failed`: no memory for it */
    arcp_buf *details; /* of a denial are appended */
} arcp__job_port_event;

void arcp__job_port_fini(arcp__job_port *port);

/* Nothing is allowed any more: the gate answers ARCP_E_CLOSED. Any thread. */
void arcp__job_port_end(arcp__job_port *port);

/* ARCP_E_INTERNAL_ERROR while decisions cannot be recorded and must be. */
ARCP_MUST_CHECK arcp_status arcp__job_gates_check(const arcp__job_gates *gates, arcp_error *err);

/* Asks the gate. False: `err` says why, and `details` (may be NULL) gets a denial's details. The
 * message is to be told when `is_decided`. */
ARCP_MUST_CHECK bool arcp__job_port_authorize(const arcp__job_port *port, arcp_time now,
                                              arcp_span capability, arcp_span target,
                                              arcp_target_scratch *scratch, arcp_buf *details,
                                              arcp__job_message *out, arcp_error *err);

/* Checks an event (arcp__event_check). A tool_call passes the gate, or its refusal becomes the
 * event that is emitted: a tool_result, which the agent may not give itself. The status is
 * the agent's answer; the message is to be told when it has a body. */
ARCP_MUST_CHECK arcp_status arcp__job_port_emit(arcp__job_port *port, arcp_time now,
                                                const arcp__job_port_event *event,
                                                arcp__job_message *out, arcp_error *err);

/* Writes the tool_result of a call that is refused, and remembers the call. `out` fails without
 * memory. */
void arcp__job_port_refuse(arcp__job_port *port, arcp_span call_id, const arcp_error *error,
                           arcp_span details, arcp_buf *out);

/* False when out of memory: nothing is remembered. An empty id is no id. */
ARCP_MUST_CHECK bool arcp__denied_calls_add(arcp__denied_calls *calls, arcp_span call_id);

/* Takes what the message costs from the budgets, once it is certain that it will be told; `reports`
 * has room for ARCP__JOB_PORT_REPORTS_MAX. */
void arcp__job_port_spend(const arcp__job_port *port, arcp__job_message *message,
                          arcp_budget_report *reports);

/* A denial as an error, with its details (may be NULL). */
void arcp__decision_error(const arcp_authority *authority, const arcp_decision *decision,
                          arcp_buf *details, arcp_error *err);

#endif
