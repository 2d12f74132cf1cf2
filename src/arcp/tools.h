/* What the files of `arcp tools` share. */
#ifndef ARCP_ARCP_TOOLS_H
#define ARCP_ARCP_TOOLS_H

#include "arcp/run.h"
#include "mcp/mcp_catalogue.h"
#include "json/json.h"

/* What one server has answered. */
typedef struct arcp__tools_answer {
    const char *server;               /* its name; borrowed from the configuration */
    arcp__mcp_toolset *tools;         /* sealed; NULL: it did not list them */
    char why[ARCP_ERROR_MESSAGE_MAX]; /* then: why */
} arcp__tools_answer;

/* tools_ask.c: starts the servers of run->gateways, all at once and as `arcp run` does, asks each
 * for its tools, and ends them. `answers` has an element for each server, zero-initialised, which
 * the caller frees in any case. *signal is a signal that has ended it, or 0. ARCP_E_IO,
 * ARCP_E_USAGE, ARCP_E_NO_MEMORY: nothing was asked. */
ARCP_MUST_CHECK arcp_status arcp__tools_ask(arcp__run *run, arcp__tools_answer *answers,
                                            int *signal, arcp_error *err);

#endif
