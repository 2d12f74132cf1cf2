/* Globs over names of principals, agents and clients, as the operator writes them. */
#ifndef ARCP_CORE_NAME_GLOB_H
#define ARCP_CORE_NAME_GLOB_H

#include <stdbool.h>

#include <arcp/span.h>

/* Whether a name matches a glob in which `*` stands for any run of bytes. At most glob x name
 * steps. */
bool arcp__name_glob_matches(const char *glob, arcp_span name);

#endif
