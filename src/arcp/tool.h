/* Commands of the table that are programs of their own: `arcp NAME` becomes arcp-NAME. What else
 * stands in libexec (helpers, agents) is not run so. */
#ifndef ARCP_ARCP_TOOL_H
#define ARCP_ARCP_TOOL_H

#include "cli/program.h"

/* Becomes the program arcp-NAME, where argv[at] is NAME, a command of the table; it gets all other
 * arguments, in their order. Returns only when that is not possible: false (and nothing said) when
 * there is no such program, true when it cannot be run, which is said. */
bool arcp__tool_exec(int argc, char **argv, int at);

/* Says that a command of the table is not installed, and where it was looked for; the exit
 * status. */
int arcp__tool_missing(arcp__program *program);

#endif
