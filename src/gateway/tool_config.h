/* The configuration of the gateway for tools, as arcpd's `tools` sets it. Immutable once made (but
 * for `own`), with a reference count; any thread. */
#ifndef ARCP_GATEWAY_TOOL_CONFIG_H
#define ARCP_GATEWAY_TOOL_CONFIG_H

#include <stdatomic.h>

#include "base/arena.h"
#include "launch/sandbox_host.h"
#include "mcp/mcp_rule.h"
#include "sandbox/sandbox.h"

#define ARCP__TOOL_SERVERS_MAX 64

/* What events have of a call, beside the tool: nothing, its arguments, or also its result. */
typedef enum arcp__tool_log {
    ARCP__TOOL_LOG_NONE,
    ARCP__TOOL_LOG_ARGS,
    ARCP__TOOL_LOG_FULL
} arcp__tool_log;

/* What the sandboxes of servers are made with. */
typedef struct arcp__tool_host {
    /* What this host can do, the runtime's own paths, and what the operator says of sandboxes. Its
     * lease, directories and bases are not read; in a configuration its own paths are in `own`. */
    arcp__sandbox_request request;
    const char *const *bases;       /* canonical paths; NULL-terminated or NULL */
    const arcp_span *private_hosts; /* as arcp__egress_options */
    size_t private_host_count;
    uint32_t egress_idle_ms;
} arcp__tool_host;

/* How a server behind HTTP gets an access token: OAuth's client credentials (RFC 6749 §4.4). */
typedef struct arcp__tool_oauth {
    const char *token_url; /* NULL: none is needed */
    const char *client_id;
    const char *client_secret; /* with {file:PATH} and {env:NAME} */
    const char *scope;         /* NULL: none is named */
} arcp__tool_oauth;

/* One of `tools.servers`: a program that speaks MCP over its standard input and output, or a URL at
 * which a server speaks it over streamable HTTP. */
typedef struct arcp__tool_server_options {
    const char *name; /* [a-z0-9-]{1,32} */
    /* All that the configuration says of it, as a text: a server that runs serves a later
     * configuration that says the same. NULL: it serves its own only. */
    const char *identity;
    const char *const *argv; /* NULL-terminated; NULL: it has a URL */
    const char *url;         /* http or https */
    /* "Name: value", with {file:PATH} and {env:NAME}, which are read again when the server responds
     * with 401. NULL-terminated; NULL: none. */
    const char *const *headers;
    arcp__tool_oauth oauth;
    const char *const *env; /* as arcp__environment_pass; NULL: none */
    /* What it may do in a sandbox of its own; a reference is kept. NULL: it is not confined. */
    const arcp_lease *lease;
    unsigned offers;     /* to clients beside tools: ARCP__MCP_RESOURCES, ARCP__MCP_PROMPTS */
    bool is_shared;      /* one process for all jobs; otherwise one for each job */
    uint32_t timeout_ms; /* without a response or progress */
    uint32_t total_ms;   /* of a call */
    uint32_t start_ms;   /* from the start of the process to its list of tools */
    arcp__tool_log log;
    const arcp__mcp_price *prices;
    size_t price_count;
    const arcp__mcp_target_rule *targets;
    size_t target_count;
} arcp__tool_server_options;

typedef arcp_status (*arcp__tool_expand_fn)(const char *what, const char *text, arcp_buf *out,
                                            arcp_error *err);

typedef struct arcp__tool_options {
    const arcp__tool_server_options *servers;
    size_t server_count;
    bool refuses_changes;        /* tools.on_change: refuse */
    const char *work_directory;  /* in which processes are recorded; NULL: they are not */
    const char *sandbox;         /* the program arcp-sandbox; NULL: it is searched */
    const arcp__tool_host *host; /* copied; NULL: servers that have a lease do not start */
    /* Replaces {file:PATH} and {env:NAME} in a text; called on the gateway's thread, too. Needed
     * for servers with a URL. The message names the server. */
    arcp__tool_expand_fn expand;
} arcp__tool_options;

typedef struct arcp__tool_config {
    atomic_size_t references;
    arcp__arena arena; /* of everything below */
    arcp__tool_server_options *servers;
    size_t server_count;
    bool refuses_changes;
    const char *work_directory, *sandbox;
    arcp__tool_host *host;
    arcp__tool_expand_fn expand;
    arcp__own_paths own; /* of the host; the gateway's thread follows its links */
} arcp__tool_config;

/* Copies the options. ARCP_E_USAGE: a name is not valid or occurs twice, a command is empty, a
 * pointer is not valid, or there are too many servers. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__tool_config_new(const arcp__tool_options *options,
                                                  arcp__tool_config **out, arcp_error *err);
arcp__tool_config *arcp__tool_config_ref(arcp__tool_config *config);
void arcp__tool_config_unref(arcp__tool_config *config); /* NULL is accepted */

/* Whether a server that was started for one of them can serve the other. */
bool arcp__tool_server_is_same(const arcp__tool_server_options *a,
                               const arcp__tool_server_options *b);

/* NULL: there is none with this name. Valid as long as the configuration. */
const arcp__tool_server_options *arcp__tool_config_find(const arcp__tool_config *config,
                                                        arcp_span name);

#endif
