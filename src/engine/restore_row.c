/* One row of a table after a restart. */
#include "engine/restore.h"

static bool copy_cstr(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static arcp_status restore_session(arcp__engine *engine, const arcp_json *json, arcp_span key,
                                   arcp_error *err)
{
    arcp__session_row row = {0};
    if (!arcp__decode_row(json, &engine->context.scratch, ARCP_JSON_ROOT, &arcp__session_members,
                          &row) ||
        row.session_id.size >= ARCP__ID_SIZE || !arcp_span_equal(row.session_id, key)) {
        return arcp__row_damaged("session", key, err);
    }
    arcp__principal *principal = arcp__principal_get(&engine->jobs, row.principal);
    arcp__session *session =
        principal == NULL ? NULL : arcp__session_add_restored(engine, principal, row.session_id);
    if (session == NULL) {
        return arcp__row_out_of_memory(err);
    }
    session->is_anonymous = row.anonymous;
    session->features = (arcp_feature_set)row.features & ARCP_FEATURES_ALL;
    session->acked_seq = row.acked_seq;
    session->profile = arcp__peer_profile_of(engine, row.client, principal);
    session->created_wall_ns = row.created_at;
    memcpy(session->token_hash, row.token_hash, sizeof(row.token_hash));
    memcpy(session->previous_hash, row.previous_token_hash, sizeof(row.previous_token_hash));
    static const uint8_t none[32] = {0};
    session->has_previous = memcmp(row.previous_token_hash, none, sizeof(none)) != 0;
    return copy_cstr(&session->client_name, row.client) &&
                   copy_cstr(&session->client_version, row.client_version)
               ? ARCP_OK
               : arcp__row_out_of_memory(err);
}

arcp_status arcp__restore_take_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                   arcp_error *err)
{
    const arcp_json *json = &engine->context.json;
    switch (table) {
    case ARCP_STORE_SESSIONS:
        return restore_session(engine, json, key, err);
    case ARCP_STORE_JOBS:
        return arcp__job_restore_row(&engine->jobs, key, err);
    case ARCP_STORE_CREDENTIALS:
        return arcp__credential_restore(&engine->credentials, json, key, err);
    case ARCP_STORE_IDEMPOTENCY:
        return arcp__idempotency_restore_row(&engine->jobs, key, err);
    case ARCP_STORE_META:
    case ARCP_STORE_PROCESSES:
    case ARCP_STORE_SUBSCRIPTIONS:
    case ARCP_STORE_TABLE_COUNT:
        break;
    }
    return ARCP_OK;
}
