/* Globs in the configuration for names of principals, agents and clients. */
#ifndef ARCP_CORE_NAME_GLOB_H
#define ARCP_CORE_NAME_GLOB_H

#include <stdbool.h>

#include <arcp/span.h>

/* Whether a name matches a glob, in which `*` matches any run of bytes. Takes at most size of glob
 * times size of name steps. */
bool arcp__name_glob_matches(const char *glob, arcp_span name);

#endif
