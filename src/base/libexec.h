/* Helper programs that people do not start themselves: arcp-agent-exec, arcp-bench, ... */
#ifndef ARCP_BASE_LIBEXEC_H
#define ARCP_BASE_LIBEXEC_H

#include <stdbool.h>

#include <arcp/buf.h>

/* Looks for the program `name` beside the running program (build tree), in ../libexec/arcp relative
 * to it, and in the installed libexec directory; never by PATH or in the current directory. True:
 * its path was appended, with a NUL. False: it was not found, and the names of these directories
 * were appended, separated by commas; or memory ran out (out->failed). */
ARCP_MUST_CHECK bool arcp__libexec_find(const char *name, arcp_buf *out);

#endif
