/* What several configuration files have: the keys of `gateways`, `models`, `tools` and `agents`,
 * what they make, and modules that are loaded only if the configuration needs them. arcpd has all
 * of them in its file, `arcp` has those of the gateways, arcp-worker has `agents`. */
#ifndef ARCP_SETUP_SETUP_H
#define ARCP_SETUP_SETUP_H

#include "config/config.h"
#include "context/settings.h"
#include "gateway/gateway.h"
#include "gateway/model_config.h"
#include "gateway/tool_config.h"
#include "process/process.h"

typedef struct arcp__setup_gateways_values {
    char *listen, *url; /* NULL: the default, and the listener's own address */
    uint64_t request_bytes, buffer_bytes, response_bytes;
    uint64_t calls_per_job;
    uint64_t first_byte_ms, idle_timeout_ms, hold_wait_ms;
} arcp__setup_gateways_values;

/* One of `models.spend`: what a principal may spend on calls to models on one UTC day. */
typedef struct arcp__setup_spend {
    const char *principal; /* glob; NULL: all */
    int per;               /* always a day */
    const char *const *budget;
    size_t budget_count;
} arcp__setup_spend;

/* A rule of `targets`: an argument of a tool that is asked as a path or URL. */
typedef struct arcp__setup_tool_target {
    char *tool, *capability, *pointer;
} arcp__setup_tool_target;

typedef struct arcp__setup_tool_server {
    char *name;
    arcp__text_list command;
    char *url;
    arcp__text_list headers; /* "Name: value" */
    char *token_url, *client_id, *client_secret, *scope;
    arcp__text_list env; /* as arcp__environment_pass */
    arcp_lease *lease;   /* NULL: it grants nothing */
    bool is_unconfined;
    bool is_shared;
    bool has_resources, has_prompts;
    uint64_t timeout_ms, total_ms, start_ms;
    int log;                /* arcp__tool_log */
    arcp__text_list prices; /* GLOB=CURRENCY:AMOUNT */
    arcp__setup_tool_target *targets;
    size_t target_count;
} arcp__setup_tool_server;

typedef struct arcp__setup_tools_values {
    arcp__setup_tool_server *servers;
    size_t server_count;
    bool refuses_changes;
} arcp__setup_tools_values;

#define ARCP__SETUP_CONCURRENCY 16 /* the default */

/* In the order of the words of `mode`. */
typedef enum arcp__setup_mode {
    ARCP__SETUP_MODE_ARCP,
    ARCP__SETUP_MODE_PLAIN,
    ARCP__SETUP_MODE_SERVE
} arcp__setup_mode;

typedef struct arcp__setup_agent {
    char *name, *version; /* version may be NULL */
    bool is_default;
    int mode; /* arcp__setup_mode */
    bool stderr_in_errors;
    uint64_t warm;
    uint64_t processes, concurrency, jobs_per_process, process_memory_bytes; /* serve */
    arcp_lease *lease; /* serve; NULL: an empty one */
    uint64_t max_jobs;
    bool has_no_queue;
    char *cwd, *user; /* may be NULL */
    arcp__text_list command;
    arcp__text_list env;     /* NAME=VALUE, or NAME for arcpd's own variable */
    arcp__text_list rlimits; /* NAME=VALUE, accepted by arcp__launch_limit_parse */
    bool is_unconfined;
    arcp__text_list base;  /* absolute paths */
    int protect, min, tls; /* arcp_protect, arcp_enforce_min, arcp_enforce_tls */
    uint64_t pids;
    uint64_t memory_bytes, cpu_percent; /* 0: no limit */
    bool has_no_gateways;
} arcp__setup_agent;

/* Beside the settings enforce.*. */
typedef struct arcp__setup_enforce {
    bool is_off;
    arcp__text_list base;            /* absolute paths */
    arcp__text_list may_be_advisory; /* empty: the default */
    arcp__text_list private_hosts;
    bool allows_direct_models; /* net.fetch reaches the hosts of models.providers */
} arcp__setup_enforce;

/* The struct of a configuration that has these groups begins with one of these, and is the root of
 * its reader. */
typedef struct arcp__setup {
    arcp__setup_gateways_values gateways;
    arcp__model_options models;
    arcp__setup_spend *spends; /* models.spend */
    size_t spend_count;
    arcp__setup_tools_values tools;
    arcp__setup_agent *agents;
    size_t agent_count;
    arcp__setup_enforce enforce;
} arcp__setup;

/* The keys of the groups. */
extern const arcp__config_fields arcp__setup_gateways;
extern const arcp__config_fields arcp__setup_models;
extern const arcp__config_fields arcp__setup_tools;

/* An item of `agents`, whose list is `agents` of arcp__setup. */
extern const arcp__config_row arcp__setup_agent_item;

/* ---- setup_enforce.c ---- */

/* The keys of `enforce` that are no settings; the last one is about models. */
#define ARCP__SETUP_ENFORCE_ROWS 5
extern const arcp__config_row arcp__setup_enforce_rows[ARCP__SETUP_ENFORCE_ROWS];

/* What arcp__config_others need for a group of the runtime's settings. */
arcp_status arcp__setup_read_setting(arcp__yaml_reader *r, arcp_settings *settings,
                                     const char *group, arcp_span key);
void arcp__setup_print_settings(const arcp_settings *settings, const char *group, unsigned indent,
                                arcp_buf *out);

/* ---- setup_agent.c ---- */

#define ARCP__SETUP_LIMITS_MAX 16u /* more than there are resources */

/* The limits of an agent's processes: `files`, and those of its row, which can replace it. */
ARCP_MUST_CHECK arcp_status arcp__setup_agent_limits(const arcp__setup_agent *agent,
                                                     const arcp_launch_limit *files,
                                                     arcp_launch_limit out[ARCP__SETUP_LIMITS_MAX],
                                                     size_t *count, arcp_error *err);

/* ---- setup_gateways.c ---- */

arcp__gateway_limits arcp__setup_limits(const arcp__setup *setup);

/* Whether a server of tools is reached by HTTP. */
bool arcp__setup_has_urls(const arcp__setup *setup);

/* The client for upstream connections, if models or tools need one; else *out is NULL. Its module
 * stays loaded. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__setup_client(const arcp__setup *setup,
                                               const arcp__web_client_ops **out, arcp_error *err);

/* ---- setup_models.c ---- */

/* The amounts of setup->spends[index] as a lease. ARCP_E_USAGE: one is not valid, or in a currency
 * in which calls to models are not charged. */
ARCP_MUST_CHECK arcp_status arcp__setup_read_spend(const arcp__setup *setup, size_t index,
                                                   arcp_lease **out, arcp_error *err);

/* Adds the URLs of the providers, whose hosts no line of net.fetch reaches
 * (arcp_enforce_options.model_urls); with `allows_direct` none. */
ARCP_MUST_CHECK arcp_status arcp__setup_model_urls(const arcp__setup *setup, bool allows_direct,
                                                   arcp__text_list *out, arcp_error *err);

/* Makes the configuration of the gateway for models: reads the price file and the keys of the
 * providers, of which there may be none. The caller unrefs *out. ARCP_E_USAGE and ARCP_E_IO name
 * the key. */
ARCP_MUST_CHECK arcp_status arcp__setup_make_models(const arcp__setup *setup,
                                                    arcp__model_config **out, arcp_error *err);

/* The same without the providers' keys, which are not read: for looking things up. */
ARCP_MUST_CHECK arcp_status arcp__setup_list_models(const arcp__setup *setup,
                                                    arcp__model_config **out, arcp_error *err);

/* Replaces {file:PATH} and {env:NAME}. The message begins with `key`. Any thread. */
ARCP_MUST_CHECK arcp_status arcp__setup_expand(const char *key, const char *text, arcp_buf *out,
                                               arcp_error *err);

/* ---- setup_tools.c ---- */

/* Makes the configuration of the gateway for tools, of which there may be none. `host` says with
 * what the sandboxes of servers are made; NULL: they have none. The caller unrefs *out.
 * ARCP_E_USAGE names the key. */
ARCP_MUST_CHECK arcp_status arcp__setup_make_tools(const arcp__setup *setup,
                                                   const arcp__tool_host *host,
                                                   const char *work_directory,
                                                   arcp__tool_config **out, arcp_error *err);

/* Appends what --check-config says of the servers, in lines. */
void arcp__setup_explain_tools(const arcp__setup *setup, bool confines, arcp_buf *out);

/* ---- module.c ---- */

/* Loads NAME.so from the directory where modules are installed, or from beside this program in a
 * build tree, and stores the address of `symbol` in the function pointer that `function` points to.
 * *module is for arcp__module_close. ARCP_E_USAGE: it cannot be loaded; the message begins with
 * `key`, the configuration key that needs it. */
ARCP_MUST_CHECK arcp_status arcp__module_open(const char *name, const char *symbol, const char *key,
                                              void **module, void *function, arcp_error *err);
void arcp__module_close(void *module); /* NULL is accepted */

/* Whether modules may be loaded from the directory: it must belong to root, to the user or to the
 * owner of this program, and must not be world-writable. */
bool arcp__module_directory_is_safe(const char *path);

#endif
