#include "session/session_state.h"

#include "core/name_glob.h"

static const arcp__peer_profile table[] = {
#define ARCP_PEER_PROFILE(row_name, row_glob, ...)                                                 \
    {.name = row_name, .client_glob = row_glob, __VA_ARGS__},
#include "session/peer_profile.def"
#undef ARCP_PEER_PROFILE
};
#define ROW_COUNT (sizeof table / sizeof table[0])

const arcp__peer_profile *arcp__peer_profile_draft(void)
{
    return &table[0];
}

const arcp__peer_profile *arcp__peer_profile_named(arcp_span name)
{
    for (size_t row = 0; row < ROW_COUNT; row++) {
        if (arcp_span_equal_cstr(name, table[row].name)) {
            return &table[row];
        }
    }
    return NULL;
}

const char *arcp__peer_profile_names(void)
{
    static const char names[] =
#define ARCP_PEER_PROFILE(name, client_glob, ...) ", " name
#include "session/peer_profile.def"
#undef ARCP_PEER_PROFILE
        ;
    return names + 2; /* skip the first separator */
}

/* ---- which profile a client gets ---- */

static char *copy_glob(arcp_span glob)
{
    return glob.size == 0 ? arcp__copy_cstr("*", 1) : arcp__copy_cstr(glob.data, glob.size);
}

arcp_status arcp__peer_profile_add(arcp__sessions *sessions, const arcp__peer_profile_rule *rule,
                                   arcp_error *err)
{
    const arcp__peer_profile *named = arcp__peer_profile_named(rule->profile);
    if (named == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no peer profile \"%.*s\"",
                              (int)arcp_span_first(rule->profile, 40).size, rule->profile.data);
    }
    arcp__profile_row *rows =
        arcp__realloc_array(sessions->profiles, sessions->profile_count + 1, sizeof *rows);
    if (rows != NULL) {
        sessions->profiles = rows;
    }
    const arcp__profile_row row = {copy_glob(rule->client_glob), copy_glob(rule->principal_glob),
                                   named};
    if (rows == NULL || row.client_glob == NULL || row.principal_glob == NULL) {
        arcp__free(row.client_glob);
        arcp__free(row.principal_glob);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    rows[sessions->profile_count++] = row;
    return ARCP_OK;
}

void arcp__peer_profiles_clear(arcp__sessions *sessions)
{
    for (size_t i = 0; i < sessions->profile_count; i++) {
        arcp__free(sessions->profiles[i].client_glob);
        arcp__free(sessions->profiles[i].principal_glob);
    }
    arcp__free(sessions->profiles);
    sessions->profiles = NULL;
    sessions->profile_count = 0;
}

const arcp__peer_profile *arcp__peer_profile_of(const arcp__sessions *sessions, arcp_span client,
                                                const arcp__principal *principal)
{
    const arcp_span name = principal == NULL ? ARCP__NOTHING : arcp_span_cstr(principal->name);
    for (size_t i = sessions->profile_count; i > 0; i--) {
        const arcp__profile_row *row = &sessions->profiles[i - 1];
        if (arcp__name_glob_matches(row->client_glob, client) &&
            arcp__name_glob_matches(row->principal_glob, name)) {
            return row->profile;
        }
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (table[i].client_glob != NULL && arcp__name_glob_matches(table[i].client_glob, client)) {
            return &table[i];
        }
    }
    return arcp__peer_profile_draft();
}
