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

#define ARCP__ROW_BYTES_MAX                                                                        \
    61440u /* so that it fits into the head of a message (worker_frame.h)                          \
            */

/* Appends a registration with the variables that its processes have. ARCP_E_INVALID_REQUEST for
 * text that is not UTF-8, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__agent_row_write(const arcp__agent_row *row,
                                                  const arcp__environment *environment,
                                                  arcp_buf *out, arcp_error *err);
/* *out borrows from the arena, but for its lease, which the caller unrefs.
 * ARCP_E_INVALID_REQUEST names the member. */
ARCP_MUST_CHECK arcp_status arcp__agent_row_read(arcp_span text, arcp__arena *arena,
                                                 arcp__agent_row *out, arcp_error *err);

/* Appends the settings of the hosting, and the options of a confinement as they are written there
 * (empty: agents are not confined). */
void arcp__hosting_write(const arcp__hosting *hosting, arcp_span options, arcp_buf *out);
/* The options of its own confinement. */
arcp_span arcp__hosting_options(const arcp__hosting *hosting);
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
/* Whether the row of any job of the agent can be written: its own variables are those that all
 * processes of the agent have, and a few. ARCP_E_LIMIT names the numbers; the others as above. */
ARCP_MUST_CHECK arcp_status arcp__start_row_check(arcp_span agent, arcp_span host,
                                                  const arcp__environment *environment,
                                                  arcp_error *err);
/* `agent` and `host` borrow from `text`, the rest from the arena. */
ARCP_MUST_CHECK arcp_status arcp__start_row_read(arcp_span text, arcp__arena *arena,
                                                 arcp__start_row *out, arcp_error *err);

#endif
