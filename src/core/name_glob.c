#include "core/name_glob.h"

#include <stddef.h>

/* Greedy; backtracks to the last star only. */
bool arcp__name_glob_matches(const char *glob, arcp_span name)
{
    const char *star = NULL;
    size_t resume = 0;
    size_t i = 0;
    while (i < name.size) {
        if (*glob == '*') {
            star = glob++;
            resume = i;
        } else if (*glob == name.data[i] && *glob != '\0') {
            glob++;
            i++;
        } else if (star != NULL) {
            glob = star + 1;
            i = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}
