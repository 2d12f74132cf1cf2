/* Faults in the set-up of a sandbox, for tests: builds with ARCP_FAULTS let the step that the
 * variable ARCP_SANDBOX_FAIL names fail. Others have none of it. */
#ifndef ARCP_LAUNCH_FAULT_H
#define ARCP_LAUNCH_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef ARCP_FAULTS
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARCP__FAULT_VARIABLE "ARCP_SANDBOX_FAIL"

/* The whole environment of arcp-sandbox. Lives until the caller's environment changes. */
static inline char *const *arcp__fault_environment(void)
{
    static _Thread_local char *list[2];
    list[0] = NULL;
    for (char **at = environ; *at != NULL; at++) {
        if (strncmp(*at, ARCP__FAULT_VARIABLE "=", sizeof ARCP__FAULT_VARIABLE) == 0) {
            list[0] = *at;
        }
    }
    return list;
}

static inline bool arcp__fault_is_at(const char *step)
{
    const char *named = getenv(ARCP__FAULT_VARIABLE);
    return named != NULL && strcmp(named, step) == 0;
}
#else
static inline char *const *arcp__fault_environment(void)
{
    static char *const nothing[] = {NULL};
    return nothing;
}

static inline bool arcp__fault_is_at(const char *step)
{
    (void)step;
    return false;
}
#endif

#endif
