/* Help, usage errors, completions, and the manual's synopsis: all from the tables. */
#ifndef ARCP_ARCP_USAGE_H
#define ARCP_ARCP_USAGE_H

#include <arcp/buf.h>

#include "arcp/command_table.h"

/* The help of one command, or of all (ARCP__COMMAND_ANY). */
void arcp__usage_help(arcp__command command, arcp_buf *out);

/* One line per command: what can be given. */
void arcp__usage_synopsis(arcp__command command, arcp_buf *out);

/* The options and their texts in scdoc's language, for man/arcp.1.scd. */
void arcp__usage_manual(arcp_buf *out);

/* A completion script; false for a shell that is not known. */
bool arcp__usage_completion(const char *shell, arcp_buf *out);

#endif
