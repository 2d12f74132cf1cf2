/* Compiled sets against the model. Input: a byte that selects the capability, then lines; the last
 * one is the target, the others are patterns. */
#include <stdlib.h>
#include <string.h>

#include "core/glob_model.h"
#include "core/glob_pattern.h"
#include "core/glob_set.h"
#include "lines.h"

enum { INPUT_MAX = 400, LINES_MAX = 12 };

/* The set of these patterns must match the same targets as the model. */
static void check(arcp__capability capability, const arcp_span *patterns, size_t count,
                  arcp_span target)
{
    const arcp__target_kind kind = arcp__capability_kind(capability);
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    bool is_good = true;
    for (size_t i = 0; i < count; i++) {
        is_good = is_good && arcp__glob_pattern_fault(patterns[i]) == NULL;
    }
    const arcp_status status = arcp__glob_set_compile(capability, patterns, count, &set, &err);
    require(status == (is_good ? ARCP_OK : ARCP_E_INVALID_REQUEST));
    if (status != ARCP_OK) {
        return;
    }
    size_t index = SIZE_MAX;
    const bool matches = arcp__glob_set_match(set, target, &index);
    require(matches == model_matches_any(kind, patterns, count, target));
    require(!matches || model_matches(kind, patterns[index], target));
    arcp__glob_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const arcp__capability capabilities[] = {
        ARCP__CAPABILITY_FS_READ, ARCP__CAPABILITY_NET_FETCH, ARCP__CAPABILITY_TOOL_CALL,
        ARCP__CAPABILITY_MODEL_USE};
    if (size < 2 || size > INPUT_MAX) {
        return 0;
    }
    arcp_span lines[LINES_MAX];
    const arcp__capability capability = capabilities[data[0] % 4];
    const size_t count =
        cut_lines(arcp_span_make((const char *)data + 1, size - 1), lines, LINES_MAX);
    const arcp_span target = lines[count - 1];
    if (target.size > 0 && memchr(target.data, '\0', target.size) != NULL) {
        return 0; /* no canonical target has one */
    }
    check(capability, lines, count - 1, target);
    for (size_t i = 0; i + 1 < count; i++) {
        check(capability, &lines[i], 1, target);
    }
    return 0;
}
