/* Canonical targets against the model and against the machine of target_shape.h. Input: a byte that
 * selects the capability and whether there is a directory, then the target. */
#include <stdlib.h>
#include <string.h>

#include "core/target.h"
#include "core/target_model.h"
#include "core/target_shape.h"

static bool is_canonical_shape(arcp__target_kind kind, arcp_span target)
{
    arcp__shape shape = ARCP__SHAPE_START;
    for (size_t i = 0; i < target.size && shape != ARCP__SHAPE_DEAD; i++) {
        shape = arcp__shape_step(kind, shape, (unsigned char)target.data[i]);
    }
    return arcp__shape_is_target(kind, shape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const arcp__capability capabilities[] = {
        ARCP__CAPABILITY_FS_READ,     ARCP__CAPABILITY_NET_FETCH, ARCP__CAPABILITY_NET_FETCH,
        ARCP__CAPABILITY_NET_FETCH,   ARCP__CAPABILITY_TOOL_CALL, ARCP__CAPABILITY_MODEL_USE,
        ARCP__CAPABILITY_COST_BUDGET, ARCP__CAPABILITY_UNKNOWN};
    if (size < 1 || size > 1000) {
        return 0;
    }
    static arcp_target_scratch scratch;
    const arcp__capability capability = capabilities[data[0] % 8];
    const arcp__target_kind kind = arcp__capability_kind(capability);
    const bool has_cwd = data[0] < 128;
    const arcp_span target = arcp_span_make((const char *)data + 1, size - 1);
    arcp_span canonical = ARCP_SPAN_LITERAL("");
    arcp_buf want = arcp_buf_init();
    const arcp_deny_reason reason = arcp__target_canonicalise(
        capability, arcp_span_cstr(has_cwd ? "/job" : ""), target, &scratch, &canonical);
    require(reason == model_canonicalise(kind, has_cwd, target, &want));
    require(arcp_span_equal(canonical, arcp_buf_span(&want)));
    if (reason == ARCP_DENY_NONE) {
        require(is_canonical_shape(kind, canonical));
        require((canonical.data == target.data) == arcp_span_equal(canonical, target));
    }
    const bool is_relative = kind == ARCP__TARGET_PATH && target.size > 0 && target.data[0] != '/';
    if (has_cwd || !is_relative) {
        require(is_canonical_shape(kind, target) ==
                (reason == ARCP_DENY_NONE && canonical.data == target.data));
    }
    arcp_buf_fini(&want);
    return 0;
}
