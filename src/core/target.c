#include "core/target.h"

#include "base/utf8.h"
#include "core/target_kinds.h"

/* What most targets are: canonical as they come. One look at each byte. */
static bool is_plain(arcp__target_kind kind, arcp_span target)
{
    switch (kind) {
    case ARCP__TARGET_PATH:
        return arcp__target_path_is_plain(target);
    case ARCP__TARGET_URL:
        return arcp__target_url_is_plain(target);
    case ARCP__TARGET_TOOL:
    case ARCP__TARGET_NAME:
        return arcp__target_name_is_plain(target);
    case ARCP__TARGET_NONE:
    case ARCP__TARGET_AMOUNT:
    case ARCP__TARGET_KIND_COUNT:
        break;
    }
    return false;
}

/* The rest, and whatever has to be denied: with every check in its order. */
static arcp_deny_reason canonicalise(arcp__target_kind kind, arcp_span cwd, arcp_span target,
                                     arcp_target_scratch *scratch, arcp_span *canonical)
{
    if (memchr(target.data, '\0', target.size) != NULL) {
        return ARCP_DENY_NUL;
    }
    if (target.size > ARCP_TARGET_BYTES_MAX) {
        return ARCP_DENY_TOO_LONG;
    }
    switch (kind) {
    case ARCP__TARGET_PATH:
        return arcp__target_path(target, cwd.size != 0, scratch->bytes, canonical);
    case ARCP__TARGET_URL:
        return arcp__target_url(target, scratch->bytes, canonical);
    case ARCP__TARGET_TOOL:
    case ARCP__TARGET_NAME: {
        const arcp_deny_reason reason = arcp__target_name(target);
        if (reason == ARCP_DENY_NONE) {
            *canonical = target;
        }
        return reason;
    }
    case ARCP__TARGET_NONE:
    case ARCP__TARGET_AMOUNT:
    case ARCP__TARGET_KIND_COUNT:
        break;
    }
    return ARCP_DENY_UNKNOWN_CAPABILITY;
}

/* [arcp:LA-7] */
arcp_deny_reason arcp__target_canonicalise(arcp__capability capability, arcp_span cwd,
                                           arcp_span target, arcp_target_scratch *scratch,
                                           arcp_span *canonical)
{
    if (target.size == 0) {
        return ARCP_DENY_EMPTY;
    }
    const arcp__target_kind kind = arcp__capability_kind(capability);
    if (target.size <= ARCP_TARGET_BYTES_MAX && is_plain(kind, target)) {
        *canonical = target;
        return ARCP_DENY_NONE;
    }
    return canonicalise(kind, cwd, target, scratch, canonical);
}
