/* Programs that ours start and people do not: arcp-agent-exec, arcp-bench, ... */
#ifndef ARCP_BASE_LIBEXEC_H
#define ARCP_BASE_LIBEXEC_H

#include <stdbool.h>

#include <arcp/buf.h>

/* Appends the path of the program `name` and an end of string: beside the running program (a build
 * tree), in ../libexec/arcp of it, or where it was installed; never by PATH, nor in the current
 * directory. False when none of them has it, then the directories are appended instead, separated
 * by
 * ", "; and without memory (out->failed). */
ARCP_MUST_CHECK bool arcp__libexec_find(const char *name, arcp_buf *out);

#endif
