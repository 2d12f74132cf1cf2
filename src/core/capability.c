#include "core/capability.h"

#include <arcp/lease.h>

typedef struct row {
    const char *name;
    size_t size;
    arcp__target_kind kind;
    bool reserved;
} row;

static const row rows[ARCP__CAPABILITY_COUNT] = {
    [ARCP__CAPABILITY_UNKNOWN] = {"", 0, ARCP__TARGET_NONE, false},
#define ARCP_CAPABILITY(id, name, kind, separators, reserved)                                      \
    [ARCP__CAPABILITY_##id] = {name, sizeof(name) - 1, ARCP__TARGET_##kind, reserved},
#include <arcp/capability.def>
#undef ARCP_CAPABILITY
};

/* The table's separators must agree with arcp__target_kind_has_dots. */
#define ARCP_CAPABILITY(id, name, kind, separators, reserved)                                      \
    _Static_assert(ARCP__TARGET_##kind == ARCP__TARGET_AMOUNT ||                                   \
                       sizeof(separators) - 1 ==                                                   \
                           (ARCP__TARGET_##kind == ARCP__TARGET_TOOL ? 2 : 1),                     \
                   "'/' separates everywhere, '.' in tool names");
#include <arcp/capability.def>
#undef ARCP_CAPABILITY

/* x-vendor(\.[a-z0-9_-]+){2,} [arcp:LA-3] */
static bool is_vendor_name(arcp_span name)
{
    const row *vendor = &rows[ARCP__CAPABILITY_VENDOR];
    if (!arcp_span_starts_with(name, arcp_span_make(vendor->name, vendor->size))) {
        return false;
    }
    size_t segments = 0;
    size_t i = vendor->size - 1;
    while (i < name.size && name.data[i] == '.') {
        const size_t begin = ++i;
        while (i < name.size && ((name.data[i] >= 'a' && name.data[i] <= 'z') ||
                                 (name.data[i] >= '0' && name.data[i] <= '9') ||
                                 name.data[i] == '_' || name.data[i] == '-')) {
            i++;
        }
        if (i == begin) {
            return false;
        }
        segments++;
    }
    return i == name.size && segments >= 2;
}

arcp__capability arcp__capability_from_name(arcp_span name)
{
    /* The last row stands for all vendors and is not a name. */
    for (arcp__capability i = 1; i < ARCP__CAPABILITY_VENDOR; i++) {
        if (rows[i].size == name.size && rows[i].name[0] == name.data[0] &&
            memcmp(rows[i].name, name.data, name.size) == 0) {
            return i;
        }
    }
    return is_vendor_name(name) ? ARCP__CAPABILITY_VENDOR : ARCP__CAPABILITY_UNKNOWN;
}

const char *arcp__capability_name(arcp__capability capability)
{
    return rows[capability].name;
}

arcp__target_kind arcp__capability_kind(arcp__capability capability)
{
    return rows[capability].kind;
}

bool arcp__capability_is_glob(arcp__capability capability)
{
    const arcp__target_kind kind = rows[capability].kind;
    return kind != ARCP__TARGET_NONE && kind != ARCP__TARGET_AMOUNT;
}

/* [arcp:9.2-1] [arcp:LA-22] */
bool arcp_capability_is_reserved(arcp_span name)
{
    return rows[arcp__capability_from_name(name)].reserved;
}

bool arcp_capability_is_valid(arcp_span name)
{
    return arcp__capability_from_name(name) != ARCP__CAPABILITY_UNKNOWN;
}
