/* What the worker of this machine needs to host the job of an agent, as JSON: the registration of
 * the agent, the settings and options of the hosting, and what is the job's own. Both ends are of
 * this release, or the one before it.
 *
 *     {"agent": {"command": [...], "warm": 2, ...}, "host": {"line_bytes": 4194304, ...},
 *      "job": {"env": [...], "cwd": "/..."}}
 *
 * Equal registrations have equal texts, by which a worker finds the processes of an agent. */
#ifndef ARCP_HOSTING_AGENT_ROW_H
#define ARCP_HOSTING_AGENT_ROW_H

#include <arcp/buf.h>

#include "hosting/hosting.h"
#include "json/json.h"

/* Appends a registration with the variables that its processes have. ARCP_E_INVALID_REQUEST for
 * text that is not UTF-8, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__agent_row_write(const arcp__agent_row *row,
                                                  const arcp__environment *environment,
                                                  arcp_buf *out, arcp_error *err);
/* *out borrows from the arena, but for its lease, which the caller unrefs.
 * ARCP_E_INVALID_REQUEST names the member. */
ARCP_MUST_CHECK arcp_status arcp__agent_row_read(arcp_span text, arcp__arena *arena,
                                                 arcp__agent_row *out, arcp_error *err);

/* Appends the settings of the hosting and the options of its confinement. */
void arcp__hosting_write(const arcp__hosting *hosting, arcp_buf *out);
/* Has the hosting do as the other one. Errors as arcp__confinement_set, and as above. */
ARCP_MUST_CHECK arcp_status arcp__hosting_read(arcp__hosting *hosting, arcp_span text,
                                               arcp_error *err);

/* All of it. */
typedef struct arcp__start_row {
    arcp_span agent, host;  /* texts */
    const char *const *env; /* of the job's own process; NULL-terminated */
    arcp_span cwd;          /* empty: none */
    bool owns_cwd;          /* it is made for the job */
    arcp_span endpoint;     /* arcp__plan_request.endpoint */
} arcp__start_row;

/* Without a job: `env` is NULL. */
ARCP_MUST_CHECK arcp_status arcp__start_row_write(const arcp__start_row *row, arcp_buf *out,
                                                  arcp_error *err);
/* `agent` and `host` borrow from `text`, the rest from the arena. */
ARCP_MUST_CHECK arcp_status arcp__start_row_read(arcp_span text, arcp__arena *arena,
                                                 arcp__start_row *out, arcp_error *err);

#endif
