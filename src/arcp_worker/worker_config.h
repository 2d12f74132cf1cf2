/* worker.yaml: what a worker on another machine than arcpd runs, and where its arcpd is. Private to
 * the program. */
#ifndef ARCP_ARCP_WORKER_WORKER_CONFIG_H
#define ARCP_ARCP_WORKER_WORKER_CONFIG_H

#include "hosting/agent_row.h"
#include "launch/launch.h"
#include "setup/setup.h"
#include "worker/worker_frame.h"

typedef struct arcp__worker_config {
    arcp__setup setup; /* must be first; only `agents` */
    char *url, *ca_file, *token_file, *name, *state;
    uint64_t capacity;
    arcp__config_places places;
    /* What hello says, from the above. */
    arcp_buf token;             /* NUL-terminated */
    arcp__worker_offer *offers; /* owned; one for each agent */
    char work[4096];            /* a directory in `state` */
} arcp__worker_config;

/* Reads and checks the file, and the token. ARCP_E_USAGE names file, line and key; ARCP_E_IO,
 * ARCP_E_NO_MEMORY. *out is to be freed in any case. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_read(const char *path, arcp__worker_config *out,
                                                     arcp_error *err);
void arcp__worker_config_fini(arcp__worker_config *config);

/* A job that arcpd has given. */
typedef struct arcp__own_job {
    const arcp__worker_message *order;
    const char *jobs;               /* in which it gets a directory, unless its agent has one */
    const arcp_launch_limit *files; /* the limit of open files that the worker itself had */
    size_t line_bytes;              /* of a line that its program writes */
} arcp__own_job;

/* Appends what to start for a job, from the row of its agent, as arcpd of the same machine would
 * say it (hosting/agent_row.h). ARCP_E_NOT_FOUND: there is no such agent; ARCP_E_INVALID_REQUEST:
 * arcpd has sent a row; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_config_write_row(const arcp__worker_config *config,
                                                          const arcp__own_job *job, arcp_buf *out,
                                                          arcp_error *err);

#endif
