#include "core/glob_set.h"

#include "base/alloc.h"
#include "core/glob_build.h"

arcp_status arcp__glob_set_compile(arcp__capability capability, const arcp_span *patterns,
                                   size_t count, arcp__glob_set **out, arcp_error *err)
{
    if (!arcp__capability_is_glob(capability)) {
        return arcp_error_set(err, ARCP_E_USAGE, "this capability has no patterns");
    }
    for (size_t i = 0; i < count; i++) {
        const char *fault = arcp__glob_pattern_fault(patterns[i]);
        if (fault != NULL) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s[%zu] %s",
                                  arcp__capability_name(capability), i, fault);
        }
    }
    arcp__glob_set *set = arcp__glob_build(capability, patterns, count);
    if (set == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for patterns");
    }
    *out = set;
    return ARCP_OK;
}

void arcp__glob_set_free(arcp__glob_set *set)
{
    arcp__free(set);
}
