/* Which directories the read-only clones are of. */
#include "base/path.h"
#include "broker/broker_parts.h"
#include "core/glob_pattern.h"

arcp_span arcp__broker_beginning(arcp_span pattern)
{
    return arcp__glob_literal_directory(pattern);
}

size_t arcp__broker_beginnings(const arcp__sandbox_plan *plan, arcp_span *out)
{
    size_t count = 0;
    if (plan->is_late) { /* the lease can be of anything */
        out[0] = ARCP_SPAN_LITERAL("/");
        return 1;
    }
    for (size_t i = 0; i < plan->read_count; i++) {
        if (plan->reads[i].size == 0 || plan->reads[i].data[0] != '/' ||
            arcp__sandbox_is_kernels(plan, ARCP__CAPABILITY_FS_READ, plan->reads[i])) {
            continue;
        }
        const arcp_span directory = arcp__broker_beginning(plan->reads[i]);
        bool is_covered = false;
        for (size_t k = 0; k < count; k++) {
            is_covered = is_covered || arcp__path_is_within(directory, out[k]);
        }
        if (is_covered) {
            continue;
        }
        size_t kept = 0;
        for (size_t k = 0; k < count; k++) {
            if (!arcp__path_is_within(out[k], directory)) {
                out[kept++] = out[k];
            }
        }
        count = kept;
        if (count == ARCP__BROKER_CLONES_MAX) {
            out[0] = arcp_span_first(directory, 1);
            return 1;
        }
        out[count++] = directory;
    }
    return count;
}
