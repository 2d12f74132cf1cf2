/* The gateway's side of a call, for the services that answer it (models, tools). All functions, and
 * all functions of a service except where its comment says otherwise, are called on the gateway's
 * thread.
 *
 *   request ──> respond, or write ... end ──┐
 *     │                                     ├──> done ──> freed
 *     └──> dropped: the client went away ───┘
 *          end: the job's call must end now
 *
 * A call belongs to its service from `request` until the service calls arcp__gateway_call_done,
 * which it does exactly once, after it has responded (or lost the client) and after it has settled
 * what the call has cost. A call may outlive its client's connection. */
#ifndef ARCP_GATEWAY_GATEWAY_JOB_H
#define ARCP_GATEWAY_GATEWAY_JOB_H

#include "gateway/gateway.h"
#include "web/server.h"

typedef struct arcp__gateway_call arcp__gateway_call;

struct arcp__gateway_service {
    /* ---- any thread: the configuration ---- */
    void (*ref)(void *configuration);
    void (*unref)(void *configuration);

    /* ---- the gateway's thread ---- */
    /* Makes the service. The first reference of `configuration` is the gateway's: it is valid until
     * `configure` passes another one, or until `close`. */
    arcp_status (*open)(arcp__gateway *gateway, void *configuration, void **out, arcp_error *err);
    void (*configure)(void *service, void *configuration);
    /* No call and no job is left. The service frees itself; its handles may close later. */
    void (*close)(void *service);

    /* A request of an open job is complete: its head is that of call->exchange, its body call->body
     * (empty, if it has none). The service checks path and method, too. */
    void (*request)(void *service, arcp__gateway_call *call);
    /* All that was written so far has been sent. */
    void (*drained)(void *service, arcp__gateway_call *call);
    /* The client went away: call->exchange is NULL. */
    void (*dropped)(void *service, arcp__gateway_call *call);
    /* What the call holds is durable (arcp__gateway_job_message with a hold_id). NULL: the service
     * stores nothing. */
    void (*hold_stored)(void *service, arcp__gateway_call *call);
    /* The call must end now, because its job ends or is cancelled (ARCP_E_CLOSED), has expired
     * (ARCP_E_LEASE_EXPIRED), or goes on without the runtime (ARCP_E_IO): close what is open
     * upstream, settle, respond if that has not begun, and call arcp__gateway_call_done, at once or
     * soon. Called at most once for a call. */
    void (*end)(void *service, arcp__gateway_call *call, arcp_status why);
    /* The job is closed and its last call is done. The service frees job->states[kind]. May be
     * NULL. */
    void (*job_over)(void *service, arcp__gateway_job *job);

    /* ---- the runtime's thread ---- */
    /* Appends metrics in Prometheus' text format; the service protects what it reads. NULL: none.
     */
    void (*write_metrics)(void *service, arcp_buf *out);
};

/* A job, as far as services read it. */
struct arcp__gateway_job {
    arcp__gateway *gateway;
    arcp_authority *authority; /* a reference */
    arcp__job_port port;       /* of the gateway's thread */
    char *id, *tree_id, *principal, *agent, *traceparent;
    void *states[ARCP__GATEWAY_KINDS]; /* each is its service's own; NULL at first */
    bool is_confined, makes_spans, has_purse, stores_holds;
    struct arcp__gateway_job_parts *parts; /* of gateway*.c */
};

/* How a client reads errors. */
typedef enum arcp__gateway_form {
    ARCP__GATEWAY_FORM_OPENAI,
    ARCP__GATEWAY_FORM_ANTHROPIC,
    ARCP__GATEWAY_FORM_MCP
} arcp__gateway_form;

struct arcp__gateway_call {
    arcp__gateway_job *job;
    arcp__gateway_kind kind;
    arcp__web_exchange *exchange; /* NULL: the response is complete, or the client went away */
    arcp_buf body;                /* of the request */
    arcp_span path;               /* without the query; valid as long as the call */
    char id[40];                  /* "call_..." */
    void *state;                  /* the service's own */

    /* Of gateway*.c. */
    arcp__gateway_call *prev, *next; /* of its job */
    uint64_t buffered;               /* bytes of the body that count against buffer_bytes */
    arcp__gateway_form form;         /* of errors */
    bool is_requested;               /* it belongs to its service */
    bool was_ended;                  /* `end` was called */
};

/* ---- the gateway ---- */

uv_loop_t *arcp__gateway_loop(const arcp__gateway *gateway);
const arcp__gateway_limits *arcp__gateway_limits_of(const arcp__gateway *gateway);
/* The client for upstream connections; NULL: there is none. */
arcp__web_client *arcp__gateway_client(const arcp__gateway *gateway);
const arcp__web_client_ops *arcp__gateway_client_ops(const arcp__gateway *gateway);
/* The time of the loop's turn, for arcp_authorize and expiry. */
arcp_time arcp__gateway_now(const arcp__gateway *gateway);
/* Counts bytes that a service keeps (a response that is held back, a queue) against buffer_bytes.
 * False: they do not fit. */
ARCP_MUST_CHECK bool arcp__gateway_buffer_take(arcp__gateway *gateway, uint64_t bytes);
void arcp__gateway_buffer_give(arcp__gateway *gateway, uint64_t bytes);

/* ---- jobs ---- */

/* Asks the gate. A denial is queued (arcp__gateway_job_deny), a grant if the settings want it.
 * `details` (may be NULL) gets the details of a denial, a JSON object. Also false when the job has
 * ended (ARCP_E_CLOSED). */
ARCP_MUST_CHECK bool arcp__gateway_job_authorize(arcp__gateway_job *job, arcp_span capability,
                                                 arcp_span target, arcp_buf *details,
                                                 arcp_error *err);

/* Queues a message for the engine; texts and reports are copied. False: out of memory, the message
 * is lost; a cost stays charged to the budgets. */
bool arcp__gateway_job_message(arcp__gateway_job *job, const arcp__job_message *message);
/* The same for an event without a cost. */
void arcp__gateway_job_emit(arcp__gateway_job *job, arcp_event_kind kind, arcp_span body);
/* Queues a denial of layer "gateway". The engine makes one event of each distinct one. */
void arcp__gateway_job_deny(arcp__gateway_job *job, arcp_status code, arcp_span capability,
                            arcp_span target, arcp_span reason);
/* Calls of the job that are under way, the one that begins included. */
size_t arcp__gateway_job_calls(const arcp__gateway_job *job);

/* ---- calls ---- */

/* Respond to the call; afterwards, or after _end, call->exchange is NULL. Nothing happens when the
 * client went away. A streamed response is written in pieces; `drained` follows. */
void arcp__gateway_call_respond(arcp__gateway_call *call, const arcp__web_response *response);
void arcp__gateway_call_write(arcp__gateway_call *call, arcp_span piece);
void arcp__gateway_call_end(arcp__gateway_call *call);
/* Closes the client's connection: a streamed response that cannot be completed. */
void arcp__gateway_call_break(arcp__gateway_call *call);
/* Bytes of the response that the system has not accepted yet. */
size_t arcp__gateway_call_unsent(const arcp__gateway_call *call);

/* Responds with an error in the form that the client reads: Anthropic's for /v1/messages and for
 * requests with anthropic-version, OpenAI's for the rest of /v1, JSON-RPC's else. `code` is the
 * machine's word ("permission_denied"), and the header x-arcp-code. All but 429 and 503 have
 * x-should-retry: false; 429 has retry-after: 5. */
void arcp__gateway_call_refuse(arcp__gateway_call *call, int status, const char *code,
                               arcp_span message);

/* Frees call->body before the call is done, and the memory counts no more. */
void arcp__gateway_call_forget_body(arcp__gateway_call *call);

/* The call is settled. It is freed; if it was not answered, the client's connection is closed. */
void arcp__gateway_call_done(arcp__gateway_call *call);

#endif
