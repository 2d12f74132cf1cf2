#include "core/name_glob.h"

#include <stddef.h>

/* Greedy; backtracks to the last star only. */
bool arcp__name_glob_matches(const char *glob, arcp_span name)
{
    const char *star = NULL;
    size_t resume = 0;
    size_t at = 0;
    while (at < name.size) {
        if (*glob == '*') {
            star = glob++;
            resume = at;
        } else if (*glob == name.data[at] && *glob != '\0') {
            glob++;
            at++;
        } else if (star != NULL) {
            glob = star + 1;
            at = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}
