/* What arcpd is while it runs. Private to arcpd.c and reload.c. */
#ifndef ARCP_ARCPD_RUNNING_H
#define ARCP_ARCPD_RUNNING_H

#include <uv.h>

#include <arcp/runtime.h>

#include "arcpd/arguments.h"
#include "arcpd/credentials.h"
#include "arcpd/directories.h"
#include "arcpd/logger.h"
#include "arcpd/status.h"
#include "arcpd/tokens.h"

typedef struct arcp__daemon {
    arcp__config config;
    bool store_is_memory;
    uint64_t frame_bytes_max; /* of listeners and standard input, which keep theirs */
    arcp__logger logger;
    arcp__status status;
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup, child;
    uv_timer_t last_call; /* from the end of standard input, with --stdio */
    arcp_runtime *runtime;
    arcp__directories directories;
    arcp_store *store; /* until the runtime has taken it over */
    arcp__credentials credentials;
    arcp__arguments arguments;
    arcp__trace_export *traces; /* NULL: not configured */
    arcp_launch_limit files;    /* that this process was started with */
    int argc;
    char **argv_copy;
    bool is_stopping, stopped;
    bool has_other_users; /* when it began: agents that run as somebody else */
    bool had_children;    /* when it began: the program that became arcpd started them */
    int exit_status;
} arcp__daemon;

/* One line in the log. */
void arcp__daemon_log(arcp__daemon *daemon, arcp_log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);

/* The file first, then the flags, which win; checked as a whole. */
ARCP_MUST_CHECK arcp_status arcp__daemon_read_config(const arcp__daemon *daemon,
                                                     arcp__config *config, arcp_error *err);

/* The warnings about the configuration, into the log. */
void arcp__daemon_warn(arcp__daemon *daemon, const arcp__token_facts *tokens);

/* Takes the verifiers over in any case. */
ARCP_MUST_CHECK arcp_status arcp__daemon_take_verifiers(arcp__daemon *daemon,
                                                        arcp__verifiers *verifiers,
                                                        arcp_error *err);

/* Whether an agent runs as somebody else. */
bool arcp__config_has_users(const arcp__config *config);

/* Tokens, agents, policies, peer profiles, certificates, limits and the log's form again. What is
 * wrong leaves everything as it was, and the log says so. */
void arcp__daemon_reload(arcp__daemon *daemon);

#endif
