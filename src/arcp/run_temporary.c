#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arcp/run.h"

const char *arcp__run_temporary(arcp__run *run, arcp_error *err)
{
    char path[PATH_MAX];
    const char *given = getenv("TMPDIR");
    const char **slot = run->temporary;
    while (*slot != NULL) {
        slot++;
    }
    (void)snprintf(path, sizeof path, "%s/arcp-run-XXXXXX",
                   given != NULL && given[0] == '/' ? given : "/tmp");
    if (mkdtemp(path) == NULL) {
        (void)arcp_error_set(err, ARCP_E_IO, "%.200s cannot be made: %s", path, strerror(errno));
        return NULL;
    }
    *slot = arcp__run_path(&run->arena, "/", "", path, err);
    return *slot;
}
