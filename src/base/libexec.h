/* Programs that ours start and people do not: arcp-agent-exec, arcp-bench, ... */
#ifndef ARCP_BASE_LIBEXEC_H
#define ARCP_BASE_LIBEXEC_H

#include <stdbool.h>

#include <arcp/buf.h>

/* Looks for the program `name` beside the running program (a build tree), in ../libexec/arcp of it,
 * and where it was installed; never by PATH, nor in the current directory. True: its path and an
 * end of string were appended. False: no directory has it, and their names were appended with
 * commas between them; or memory ran out (out->failed). */
ARCP_MUST_CHECK bool arcp__libexec_find(const char *name, arcp_buf *out);

#endif
