/* The gateways of a runtime: an HTTP server on a thread of its own, for calls of jobs to models and
 * to tools. It knows whose call each one is, and passes it to a service (gateway_job.h), which
 * decides, forwards and settles it.
 *
 *   runtime's thread    open, end_calls, close ────────┐            ┌──> take, settle ──> engine
 *                                                      v            │
 *   gateway's thread    listener, keys ──> services ──> messages and denials
 *
 *   job    OPEN ── close ──> CLOSED ── its last call has ended ──> IDLE ── release ──> freed
 *
 * A call is accepted only while its job is OPEN. When the job is closed its keys are dead at once,
 * its calls are ended, and what they have cost is queued before it is IDLE.
 *
 * All functions are called on the runtime's thread. None waits for the other thread but
 * arcp__gateway_new, arcp__gateway_settle (with a limit) and arcp__gateway_free. */
#ifndef ARCP_GATEWAY_GATEWAY_H
#define ARCP_GATEWAY_GATEWAY_H

#include <uv.h>

#include <arcp/gate.h>
#include <arcp/sys/provisioner.h>

#include "core/job_port.h"
#include "web/client.h"

#define ARCP__GATEWAY_KEY_PREFIX  "sk-arcp-"
#define ARCP__GATEWAY_KEY_MAX     64u           /* bytes of a key, with its NUL */
#define ARCP__GATEWAY_URL_MAX     300u          /* bytes of a URL, with its NUL */
#define ARCP__GATEWAY_SANDBOX_KEY "sk-arcp-job" /* stands for a key in a sandbox; is not read */

typedef struct arcp__gateway arcp__gateway;
typedef struct arcp__gateway_job arcp__gateway_job;
typedef struct arcp__gateway_service arcp__gateway_service; /* gateway_job.h */

typedef enum arcp__gateway_kind {
    ARCP__GATEWAY_LLM, /* /v1/..., and HEAD / */
    ARCP__GATEWAY_MCP, /* / and /s/NAME */
    ARCP__GATEWAY_KINDS
} arcp__gateway_kind;

/* The settings `gateways`. */
typedef struct arcp__gateway_limits {
    uint64_t request_bytes;  /* of the body of one call */
    uint64_t buffer_bytes;   /* of all calls together */
    uint64_t response_bytes; /* of one response */
    uint32_t calls_per_job;  /* at once */
    uint32_t first_byte_ms;
    uint32_t idle_timeout_ms;
    uint32_t hold_wait_ms;
} arcp__gateway_limits;

/* What answers the calls of one kind. */
typedef struct arcp__gateway_provider {
    const arcp__gateway_service *service; /* static; NULL: none, and jobs get no such endpoint */
    /* Immutable, with a reference count of its own that any thread may change; the gateway takes a
     * reference by service->ref and ends it by service->unref. */
    void *configuration;
} arcp__gateway_provider;

typedef struct arcp__gateway_options {
    uv_async_t *wake;   /* is sent when there is something to take */
    const char *listen; /* "127.0.0.1:0"; NULL: nowhere, and all jobs are confined */
    const char *certificate_file, *key_file; /* NULL: without TLS */
    /* Under which others reach the listener: "https://HOST[:PORT]". NULL: its address. */
    const char *url;
    arcp__gateway_limits limits;
    const arcp__job_gates *gates; /* of the engine; borrowed as long as the gateway */
    /* For upstream connections; NULL: there is no client. Borrowed as long as the gateway. */
    const arcp__web_client_ops *client;
    arcp__web_client_options client_options; /* without a loop; copied */
    arcp__gateway_provider providers[ARCP__GATEWAY_KINDS];
} arcp__gateway_options;

/* ARCP_E_USAGE: the address or URL is invalid, the address is not loopback and has no TLS, a
 * certificate cannot be used, or a service refuses its configuration. ARCP_E_IO: it cannot listen.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__gateway_new(const arcp__gateway_options *options,
                                              arcp__gateway **out, arcp_error *err);

/* Ends the thread; all calls end, and nothing is delivered any more. All jobs must have been
 * released. NULL is accepted. */
void arcp__gateway_free(arcp__gateway *gateway);

/* The runtime stops, and jobs go on without it: calls from now on, and those that its end cuts off,
 * are refused with 503 and retry-after. */
void arcp__gateway_leave(arcp__gateway *gateway);

/* For calls that begin afterwards. A kind without a service at the start stays without one. */
void arcp__gateway_reload(arcp__gateway *gateway, const arcp__gateway_limits *limits,
                          void *const configurations[ARCP__GATEWAY_KINDS]);

/* Whether it has a service of this kind. */
bool arcp__gateway_has(const arcp__gateway *gateway, arcp__gateway_kind kind);

/* "127.0.0.1:40123", with the actual port; empty: it listens nowhere. Valid as long as the gateway.
 */
const char *arcp__gateway_address(const arcp__gateway *gateway);

/* ---- jobs ---- */

typedef struct arcp__gateway_denial {
    arcp_status code;     /* as the gate's: PERMISSION_DENIED, LEASE_EXPIRED, BUDGET_EXHAUSTED */
    arcp_span capability; /* "model.use" */
    arcp_span target;
    arcp_span reason; /* a word, "NO_MATCH", or one line */
} arcp__gateway_denial;

/* What a job's calls have led to, in its order. Valid during the call. */
typedef struct arcp__gateway_events {
    void (*message)(void *user, const arcp__job_message *message);
    void (*denied)(void *user, const arcp__gateway_denial *denial);
    void *user;
} arcp__gateway_events;

typedef struct arcp__gateway_job_options {
    const arcp_authority *authority; /* a reference is taken */
    /* These texts are copied. */
    arcp_span job_id;
    arcp_span principal;
    arcp_span agent;
    arcp_span traceparent;
    arcp_span tree_id; /* of the job at the top of its tree; empty: the job itself */
    bool makes_spans;  /* of its calls, as parts of the span that traceparent names */
    bool has_purse;    /* the topmost budget of its chain is a principal's, not one of a lease */
    bool stores_holds; /* a call waits until the runtime has stored what it holds */
    bool is_confined;  /* its connections come by arcp__gateway_serve; it gets no key */
    /* SHA-256 of the key of a job on a worker, which passes its calls on; NULL: it has none yet. */
    const unsigned char *digest;
    arcp__gateway_events events; /* called from arcp__gateway_take */
} arcp__gateway_job_options;

/* How the job's program reaches a gateway. An empty URL: there is none of this kind. */
typedef struct arcp__gateway_endpoint {
    char url[ARCP__GATEWAY_URL_MAX]; /* without a slash at its end */
    char key[ARCP__GATEWAY_KEY_MAX]; /* secret, unless it is ARCP__GATEWAY_SANDBOX_KEY */
} arcp__gateway_endpoint;

/* `endpoints` are the caller's to wipe. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status
arcp__gateway_open(arcp__gateway *gateway, const arcp__gateway_job_options *options,
                   arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS], arcp__gateway_job **out,
                   arcp_error *err);

/* Makes a key by which others than the job's program call the gateways as the job with this id.
 * It works while that job is open, which need not have begun; until then its calls are 503. `alias`
 * names it, up to ARCP_CREDENTIAL_ALIAS_MAX bytes; it must be ended by revoke or by the job's
 * close. `out` is the caller's to wipe. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__gateway_issue(arcp__gateway *gateway, arcp_span job_id,
                                                arcp_span alias, char out[ARCP__GATEWAY_KEY_MAX],
                                                arcp_error *err);

/* After a restart: a key that was issued before works again, as one that is issued now.
 * ARCP_E_NO_MEMORY, also for a key that is there already. */
ARCP_MUST_CHECK arcp_status arcp__gateway_adopt(arcp__gateway *gateway, arcp_span job_id,
                                                arcp_span alias, arcp_span key, arcp_error *err);

/* The key is dead when this returns. Does nothing for one that is dead already. */
void arcp__gateway_revoke(arcp__gateway *gateway, arcp_span job_id, arcp_span alias);

/* The URL under which others reach the listener, without a slash at its end. Valid as long as the
 * gateway. */
const char *arcp__gateway_url(const arcp__gateway *gateway);

/* Where workers reach the listener, which pass calls of jobs on: those of this machine, and all
 * others, for which a URL has to be configured. Empty: nowhere. Valid as long as the gateway. */
const char *arcp__gateway_local_url(const arcp__gateway *gateway);
const char *arcp__gateway_public_url(const arcp__gateway *gateway);

/* Serves a connection that the sandbox of the job has made to a gateway: the socket `fd`, which is
 * owned from now on. Any thread, as long as the job is not released, or is held. */
void arcp__gateway_serve(arcp__gateway_job *job, arcp__gateway_kind kind, int fd);

/* The hold of a call (arcp__job_message.hold_id) is durable: the call may go. */
void arcp__gateway_hold_stored(arcp__gateway_job *job, arcp_span call_id);

/* While a job is held its memory is not freed, also after its release: then arcp__gateway_serve
 * closes the socket. Any thread. */
void arcp__gateway_hold(arcp__gateway_job *job);
void arcp__gateway_drop(arcp__gateway_job *job);

/* Requests that the job's calls end; new ones are still accepted, and asked for at the gate. */
void arcp__gateway_end_calls(arcp__gateway_job *job);

/* Requests that the job's calls end. All its keys are dead when this returns. Does nothing the
 * second time. */
void arcp__gateway_close(arcp__gateway_job *job);

/* Closes the job, waits until it is idle, at most `wait_ms`, and passes what has been queued to
 * `events` instead of the job's own. False: it is not idle yet; what comes later is delivered by
 * arcp__gateway_take. */
bool arcp__gateway_settle(arcp__gateway_job *job, uint32_t wait_ms,
                          const arcp__gateway_events *events);

/* Closes the job if it was not closed. No event follows. NULL is accepted. */
void arcp__gateway_release(arcp__gateway_job *job);

/* Calls the events that are due. NULL is accepted. */
void arcp__gateway_take(arcp__gateway *gateway);

typedef struct arcp__gateway_counts {
    uint64_t calls;   /* requests that had a job and a service */
    uint64_t refused; /* requests that the gateway itself refused */
} arcp__gateway_counts;

/* What was counted since the start. All zero for NULL. */
arcp__gateway_counts arcp__gateway_count(arcp__gateway *gateway);

/* Appends the metrics of the services, in Prometheus' text format. NULL is accepted. */
void arcp__gateway_write_metrics(arcp__gateway *gateway, arcp_buf *out);

#endif
