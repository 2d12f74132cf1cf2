#include "engine/peer_profile.h"

#include <stddef.h>

#include "core/name_glob.h"

static const arcp__peer_profile rows[] = {
#define ARCP_PEER_PROFILE(row_name, row_glob, ...)                                                 \
    {.name = row_name, .client_glob = row_glob, __VA_ARGS__},
#include "engine/peer_profile.def"
#undef ARCP_PEER_PROFILE
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

const arcp__peer_profile *arcp__peer_profile_draft(void)
{
    return &rows[0];
}

const arcp__peer_profile *arcp__peer_profile_named(arcp_span name)
{
    for (size_t row = 0; row < ROW_COUNT; row++) {
        if (arcp_span_equal_cstr(name, rows[row].name)) {
            return &rows[row];
        }
    }
    return NULL;
}

const char *arcp__peer_profile_names(void)
{
    static const char names[] =
#define ARCP_PEER_PROFILE(name, client_glob, ...) ", " name
#include "engine/peer_profile.def"
#undef ARCP_PEER_PROFILE
        ;
    return names + 2; /* behind the first separator */
}

const arcp__peer_profile *arcp__peer_profile_for_client(arcp_span client_name)
{
    for (size_t row = 0; row < ROW_COUNT; row++) {
        if (rows[row].client_glob != NULL &&
            arcp__name_glob_matches(rows[row].client_glob, client_name)) {
            return &rows[row];
        }
    }
    return &rows[0];
}
