/* worker.yaml: what a worker on another machine than arcpd runs, and where its arcpd is. Private to
 * the program. */
#ifndef ARCP_ARCP_WORKER_WORKER_CONFIG_H
#define ARCP_ARCP_WORKER_WORKER_CONFIG_H

#include "hosting/agent_row.h"
#include "launch/launch.h"
#include "setup/setup.h"
#include "worker/worker_frame.h"

typedef struct arcp__worker_config {
    arcp__setup setup;      /* must be first; only `agents` and `enforce` */
    arcp_settings settings; /* only those of the group enforce */
    char *url, *ca_file, *token_file, *name, *state;
    uint64_t capacity;
    arcp__config_places places;
    /* What hello says, from the above. */
    arcp_buf token;             /* NUL-terminated */
    arcp__worker_offer *offers; /* owned; one for each agent */
    char work[4096];            /* a directory in `state` */
    arcp_buf enforce; /* options of the sandboxes (hosting/agent_row.h); empty: there are none */
} arcp__worker_config;

/* Reads and checks the file, and the token. ARCP_E_USAGE names file, line and key; ARCP_E_IO,
 * ARCP_E_NO_MEMORY. *out is to be freed in any case. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_read(const char *path, arcp__worker_config *out,
                                                     arcp_error *err);
void arcp__worker_config_fini(arcp__worker_config *config);

/* What arcpd says about the jobs that it gives, and the limit of open files that the worker itself
 * had. */
typedef struct arcp__worker_terms {
    const arcp_launch_limit *files;
    size_t line_bytes; /* of a line that a program writes */
    uint64_t cancel_grace_ms;
    bool outlasts_expiry, outlasts_budget;
    unsigned gateways; /* that jobs get, as bits */
} arcp__worker_terms;

/* A job that arcpd has given. */
typedef struct arcp__own_job {
    const arcp__worker_message *order;
    const char *jobs; /* in which it gets a directory, unless its agent has one */
    const arcp__worker_terms *terms;
} arcp__own_job;

/* Appends what to start for a job, from the row of its agent, as arcpd of the same machine would
 * say it (hosting/agent_row.h). ARCP_E_NOT_FOUND: there is no such agent; ARCP_E_INVALID_REQUEST:
 * arcpd has sent a row; ARCP_E_AGENT_NOT_AVAILABLE: the agent has no sandbox, and the job needs
 * one; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_write_row(const arcp__worker_config *config,
                                                          const arcp__own_job *job, arcp_buf *out,
                                                          arcp_error *err);

/* Appends what the file says about all agents (arcp__hosting_write). */
void arcp__worker_config_write_host(const arcp__worker_config *config,
                                    const arcp__worker_terms *terms, arcp_buf *out);
/* Appends the rows of all agents, without a job, each with a line feed. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_list(const arcp__worker_config *config,
                                                     const arcp__worker_terms *terms, arcp_buf *out,
                                                     arcp_error *err);
/* Whether each row can be hosted. ARCP_E_USAGE names file, line and key. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_check_rows(const arcp__worker_config *config,
                                                           arcp_error *err);

#endif
