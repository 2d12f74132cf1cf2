/* `arcp mcp`: a lease in front of an MCP server. */
#ifndef ARCP_ARCP_MCP_H
#define ARCP_ARCP_MCP_H

#include <arcp/gate.h>

#include "audit/audit_log.h"
#include "cli/cli.h"
#include "mcp/mcp.h"

typedef struct arcp__mcp {
    arcp__program *program;
    const char *name; /* of the server in the lease; NULL: none */
    arcp_lease *lease;
    arcp_authority *authority;
    arcp__audit_log *log; /* NULL: none */
    /* Lines on standard error so far, by kind; each kind has a limit. */
    size_t denials_printed, drops_printed;
    bool has_shown_none; /* a listing without tools was explained */
} arcp__mcp;

/* ---- mcp_log.c: the audit log, and lines on standard error ---- */

/* Opens the log of --log, or of FILE-2, FILE-3, ... while other processes write it: a client may
 * start the same server several times. ARCP_E_USAGE. Nothing is done without --log. */
ARCP_MUST_CHECK arcp_status arcp__mcp_log_open(arcp__mcp *mcp, arcp_error *err);
void arcp__mcp_log_close(arcp__mcp *mcp);

/* The lines of the lease that `arcp mcp` does not apply. */
void arcp__mcp_report_lease(const arcp__mcp *mcp);

/* Calls that were under way when the lease expired. */
void arcp__mcp_log_expiry(arcp__mcp *mcp, arcp_time now, size_t cancelled);

/* Events of the filter; `user` is the arcp__mcp. */
bool arcp__mcp_on_decided(void *user, const arcp_decision *decision);
void arcp__mcp_on_listed(void *user, size_t shown, size_t hidden);
void arcp__mcp_on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line);

/* ---- mcp_loop.c: the server's process, and the bytes in all directions ---- */

/* Starts the server and serves the client until the server has ended. *exit_status is the server's,
 * or 128 and the number of the signal that has ended it. ARCP_E_NOT_FOUND: there is no such
 * program; ARCP_E_USAGE: it cannot be executed; ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_serve(arcp__mcp *mcp, int *exit_status, arcp_error *err);

#endif
