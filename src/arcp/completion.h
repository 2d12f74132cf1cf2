/* Completion scripts for shells. */
#ifndef ARCP_ARCP_COMPLETION_H
#define ARCP_ARCP_COMPLETION_H

#include <stdbool.h>

#include <arcp/buf.h>

/* Appends the script for bash, zsh or fish; false for another shell. */
bool arcp__completion_script(const char *shell, arcp_buf *out);

#endif
