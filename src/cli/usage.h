/* Help, and the manual's synopsis and options: all from the tables. */
#ifndef ARCP_CLI_USAGE_H
#define ARCP_CLI_USAGE_H

#include <arcp/buf.h>

#include "cli/command_table.h"

/* The help of one command, or of all (ARCP__COMMAND_ANY). */
void arcp__usage_help(arcp__command command, arcp_buf *out);

/* One line per command: what can be given. */
void arcp__usage_synopsis(arcp__command command, arcp_buf *out);

/* The options and their texts in scdoc's language, for man/arcp.1.scd. */
void arcp__usage_manual(arcp_buf *out);

#endif
