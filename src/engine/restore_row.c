/* One row of a table after a restart: a session, a job, or an idempotency key. */
#include "engine/restore.h"

#define OVERDUE_TURN_NS  (10 * ARCP_NS_PER_MS)
#define RECORD_BYTES_MAX (UINT64_C(1) << 50) /* of one job: more fits no disk */

static bool copy_cstr(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static arcp_status restore_session(arcp__engine *engine, const arcp_json *row, arcp_span key,
                                   arcp_error *err)
{
    arcp_span principal_name = arcp__row_text(&engine->context, row, "principal");
    arcp_span id = arcp__row_text(&engine->context, row, "session_id");
    if (principal_name.size == 0 || id.size == 0 || id.size >= ARCP__ID_SIZE ||
        !arcp_span_equal(id, key)) {
        return arcp__row_damaged("session", key, err);
    }
    arcp__principal *principal = arcp__principal_get(engine, principal_name);
    arcp__session *session =
        principal == NULL ? NULL : arcp__session_add_restored(engine, principal, id);
    if (session == NULL) {
        return arcp__row_out_of_memory(err);
    }
    session->is_anonymous = arcp_json_is(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("anonymous")), ARCP_JSON_TRUE);
    session->features = (arcp_feature_set)arcp__row_number(row, "features") & ARCP_FEATURES_ALL;
    session->acked_seq = arcp__row_number(row, "acked_seq");
    session->profile =
        arcp__peer_profile_of(engine, arcp__row_text(&engine->context, row, "client"), principal);
    session->has_previous = arcp__row_hash(
        arcp__row_text(&engine->context, row, "previous_token_hash"), session->previous_hash);
    if (!arcp__row_instant(&engine->context, row, ARCP_JSON_ROOT, "created_at",
                           &session->created_wall_ns) ||
        !arcp__row_hash(arcp__row_text(&engine->context, row, "token_hash"), session->token_hash)) {
        return arcp__row_damaged("session", key, err);
    }
    if (!copy_cstr(&session->client_name, arcp__row_text(&engine->context, row, "client")) ||
        !copy_cstr(&session->client_version,
                   arcp__row_text(&engine->context, row, "client_version"))) {
        return arcp__row_out_of_memory(err);
    }
    return ARCP_OK;
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
static bool needs_lease(const arcp_json *row, const arcp__job *job)
{
    return !arcp_job_status_is_terminal(job->status) ||
           arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("spent")) != ARCP_JSON_ABSENT;
}

static arcp_status restore_lease(const arcp_json *row, arcp_json_ref accepted, arcp__job *job,
                                 arcp_error *err)
{
    arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
    limits.patterns_max = SIZE_MAX; /* it was accepted under limits that may be others now */
    limits.bytes_max = SIZE_MAX;
    arcp_json_ref asked = arcp_json_member(row, accepted, ARCP_SPAN_LITERAL("lease"));
    arcp_json_ref constraints =
        arcp_json_member(row, accepted, ARCP_SPAN_LITERAL("lease_constraints"));
    arcp_lease *lease = NULL;
    arcp_status status = ARCP_OK;
    if (needs_lease(row, job)) {
        status = arcp_lease_from_json(row, asked, constraints, &limits, &lease, err);
    }
    job->live->lease = lease;
    job->lease = piece_of(row, accepted, asked);
    job->constraints = piece_of(row, accepted, constraints);
    return status;
}

/* Most of it as job.accepted said it. */
static arcp_status restore_job_texts(arcp__engine *engine, const arcp_json *row,
                                     arcp_json_ref accepted, arcp__job *job, arcp_span key,
                                     arcp_error *err)
{
    arcp_span trace = arcp__row_text_of(&engine->context, row, accepted, "trace_id");
    if (trace.size != 32 || !arcp_json_is(row, accepted, ARCP_JSON_OBJECT) ||
        !copy_id(job->session_id, arcp__row_text(&engine->context, row, "session_id")) ||
        !copy_id(job->parent_id,
                 arcp__row_text_of(&engine->context, row, accepted, "parent_job_id")) ||
        !copy_id(job->result_id, arcp__row_text(&engine->context, row, "result_id")) ||
        !arcp__row_instant(&engine->context, row, accepted, "accepted_at", &job->created_wall_ns)) {
        return arcp__row_damaged("job", key, err);
    }
    memcpy(job->trace_id, trace.data, 32);
    if (!copy_cstr(&job->agent_text, arcp__row_text_of(&engine->context, row, accepted, "agent")) ||
        !copy_cstr(&job->accepted, arcp_json_raw(row, accepted))) {
        return arcp__row_out_of_memory(err);
    }
    return ARCP_OK;
}

static void restore_end(arcp__engine *engine, const arcp_json *row, arcp__job *job)
{
    if (!arcp__row_instant(&engine->context, row, ARCP_JSON_ROOT, "ended_at",
                           &job->ended_wall_ns)) {
        job->ended_wall_ns = engine->context.now.wall_ns;
    }
    job->principal->running_jobs--;
    engine->running_jobs--;
    job->stream->next = arcp__row_number(row, "records");
    arcp__job_count_bytes(job, arcp__row_number(row, "bytes"));
    job->first_seq = arcp__row_number(row, "first_seq");
    job->last_seq = arcp__row_number(row, "last_seq");
    int64_t age_ns = engine->context.now.wall_ns - job->ended_wall_ns;
    int64_t keep_ns = (int64_t)engine->context.settings.jobs_keep_terminal_sec * ARCP_NS_PER_SEC;
    /* Those that became due while nothing ran go some at a time. */
    int64_t turn = 1 + (int64_t)(engine->kept[ARCP__KEPT_JOBS].total / ARCP__FORGOTTEN_AT_ONCE);
    int64_t left_ns = keep_ns > age_ns ? keep_ns - age_ns : turn * OVERDUE_TURN_NS;
    arcp__job_keep(engine, job, engine->context.now.mono_ns + left_ns);
}

static arcp_status restore_job(arcp__engine *engine, const arcp_json *row, arcp_span key,
                               arcp_error *err)
{
    arcp_span principal_name = arcp__row_text(&engine->context, row, "principal");
    arcp_job_status status_word =
        arcp_job_status_from_wire(arcp__row_text(&engine->context, row, "status"));
    if (principal_name.size == 0 || status_word == ARCP_JOB_STATUS_COUNT || key.size == 0 ||
        key.size >= ARCP__ID_SIZE || arcp__row_number(row, "bytes") > RECORD_BYTES_MAX) {
        return arcp__row_damaged("job", key, err);
    }
    arcp__principal *principal = arcp__principal_get(engine, principal_name);
    arcp__job *job = principal == NULL ? NULL : arcp__job_add_restored(engine, principal, key);
    if (job == NULL) {
        return arcp__row_out_of_memory(err);
    }
    job->status = status_word;
    job->features = (arcp_feature_set)arcp__row_number(row, "features");
    arcp_json_ref accepted = arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("accepted"));
    arcp_status status = restore_job_texts(engine, row, accepted, job, key, err);
    if (status == ARCP_OK) {
        status = restore_lease(row, accepted, job, err);
    }
    if (status == ARCP_OK) {
        status = arcp__budget_keep_row(engine, row, key, false, err);
    }
    if (status == ARCP_OK) {
        status = arcp__idempotency_restore_of_job(engine, row, job, err);
    }
    if (status == ARCP_OK) {
        arcp__job_note_head(job);
        arcp__trace_restore(engine, row, job);
        if (arcp_job_status_is_terminal(status_word)) {
            restore_end(engine, row, job);
        }
    }
    return status;
}

arcp_status arcp__restore_take_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                   arcp_error *err)
{
    if (table == ARCP_STORE_SESSIONS) {
        return restore_session(engine, &engine->context.json, key, err);
    }
    if (table == ARCP_STORE_JOBS) {
        arcp_span job_id;
        return arcp__budget_row_key(key, &job_id)
                   ? arcp__budget_keep_row(engine, &engine->context.json, job_id, true, err)
                   : restore_job(engine, &engine->context.json, key, err);
    }
    if (table == ARCP_STORE_CREDENTIALS) {
        return arcp__credential_restore(&engine->credentials, &engine->context.json, key, err);
    }
    if (table == ARCP_STORE_IDEMPOTENCY) {
        return arcp__idempotency_restore(engine, &engine->context.json, key, err);
    }
    return ARCP_OK;
}
