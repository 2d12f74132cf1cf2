/* Whatever acts for a job (a program through its lines, a callback of the embedding program) uses
 * the job's port, which makes all checks in one place:
 *
 *   authority  `authority`: what the job may do
 *   emit       arcp__job_port_emit: checks the event's form, denied calls and the gate
 *   deny       arcp__job_port_authorize, and arcp__job_port_refuse for a denied call
 *   spend      arcp__job_port_spend
 *   end        arcp__job_port_end: ends the authority together with the job
 *
 * Each of them decides on the calling thread, which is safe because leases are immutable, gates are
 * atomic and budget counters have a lock, and fills in a message, which is then passed to the
 * engine on its own thread (arcp__engine_agent_message). Only one thread at a time uses a port, but
 * any thread may call arcp__job_port_end. */
#ifndef ARCP_CORE_JOB_PORT_H
#define ARCP_CORE_JOB_PORT_H

#include <stdatomic.h>

#include <arcp/gate.h>
#include <arcp/wire.h>

#include "json/json.h"

/* Reports of one spend: at most one per budget of a chain, which has at most 64. */
#define ARCP__JOB_PORT_REPORTS_MAX 80u

/* The operator's settings for all ports; set by the engine's thread. */
typedef struct arcp__job_gates {
    atomic_bool are_closed; /* the audit log cannot be written, and the settings require it */
    atomic_bool grants_are_logged; /* audit.grants */
    atomic_bool must_record;       /* audit.on_failure is deny */
} arcp__job_gates;

#define ARCP__DENIED_CALLS_MAX 256u

/* The denied calls of a job, whose result the runtime has recorded: the agent may not record
 * another one, so that no record shows a result for a denied call. The last ARCP__DENIED_CALLS_MAX
 * are kept, as hashes of their ids. */
typedef struct arcp__denied_calls {
    uint64_t *hashes; /* owned; NULL until the first denial */
    size_t count;
    size_t next; /* the index to use next: of the oldest, once the array is full */
} arcp__denied_calls;

typedef struct arcp__job_port {
    const arcp_authority *authority; /* borrowed, like `gates` */
    const arcp__job_gates *gates;
    arcp__denied_calls denied;
    /* Calls through a gateway, whose costs are charged already: an agent's own metric that names
     * one of them is shown, and not charged again. */
    arcp__denied_calls charged;
    atomic_bool is_over;
} arcp__job_port;

/* A call through a gateway that has ended, for a span. */
typedef struct arcp__job_call {
    const char *name;  /* of the span: "arcp.model"; static */
    arcp_span id;      /* "call_..." */
    arcp_span target;  /* the model, or the tool */
    arcp_span server;  /* the provider, or the server of tools */
    arcp_span error;   /* a word, or a status; empty: it was answered */
    arcp_span span_id; /* 16 hex digits */
    int64_t start_wall_ns, end_wall_ns;
} arcp__job_call;

/* Borrows from the port's authority, from the arguments and from the buffers that were passed with
 * them. */
typedef struct arcp__job_message {
    bool is_decided;        /* `decision` must be recorded: a denial, or a grant that is logged */
    arcp_decision decision; /* set even if it need not be recorded */
    arcp_event_kind kind;
    arcp_span kind_text;
    arcp_span body; /* compact JSON; empty: no event */
    /* The cost that a metric reports, even without a budget; an empty unit: none. */
    arcp_span unit;
    arcp_decimal amount;
    bool is_spent; /* charged to a budget */
    const arcp_budget_report *reports;
    size_t report_count;
    /* A hold that the store must have before its call may go: its id, and the amounts as a JSON
     * object, {"USD":"0.5"}; or, without amounts, its end. Empty: none. */
    arcp_span hold_id, held;
    arcp_span charged_id;       /* the call whose cost this is, charged by a gateway; empty: none */
    const arcp__job_call *call; /* NULL: there is no span to be made */
} arcp__job_message;

/* An event to be emitted, and buffers for the result. */
typedef struct arcp__job_port_event {
    arcp_span kind;
    const arcp_json *json;
    arcp_json_ref body;
    arcp_buf *scratch; /* has enough capacity for all strings of the body */
    arcp_buf *out;     /* the message's body is appended; out->failed: out of memory */
    arcp_buf *details; /* the details of a denial are appended */
} arcp__job_port_event;

void arcp__job_port_fini(arcp__job_port *port);

/* From now on nothing is allowed: the gate answers ARCP_E_CLOSED. Any thread. */
void arcp__job_port_end(arcp__job_port *port);

/* ARCP_E_INTERNAL_ERROR while the audit log cannot be written and the settings require it. */
ARCP_MUST_CHECK arcp_status arcp__job_gates_check(const arcp__job_gates *gates, arcp_error *err);

/* Asks the gate. False: `err` says why, and `details` (may be NULL) gets a denial's details. The
 * message must be passed to the engine if `is_decided`. */
ARCP_MUST_CHECK bool arcp__job_port_authorize(const arcp__job_port *port, arcp_time now,
                                              arcp_span capability, arcp_span target,
                                              arcp_target_scratch *scratch, arcp_buf *details,
                                              arcp__job_message *out, arcp_error *err);

/* Checks an event (arcp__event_check). A tool_call must pass the gate; if it is denied, the event
 * becomes a tool_result with the denial, which only the runtime may emit. The status is for the
 * reply to the agent; the message must be passed to the engine if it has a body. */
ARCP_MUST_CHECK arcp_status arcp__job_port_emit(arcp__job_port *port, arcp_time now,
                                                const arcp__job_port_event *event,
                                                arcp__job_message *out, arcp_error *err);

/* Writes the tool_result of a denied call and adds the call to port->denied. out->failed: out of
 * memory. */
void arcp__job_port_refuse(arcp__job_port *port, arcp_span call_id, const arcp_error *error,
                           arcp_span details, arcp_buf *out);

/* False when out of memory; the call is then not added. An empty id is ignored. */
ARCP_MUST_CHECK bool arcp__denied_calls_add(arcp__denied_calls *calls, arcp_span call_id);
/* Adds a call that was stored. */
ARCP_MUST_CHECK bool arcp__denied_calls_add_hash(arcp__denied_calls *calls, uint64_t hash);

/* Charges the message's cost to the budgets; to be called once it is certain that the message is
 * passed to the engine. `reports` has space for ARCP__JOB_PORT_REPORTS_MAX. */
void arcp__job_port_spend(const arcp__job_port *port, arcp__job_message *message,
                          arcp_budget_report *reports);

/* Makes an error of a denial; `details` (may be NULL) gets its details. */
void arcp__decision_error(const arcp_authority *authority, const arcp_decision *decision,
                          arcp_buf *details, arcp_error *err);

#endif
