/* What the files of the tool gateway share. Private to this folder's tool*.c; everything is of the
 * gateway's thread. */
#ifndef ARCP_GATEWAY_TOOL_PARTS_H
#define ARCP_GATEWAY_TOOL_PARTS_H

#include "base/hash.h"
#include "core/trace.h"
#include "egress/egress.h"
#include "gateway/gateway_job.h"
#include "gateway/tool_config.h"
#include "gateway/tool_counts.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_link.h"
#include "mcp/mcp_post.h"
#include "mcp/mcp_resource.h"
#include "process/process.h"

typedef struct arcp__tool_service_state arcp__tool_service_state;
typedef struct arcp__tool_call arcp__tool_call;
typedef struct arcp__tool_sandbox arcp__tool_sandbox;
typedef struct arcp__tool_remote arcp__tool_remote;

/* A server of one job, or of all.
 *
 *   STOPPED ──> STARTING ── listed ──> READY
 *      ^            └── failed, ended ──┴──> WAITING (back-off) ── time ──> STOPPED
 *
 * A server that is STOPPED is started when a request needs it. */
typedef enum arcp__tool_server_state {
    ARCP__TOOL_STOPPED,
    ARCP__TOOL_STARTING,
    ARCP__TOOL_READY,
    ARCP__TOOL_WAITING
} arcp__tool_server_state;

typedef struct arcp__tool_server {
    struct arcp__tool_server *prev, *next; /* of its owner */
    struct arcp__tool_server **owner;      /* the list that it is in */
    arcp__tool_service_state *service;
    arcp__gateway_job *job;    /* NULL: it is shared */
    arcp__tool_config *config; /* a reference */
    const arcp__tool_server_options *options;
    arcp__tool_server_state state;
    arcp__agent_process *process;
    arcp__tool_sandbox *sandbox; /* of the process; NULL: it has none */
    arcp__tool_remote *remote;   /* in place of a process */
    arcp__mcp_link *link;
    arcp_buf out;                     /* of the link: lines for the server */
    arcp__mcp_toolset *tools;         /* NULL: not listed */
    uv_timer_t timer;                 /* of the start, or of the back-off */
    unsigned failures;                /* in a row */
    bool is_leaving;                  /* it is freed when its process has ended */
    char why[ARCP_ERROR_MESSAGE_MAX]; /* its last failure */
} arcp__tool_server;

/* A request of a client. */
struct arcp__tool_call {
    struct arcp__tool_call *prev, *next; /* of the service */
    arcp__tool_service_state *service;
    arcp__gateway_call *call;  /* NULL: done */
    arcp__tool_config *config; /* a reference: that of the call's beginning */
    arcp__mcp_post post;
    arcp_span only;            /* the server of /s/NAME; empty: all */
    arcp__tool_server *server; /* to which it was sent; NULL: none, it waits for servers */
    uint64_t id;               /* at the link */
    arcp_buf target;           /* SERVER.TOOL, or SERVER.resources/read and the like */
    arcp_buf params;           /* of a FETCH: what the server gets, without braces */
    arcp__mcp_gather gather;   /* of a GATHER */
    size_t gathered;           /* servers whose lists were read, or left out */
    const arcp__mcp_price *price;
    bool is_held, is_streaming, has_said_call;
    uv_timer_t timer;
    uint64_t begun_ms;
    arcp__tool_outcome outcome;
    arcp_time sent_at;
    char span_id[ARCP__SPAN_ID_SIZE + 1]; /* "": its job makes no spans */
    const char *server_name;              /* of the configuration; "": there is no such server */
};

struct arcp__tool_service_state {
    arcp__gateway *gateway;
    arcp__tool_config *config; /* a reference */
    arcp__process_table *processes;
    arcp__tool_counts *counts;
    arcp__egress *egress;   /* NULL: no server has had a network yet */
    unsigned sandbox_count; /* so far */
    arcp__tool_server *shared;
    arcp__tool_server *leaving; /* their processes have not ended yet */
    arcp__tool_call *calls;
    uv_timer_t news;     /* runs once in the next turn when a server has become ready or failed */
    size_t open_handles; /* of calls, servers, and `news` */
    bool is_closing;
};

/* What the gateway keeps for a job. */
typedef struct arcp__tool_job {
    arcp__tool_server *servers;
    arcp__mcp_seen seen;
} arcp__tool_job;

/* ---- tool.c ---- */

/* NULL: out of memory. */
arcp__tool_job *arcp__tool_job_of(arcp__gateway_job *job);
/* A handle of a call or server was closed; the last one of a closed service frees it. */
void arcp__tool_handle_closed(arcp__tool_service_state *service);
/* A server has become ready, or has failed: requests that wait for it go on in the next turn. */
void arcp__tool_news(arcp__tool_service_state *service);
/* Ends shared servers of an earlier configuration that have no calls. */
void arcp__tool_sweep(arcp__tool_service_state *service);

/* ---- tool_server.c ---- */

/* The server of a job by this configuration, made if there is none. NULL: out of memory. */
arcp__tool_server *arcp__tool_server_of(arcp__tool_service_state *service, arcp__gateway_job *job,
                                        arcp__tool_config *config,
                                        const arcp__tool_server_options *options);

/* Starts it, or reads its list again, if it needs that. */
void arcp__tool_server_wake(arcp__tool_server *server);
/* Whether it is not known yet what tools it has. */
bool arcp__tool_server_is_pending(const arcp__tool_server *server);

/* Sends a call. The error is for the client. */
ARCP_MUST_CHECK arcp_status arcp__tool_server_send(arcp__tool_server *server,
                                                   const arcp__mcp_link_call *call, uint64_t *id,
                                                   arcp_error *err);
void arcp__tool_server_cancel(arcp__tool_server *server, uint64_t id, const char *why);

/* Ends its process, and frees it afterwards. It has no calls. No event follows. */
void arcp__tool_server_leave(arcp__tool_server *server);
/* The same at once: the process is killed. */
void arcp__tool_server_kill(arcp__tool_server *server);

/* ---- tool_sandbox.c ---- */

/* Prepares a sandbox for the next start of a server, by the lease of its configuration. The caller
 * frees *out, at the end of the process. ARCP_E_USAGE, ARCP_E_NOT_FOUND, ARCP_E_IO,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__tool_sandbox_new(arcp__tool_service_state *service,
                                                   arcp__tool_config *config,
                                                   const arcp__tool_server_options *server,
                                                   arcp__tool_sandbox **out, arcp_error *err);
void arcp__tool_sandbox_free(arcp__tool_sandbox *sandbox); /* NULL is accepted */
/* Adds to a specification what the sandbox needs, which is borrowed from it. */
void arcp__tool_sandbox_apply(const arcp__tool_sandbox *sandbox, arcp__process_spec *spec,
                              arcp__environment *environment);
/* Serves its network; owns the sockets from now on. */
ARCP_MUST_CHECK arcp_status arcp__tool_sandbox_serve(arcp__tool_sandbox *sandbox,
                                                     const int *sockets, size_t count,
                                                     const char *proxy_secret, arcp_error *err);

/* ---- tool_remote.c: a server behind HTTP ---- */

/* All events come later, never from inside a function. */
typedef struct arcp__tool_remote_events {
    void (*line)(void *user, arcp_span line); /* a message of the server */
    /* The last event: it cannot be talked to, or it was asked to leave. */
    void (*ended)(void *user, const char *why);
    void *user;
} arcp__tool_remote_events;

/* Nothing is sent yet. Options and link are borrowed until free. ARCP_E_USAGE: there is no client,
 * or a credential cannot be read. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__tool_remote_new(arcp__tool_server *server,
                                                  const arcp__tool_remote_events *events,
                                                  arcp__tool_remote **out, arcp_error *err);
/* Posts a line of the link, in order. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__tool_remote_send(arcp__tool_remote *remote, arcp_span line);
/* Ends its requests, then the session if `is_polite`, and calls `ended`. */
void arcp__tool_remote_end(arcp__tool_remote *remote, const char *why, bool is_polite);
/* At once, and without an event; not from inside one. NULL is accepted. */
void arcp__tool_remote_free(arcp__tool_remote *remote);

/* ---- tool_token.c: what authenticates the gateway there ---- */

/* Secrets of one server. Zero-initialise. */
typedef struct arcp__tool_secrets {
    arcp_buf headers; /* lines with a NUL behind each, of the configuration and of the token */
    size_t own_size;  /* those of the configuration */
    bool has_token;
} arcp__tool_secrets;

/* Reads the headers of the configuration anew, without a token. ARCP_E_USAGE, ARCP_E_IO,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__tool_secrets_read(arcp__tool_secrets *secrets,
                                                    const arcp__tool_config *config,
                                                    const arcp__tool_server_options *server,
                                                    arcp_error *err);
void arcp__tool_secrets_fini(arcp__tool_secrets *secrets);
/* The request for a token: its body, and its headers. */
ARCP_MUST_CHECK arcp_status arcp__tool_token_ask(const arcp__tool_config *config,
                                                 const arcp__tool_server_options *server,
                                                 arcp_buf *body, arcp_buf *headers,
                                                 arcp_error *err);
/* Takes the token of a response. ARCP_E_INVALID_REQUEST: there is none that can be used. */
ARCP_MUST_CHECK arcp_status arcp__tool_token_take(arcp__tool_secrets *secrets, arcp_span response,
                                                  arcp_error *err);

/* ---- tool_call.c ---- */

void arcp__tool_call_begin(arcp__tool_service_state *service, arcp__gateway_call *call);
/* Answers the requests whose servers are all ready, or have failed. */
void arcp__tool_calls_go_on(arcp__tool_service_state *service);
/* The events of a server, for one call. */
void arcp__tool_call_progress(arcp__tool_call *c, const arcp_json *json, arcp_json_ref params);
void arcp__tool_call_answered(arcp__tool_call *c, const arcp_json *json, arcp_json_ref outcome,
                              bool is_error);
void arcp__tool_call_failed(arcp__tool_call *c, const char *why);
/* The server of this call's job, made if there is none. NULL: out of memory. */
arcp__tool_server *arcp__tool_call_server(arcp__tool_call *c,
                                          const arcp__tool_server_options *options);
/* A complete message, as it is or as the last event of the stream. */
void arcp__tool_call_respond(arcp__tool_call *c, arcp_buf *message);
/* The request was answered, or its client has left. */
void arcp__tool_call_finish(arcp__tool_call *c);
/* The call ends without a response of the server: it is cancelled there, if it was sent. */
void arcp__tool_call_stop(arcp__tool_call *c, arcp_status status, const char *why);
/* Ends with a result that says why there is none; of other requests than calls, with an error. */
void arcp__tool_call_refuse(arcp__tool_call *c, const char *code, const char *text);
/* Ends with an error of the protocol. */
void arcp__tool_call_fail(arcp__tool_call *c, int code, const char *text);
/* Sends a request to a server, and watches its time. The error is for the client. */
ARCP_MUST_CHECK arcp_status arcp__tool_call_send(arcp__tool_call *c, arcp__tool_server *server,
                                                 const arcp__mcp_link_call *call, arcp_error *err);

/* ---- tool_ask.c: what is asked before a request is sent ---- */

/* False of these: `out` has the response (or has failed), and a denial is recorded. */

/* Asks the gate for c->target. */
ARCP_MUST_CHECK bool arcp__tool_ask_gate(const arcp__tool_call *c, arcp_buf *out);
/* Asks what the rules name; appends the arguments that the server gets. */
ARCP_MUST_CHECK bool arcp__tool_ask_targets(const arcp__tool_call *c,
                                            const arcp__tool_server_options *options,
                                            arcp_span tool, arcp_buf *arguments, arcp_buf *out);
/* Reserves the price. */
ARCP_MUST_CHECK bool arcp__tool_hold_price(arcp__tool_call *c,
                                           const arcp__tool_server_options *options, arcp_span tool,
                                           arcp_buf *out);

/* Records a denial, and writes its response. */
void arcp__tool_deny(const arcp__tool_call *c, const arcp_decision *decision, arcp_buf *out);
/* The same for a reason that is not the lease's. */
void arcp__tool_deny_fault(const arcp__tool_call *c, arcp_span capability, const char *fault,
                           arcp_buf *out);
/* The response with why there is none: a result of a call, an error of other requests. */
void arcp__tool_put_refusal(const arcp__tool_call *c, const char *code, const char *text,
                            arcp_buf *out);
/* Why a server that a request needs cannot serve it. */
void arcp__tool_say_why(const arcp__tool_server *server, char text[ARCP_ERROR_MESSAGE_MAX]);

/* ---- tool_fetch.c: resources and prompts ---- */

/* What clients are offered beside tools, at the path of this request. */
unsigned arcp__tool_offers(const arcp__tool_call *c);
/* Whether a list needs this server. */
bool arcp__tool_is_gathered(const arcp__tool_call *c, const arcp__tool_server_options *options);
/* The server of a FETCH, and its own name for what is asked for. NULL: none. */
const arcp__tool_server_options *arcp__tool_fetch_server(const arcp__tool_call *c, arcp_span *own);
/* Asks for a FETCH, and writes c->params. False: as of tool_ask.c. */
ARCP_MUST_CHECK bool arcp__tool_ask_fetch(arcp__tool_call *c, const arcp__tool_server *server,
                                          arcp_span own, arcp_buf *out);
/* Whether the server has the list of a GATHER, and the job may have it. */
ARCP_MUST_CHECK bool arcp__tool_has_list(const arcp__tool_call *c,
                                         const arcp__tool_server_options *options,
                                         const arcp__tool_server *server);
/* Whether a resource may be listed; `user` is the request. */
bool arcp__tool_may_list(void *user, arcp_span uri);

/* ---- tool_list.c ---- */

/* Answers a tools/list; the servers are settled. */
void arcp__tool_call_list(arcp__tool_call *c);
/* Asks the next server for its list of resources or prompts, or answers. */
void arcp__tool_gather(arcp__tool_call *c);
/* The events of the link for a GATHER: the next step is in the next turn. */
void arcp__tool_gathered(arcp__tool_call *c, const arcp_json *json, arcp_json_ref outcome,
                         bool is_error);
void arcp__tool_gather_failed(arcp__tool_call *c, const char *why);

/* ---- tool_event.c ---- */

/* The events of a call, in the log of its job. */
void arcp__tool_say_call(arcp__tool_call *c, arcp__tool_log log);
/* `result`: JSON; empty: it failed, and `code` and `text` say why. */
void arcp__tool_say_result(arcp__tool_call *c, arcp__tool_log log, arcp_span result,
                           const char *code, const char *text);
/* What a call has cost. */
void arcp__tool_say_cost(arcp__tool_call *c, const arcp_budget_report *reports, size_t count);
void arcp__tool_say_log(arcp__gateway_job *job, const char *level, const char *text);

#endif
