/* The daemon's state, which arcpd.c and reload.c share. */
#ifndef ARCP_ARCPD_STATE_H
#define ARCP_ARCPD_STATE_H

#include "arcpd/arcpd.h"
#include "arcpd/hooks.h"
#include "service/service_manager.h"

/* Requests for a reload that wait together; more are refused. */
#define ARCP__RELOADS_ASKED_MAX 16u

typedef struct arcp__daemon {
    arcp__config config;
    bool store_is_memory;
    uint64_t frame_bytes_max; /* of listeners and standard input: a reload cannot change it */
    arcp__logger logger;
    arcp__audit_trail audit;
    arcp__trace_export traces;
    arcp__status status;
    arcp__dashboards dashboards;
    arcp__state_dump state_dump;
    arcp__operator_socket operators;
    uv_timer_t asked_reload; /* due at once after a request; with `data` once it is open */
    uint64_t reload_ids[ARCP__RELOADS_ASKED_MAX]; /* the requests that wait for it */
    size_t reload_id_count;
    arcp__record record;
    arcp__service_manager manager;
    arcp__passed_sockets sockets;
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup, child;
    uv_timer_t reload;      /* due at once after SIGHUP */
    uv_timer_t stdio_grace; /* with --stdio: started at the end of standard input */
    arcp_runtime *runtime;
    arcp__directories directories;
    arcp_store *store; /* NULL once the runtime owns it */
    arcp__credentials credentials;
    arcp__hook_sender hooks;
    arcp__arguments arguments;
    arcp_launch_limit files; /* the limit of descriptors that arcpd was started with */
    int argc;
    char **argv_copy;
    bool is_stopping, stopped;
    bool has_other_users; /* at start: some agent has a user of its own */
    bool had_children;    /* at start: children of the program that became arcpd by exec */
    int exit_status;
} arcp__daemon;

/* ---- reload.c ---- */

/* Reads the file, then the options, which override it, and checks the result as a whole. */
ARCP_MUST_CHECK arcp_status arcp__daemon_read_config(const arcp__daemon *state,
                                                     arcp__config *config, arcp_error *err);
bool arcp__has_agent_users(const arcp__config *config);
/* An arcp__config_warn_fn; `user` is the logger. */
void arcp__log_warning(void *user, const char *line);

/* What became of a reload. */
typedef struct arcp__reload_report {
    bool is_applied;
    arcp__text_list problems; /* why it was refused, or warnings; as they are logged */
    arcp__text_list restart;  /* changed keys that take effect after a restart */
} arcp__reload_report;

/* Reloads tokens, agents, policies, peer profiles, certificates, limits and the log's format. On an
 * error the old configuration stays in effect and the error is logged. `cause` is for the audit
 * log: "SIGHUP". The report, zeroed before, may be NULL; the caller clears its lists. */
void arcp__daemon_reload(arcp__daemon *state, const char *cause, arcp__reload_report *report);

/* ---- operator_request.c: what operators ask of arcpd itself ---- */

/* From now on the runtime's requests are answered. */
void arcp__operator_requests_open(arcp__daemon *state);
/* Before the runtime is freed. The loop has to run once more. */
void arcp__operator_requests_close(arcp__daemon *state);

#endif
