/* One row of a table after a restart: a session, a job, or an idempotency key. */
#include "engine/restore.h"

#define OVERDUE_TURN_NS  (10 * ARCP_NS_PER_MS)
#define RECORD_BYTES_MAX (UINT64_C(1) << 50) /* of one job: more fits no disk */

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
    arcp__principal *principal = arcp__principal_get(engine, row.principal);
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

static bool copy_id(char to[ARCP__ID_SIZE], arcp_span text)
{
    if (text.size >= ARCP__ID_SIZE) {
        return false;
    }
    memcpy(to, text.data == NULL ? "" : text.data, text.size);
    return true;
}

static arcp__piece piece_of(const arcp_json *row, arcp_json_ref whole, arcp_json_ref part)
{
    if (part == ARCP_JSON_ABSENT) {
        return (arcp__piece){0, 0};
    }
    const arcp_span text = arcp_json_raw(row, part);
    return (arcp__piece){.at = (uint32_t)(text.data - arcp_json_raw(row, whole).data),
                         .size = (uint32_t)text.size};
}

/* Of a job that has ended, the lease is only shown, as it was written, unless it has counters. */
static arcp_status restore_lease(const arcp_json *json, const arcp__job_row *row,
                                 const arcp__accepted_row *said, arcp__job *job, arcp_error *err)
{
    arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
    limits.patterns_max = SIZE_MAX; /* it was accepted under limits that may be others now */
    limits.bytes_max = SIZE_MAX;
    arcp_lease *lease = NULL;
    arcp_status status = ARCP_OK;
    if (!arcp_job_status_is_terminal(job->status) || row->spent != ARCP_JSON_ABSENT) {
        status =
            arcp_lease_from_json(json, said->lease, said->lease_constraints, &limits, &lease, err);
    }
    job->live->lease = lease;
    job->lease = piece_of(json, row->accepted, said->lease);
    job->constraints = piece_of(json, row->accepted, said->lease_constraints);
    return status;
}

static void restore_end(arcp__engine *engine, const arcp__job_row *row, arcp__job *job)
{
    job->ended_wall_ns = row->ended_at != 0 ? row->ended_at : engine->context.now.wall_ns;
    job->principal->running_jobs--;
    engine->running_jobs--;
    job->stream->next = row->records;
    arcp__job_count_bytes(job, row->bytes);
    job->first_seq = row->first_seq;
    job->last_seq = row->last_seq;
    int64_t age_ns = engine->context.now.wall_ns - job->ended_wall_ns;
    int64_t keep_ns = (int64_t)engine->context.settings.jobs_keep_terminal_sec * ARCP_NS_PER_SEC;
    /* Those that became due while nothing ran go some at a time. */
    int64_t turn = 1 + (int64_t)(engine->kept[ARCP__KEPT_JOBS].total / ARCP__FORGOTTEN_AT_ONCE);
    int64_t left_ns = keep_ns > age_ns ? keep_ns - age_ns : turn * OVERDUE_TURN_NS;
    arcp__job_keep(engine, job, engine->context.now.mono_ns + left_ns);
}
static arcp_status restore_job(arcp__engine *engine, const arcp_json *json, arcp_span key,
                               arcp_error *err)
{
    arcp_buf *scratch = &engine->context.scratch;
    arcp__job_row row = {0};
    arcp__accepted_row said = {0};
    if (!arcp__decode_row(json, scratch, ARCP_JSON_ROOT, &arcp__job_members, &row) ||
        !arcp__decode_row(json, scratch, row.accepted, &arcp__accepted_members, &said) ||
        arcp_job_status_from_wire(row.status) == ARCP_JOB_STATUS_COUNT || key.size == 0 ||
        key.size >= ARCP__ID_SIZE || row.bytes > RECORD_BYTES_MAX || said.trace_id.size != 32) {
        return arcp__row_damaged("job", key, err);
    }
    arcp__principal *principal = arcp__principal_get(engine, row.principal);
    arcp__job *job = principal == NULL ? NULL : arcp__job_add_restored(engine, principal, key);
    if (job == NULL) {
        return arcp__row_out_of_memory(err);
    }
    job->status = arcp_job_status_from_wire(row.status);
    job->features = (arcp_feature_set)row.features;
    job->created_wall_ns = said.accepted_at;
    memcpy(job->trace_id, said.trace_id.data, said.trace_id.size);
    if (!copy_id(job->session_id, row.session_id) || !copy_id(job->parent_id, said.parent_job_id) ||
        !copy_id(job->result_id, row.result_id)) {
        return arcp__row_damaged("job", key, err);
    }
    if (!copy_cstr(&job->agent_text, said.agent) ||
        !copy_cstr(&job->accepted, arcp_json_raw(json, row.accepted))) {
        return arcp__row_out_of_memory(err);
    }
    arcp_status status = restore_lease(json, &row, &said, job, err);
    if (status == ARCP_OK) {
        status = arcp__budget_keep_row(engine, json, row.spent, key, false, err);
    }
    if (status == ARCP_OK) {
        status = arcp__idempotency_restore_of_job(engine, json, row.idempotency, job, err);
    }
    if (status == ARCP_OK) {
        arcp__job_note_head(job);
        arcp__trace_restore(engine, json, row.trace, job);
        if (arcp_job_status_is_terminal(job->status)) {
            restore_end(engine, &row, job);
        }
    }
    return status;
}

arcp_status arcp__restore_take_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                   arcp_error *err)
{
    const arcp_json *json = &engine->context.json;
    arcp_span job_id;
    switch (table) {
    case ARCP_STORE_SESSIONS:
        return restore_session(engine, json, key, err);
    case ARCP_STORE_JOBS:
        return arcp__budget_row_key(key, &job_id)
                   ? arcp__budget_keep_row(
                         engine, json,
                         arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("spent")), job_id,
                         true, err)
                   : restore_job(engine, json, key, err);
    case ARCP_STORE_CREDENTIALS:
        return arcp__credential_restore(&engine->credentials, json, key, err);
    case ARCP_STORE_IDEMPOTENCY:
        return arcp__idempotency_restore(engine, json, key, err);
    case ARCP_STORE_META:
    case ARCP_STORE_PROCESSES:
    case ARCP_STORE_SUBSCRIPTIONS:
    case ARCP_STORE_TABLE_COUNT:
        break;
    }
    return ARCP_OK;
}
