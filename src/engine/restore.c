/* Taking up what the store holds after a restart.
 *
 *   1. rows       sessions, jobs and keys as their tables say; observers are kept aside
 *   2. observers  who gets which job's records
 *   3. indexes    each session's numbers (its stream "x:") are read
 *   4. tails      where the streams of running jobs and of sessions' own records end
 *   5. ends       jobs that were running end as INTERNAL_ERROR, once, numbered and stored
 *                 like any other end
 *
 * Steps 3 and 4 are READ effects; arcp__engine_is_restored says when all is done. */
#include "engine/parts.h"

#include <stdio.h>

#include "base/timestamp.h"

#define PAGE_RECORDS 4096u
#define PAGE_BYTES   1048576u

typedef enum read_kind { READ_INDEX, READ_TAIL } read_kind;

typedef struct restore_read {
    struct restore_read *next;
    uint64_t id;
    read_kind kind;
    arcp__session *session; /* READ_INDEX; pinned */
    arcp__stream *stream;   /* READ_TAIL; referenced */
    uint64_t from;
} restore_read;

typedef struct kept_row {
    struct kept_row *next;
    size_t size;
    char text[];
} kept_row;

typedef struct arcp__restore {
    restore_read *reads;
    kept_row *observers;
    bool is_tailing; /* step 4 has begun */
} arcp__restore;

/* ---- rows ---- */

static arcp_span text_of(arcp__engine *engine, const arcp_json *row, const char *name)
{
    return arcp_json_string(row, arcp_json_member(row, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                            &engine->scratch);
}

static uint64_t number_of(const arcp_json *row, const char *name)
{
    uint64_t value = 0;
    (void)arcp_json_u64(row, arcp_json_member(row, ARCP_JSON_ROOT, arcp_span_cstr(name)), &value);
    return value;
}

static bool read_instant(arcp__engine *engine, const arcp_json *row, const char *name,
                         int64_t *wall_ns)
{
    arcp__instant instant;
    if (arcp__timestamp_parse(text_of(engine, row, name), &instant, NULL) != ARCP_OK) {
        return false;
    }
    *wall_ns = instant.wall_ns;
    return true;
}

static int nibble(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_hash(arcp_span hex, uint8_t out[32])
{
    if (hex.size != 64) {
        return false;
    }
    for (size_t at = 0; at < 32; at++) {
        int high = nibble(hex.data[2 * at]);
        int low = nibble(hex.data[2 * at + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[at] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static arcp_status damaged(const char *what, arcp_span key, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT, "the stored %s \"%.*s\" is damaged", what,
                          (int)arcp_span_first(key, 64).size, key.data);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static bool copy_cstr(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static arcp_status restore_session(arcp__engine *engine, const arcp_json *row, arcp_span key,
                                   arcp_error *err)
{
    arcp_span principal_name = text_of(engine, row, "principal");
    arcp_span id = text_of(engine, row, "session_id");
    if (principal_name.size == 0 || id.size == 0 || id.size >= ARCP__ID_SIZE) {
        return damaged("session", key, err);
    }
    arcp__principal *principal = arcp__principal_get(engine, principal_name);
    arcp__session *session =
        principal == NULL ? NULL : arcp__session_add_restored(engine, principal, id);
    if (session == NULL) {
        return no_memory(err);
    }
    session->is_anonymous = arcp_json_is(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("anonymous")), ARCP_JSON_TRUE);
    session->features = (arcp_feature_set)number_of(row, "features") & ARCP_FEATURES_ALL;
    session->acked_seq = number_of(row, "acked_seq");
    session->profile = arcp__directory_profile(engine, text_of(engine, row, "client"), principal);
    session->has_previous =
        read_hash(text_of(engine, row, "previous_token_hash"), session->previous_hash);
    if (!read_instant(engine, row, "created_at", &session->created_wall_ns) ||
        !read_hash(text_of(engine, row, "token_hash"), session->token_hash)) {
        return damaged("session", key, err);
    }
    if (!copy_cstr(&session->client_name, text_of(engine, row, "client")) ||
        !copy_cstr(&session->client_version, text_of(engine, row, "client_version"))) {
        return no_memory(err);
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

static arcp_status restore_lease(arcp__engine *engine, const arcp_json *row, arcp__job *job,
                                 arcp_error *err)
{
    arcp_lease_limits limits = {SIZE_MAX, SIZE_MAX, 4096, 32};
    arcp_lease *lease = NULL;
    arcp_budget *budget = NULL;
    arcp_authority *authority = NULL;
    arcp_status status = arcp_lease_from_json(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease")),
        arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease_constraints")), &limits,
        &lease, err);
    job->lease = lease;
    if (status == ARCP_OK) {
        status = arcp_budget_new(lease, NULL, &budget, err);
    }
    if (status == ARCP_OK) {
        arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
        options.budget = budget;
        options.now = engine->now;
        status = arcp_authority_new(lease, &options, &authority, err);
        job->authority = authority;
    }
    arcp_budget_unref(budget);
    return status;
}

static arcp_status restore_job_texts(arcp__engine *engine, const arcp_json *row, arcp__job *job,
                                     arcp_span key, arcp_error *err)
{
    arcp_span trace = text_of(engine, row, "trace_id");
    arcp_json_ref accepted = arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("accepted"));
    if (trace.size != 32 || !arcp_json_is(row, accepted, ARCP_JSON_OBJECT) ||
        !copy_id(job->session_id, text_of(engine, row, "session_id")) ||
        !copy_id(job->parent_id, text_of(engine, row, "parent_job_id")) ||
        !copy_id(job->result_id, text_of(engine, row, "result_id")) ||
        !read_instant(engine, row, "created_at", &job->created_wall_ns)) {
        return damaged("job", key, err);
    }
    memcpy(job->trace_id, trace.data, 32);
    arcp_span empty = {NULL, 0};
    if (!copy_cstr(&job->agent_text, text_of(engine, row, "agent")) ||
        !copy_cstr(&job->accepted, arcp_json_raw(row, accepted)) ||
        !copy_cstr(&job->delegate_id, empty) || !copy_cstr(&job->traceparent, empty) ||
        !copy_cstr(&job->tracestate, empty) || !copy_cstr(&job->cwd, empty)) {
        return no_memory(err);
    }
    return ARCP_OK;
}

static void restore_end(arcp__engine *engine, const arcp_json *row, arcp__job *job)
{
    if (!read_instant(engine, row, "ended_at", &job->ended_wall_ns)) {
        job->ended_wall_ns = engine->now.wall_ns;
    }
    job->ended = true;
    job->principal->running_jobs--;
    engine->running_jobs--;
    job->stream->next = number_of(row, "records");
    job->stream->bytes = number_of(row, "bytes");
    int64_t age_ns = engine->now.wall_ns - job->ended_wall_ns;
    int64_t keep_ns = (int64_t)engine->settings.jobs_keep_terminal_sec * ARCP_NS_PER_SEC;
    int64_t left_ns = keep_ns > age_ns ? keep_ns - age_ns : 0;
    arcp__engine_arm(engine, &job->keep_timer, ARCP__TIMER_JOB_KEEP, job,
                     engine->now.mono_ns + left_ns);
}

static arcp_status restore_job(arcp__engine *engine, const arcp_json *row, arcp_span key,
                               arcp_error *err)
{
    arcp_span principal_name = text_of(engine, row, "principal");
    arcp_job_status status_word = arcp_job_status_from_wire(text_of(engine, row, "status"));
    if (principal_name.size == 0 || status_word == ARCP_JOB_STATUS_COUNT) {
        return damaged("job", key, err);
    }
    arcp__principal *principal = arcp__principal_get(engine, principal_name);
    arcp__job *job = principal == NULL ? NULL : arcp__job_add_restored(engine, principal, key);
    if (job == NULL) {
        return no_memory(err);
    }
    job->status = status_word;
    job->features = (arcp_feature_set)number_of(row, "features");
    arcp_status status = restore_job_texts(engine, row, job, key, err);
    if (status == ARCP_OK) {
        status = restore_lease(engine, row, job, err);
    }
    if (status == ARCP_OK) {
        arcp__job_note_head(job);
        if (arcp_job_status_is_terminal(status_word)) {
            restore_end(engine, row, job);
        }
    }
    return status;
}

static arcp__restore *restore_of(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        engine->restore = arcp__alloc(sizeof(*engine->restore));
    }
    return engine->restore;
}

static arcp_status keep_row(arcp__engine *engine, arcp_span value, arcp_error *err)
{
    arcp__restore *restore = restore_of(engine);
    kept_row *row = arcp__alloc(sizeof(*row) + value.size);
    if (restore == NULL || row == NULL) {
        arcp__free(row);
        return no_memory(err);
    }
    row->size = value.size;
    memcpy(row->text, value.data, value.size);
    row->next = restore->observers;
    restore->observers = row;
    return ARCP_OK;
}

arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                     arcp_span value, arcp_error *err)
{
    if (table == ARCP_STORE_SUBSCRIPTIONS) {
        return keep_row(engine, value, err);
    }
    arcp_json_limits limits = {512, 1000000, UINT32_MAX - 1};
    arcp_error why = {0};
    if (arcp_json_scan(&engine->json, value, &limits, &why) != ARCP_OK) {
        return why.status == ARCP_E_NO_MEMORY ? no_memory(err) : damaged("row", key, err);
    }
    if (!arcp__engine_prepare_scratch(engine, value)) {
        return no_memory(err);
    }
    if (table == ARCP_STORE_SESSIONS) {
        return restore_session(engine, &engine->json, key, err);
    }
    if (table == ARCP_STORE_JOBS) {
        return restore_job(engine, &engine->json, key, err);
    }
    if (table == ARCP_STORE_IDEMPOTENCY) {
        return arcp__idempotency_restore(engine, &engine->json, err);
    }
    return ARCP_OK;
}

/* ---- reads ---- */

static void ask(arcp__engine *engine, read_kind kind, arcp__session *session, arcp__stream *stream,
                uint64_t from)
{
    restore_read *read = arcp__alloc(sizeof(*read));
    arcp_buf key = ARCP_BUF_INIT;
    if (read == NULL) {
        arcp__engine_no_memory(engine);
        return;
    }
    *read = (restore_read){.next = engine->restore->reads,
                           .id = ++engine->next_read_id,
                           .kind = kind,
                           .session = session,
                           .stream = stream,
                           .from = from};
    engine->restore->reads = read;
    if (kind == READ_INDEX) {
        arcp_buf_append_cstr(&key, "x:");
        arcp_buf_append_cstr(&key, session->id);
    } else {
        arcp_buf_append_cstr(&key, stream->key);
    }
    arcp__effect_push(engine,
                      &(arcp__effect){.kind = ARCP__EFFECT_READ,
                                      .id = read->id,
                                      .from = from,
                                      .count_max = PAGE_RECORDS,
                                      .bytes_max = PAGE_BYTES},
                      &key, false);
}

static void take_run(arcp__engine *engine, arcp__session *session, arcp_span record)
{
    arcp_json *json = &engine->json;
    arcp_json_limits limits = {8, 64, 4096};
    if (arcp_json_scan(json, record, &limits, NULL) != ARCP_OK ||
        !arcp__engine_prepare_scratch(engine, record)) {
        arcp__effect_log(engine, ARCP__LOG_ERROR, "session %s: its index is damaged", session->id);
        return;
    }
    arcp_span key = text_of(engine, json, "stream");
    arcp__run run = {.first_seq = number_of(json, "seq"),
                     .first_position = number_of(json, "position"),
                     .bytes = number_of(json, "bytes"),
                     .count = (uint32_t)number_of(json, "count")};
    run.stream = arcp__stream_open_key(engine, key);
    if (run.stream == NULL) {
        return;
    }
    if (!arcp__session_push_run(session, &run)) {
        arcp__engine_no_memory(engine);
    }
    uint64_t end = run.first_position + run.count;
    if (run.stream->next < end) {
        run.stream->next = end;
    }
    if (session->own == NULL && arcp_span_starts_with(key, ARCP_SPAN_LITERAL("s:"))) {
        session->own = run.stream; /* takes this reference */
        run.stream->refs++;
    }
    run.stream->refs--;
    session->next_seq = run.first_seq + run.count;
    session->kept_bytes += run.bytes;
    if (arcp_span_starts_with(key, ARCP_SPAN_LITERAL("j:"))) {
        arcp__job *job = arcp__job_find(engine, arcp_span_from(key, 2));
        if (job != NULL && arcp_span_equal_cstr(arcp_span_cstr(session->id), job->session_id)) {
            arcp__job_note_owner_run(engine, job, run.first_seq, run.first_position, run.count);
        }
        arcp__observation *observation = job == NULL ? NULL : arcp__observation_find(session, job);
        if (observation != NULL) {
            observation->next_position = end;
            if (observation->first_seq == 0) {
                observation->first_seq = run.first_seq;
            }
        }
    }
}

static void index_done(arcp__session *session)
{
    session->loading = false;
    session->durable_seq = session->next_seq - 1;
    session->indexed_seq = session->next_seq - 1;
    session->sent_seq = session->next_seq - 1;
    session->floor_seq = session->run_first == session->run_end
                             ? session->next_seq - 1
                             : session->runs[session->run_first].first_seq - 1;
}

static void take_index(arcp__engine *engine, arcp__session *session, uint64_t first,
                       const arcp_span *records, size_t count)
{
    if (session->index_next == 0 && count != 0) {
        session->index_first = first;
    }
    for (size_t at = 0; at < count; at++) {
        take_run(engine, session, records[at]);
    }
    if (count == 0) {
        index_done(session);
        return;
    }
    session->index_next = first + count;
    ask(engine, READ_INDEX, session, NULL, session->index_next);
    arcp__session_pin(session);
}

static void take_tail(arcp__engine *engine, arcp__stream *stream, uint64_t first,
                      const arcp_span *records, size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t at = 0; at < count; at++) {
        stream->bytes += records[at].size;
    }
    stream->next = first + count;
    stream->refs++;
    ask(engine, READ_TAIL, NULL, stream, stream->next);
}

/* ---- the steps ---- */

static void add_observers(arcp__engine *engine)
{
    arcp_json_limits limits = {8, 64, 4096};
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        arcp__session *session = arcp__session_find(engine, arcp_span_cstr(job->session_id));
        if (session == NULL) {
            continue;
        }
        arcp__observation *owner = arcp__observation_add(engine, session, job);
        if (owner != NULL) {
            owner->may_cancel = true;
            job->owner = owner;
            session->live_jobs += job->ended ? 0 : 1;
        }
    }
    for (kept_row *row = engine->restore->observers; row != NULL; row = row->next) {
        arcp_span text = arcp_span_make(row->text, row->size);
        if (arcp_json_scan(&engine->json, text, &limits, NULL) == ARCP_OK &&
            arcp__engine_prepare_scratch(engine, text) &&
            arcp__observation_restore(engine, &engine->json, NULL) != ARCP_OK) {
            arcp__engine_no_memory(engine);
        }
    }
}

static void read_tails(arcp__engine *engine)
{
    engine->restore->is_tailing = true;
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        if (session->own == NULL) {
            /* Its records may all be acknowledged and out of the index. */
            session->own = arcp__stream_open(engine, "s:", session->id);
        }
        if (session->own != NULL) {
            session->own->refs++;
            ask(engine, READ_TAIL, NULL, session->own, session->own->next);
        }
    }
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        if (!job->ended) {
            job->stream->refs++;
            ask(engine, READ_TAIL, NULL, job->stream, job->stream->next);
        }
    }
}

static void finish(arcp__engine *engine)
{
    arcp__restore_free(engine);
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        for (arcp__observation *at = job->observations; at != NULL; at = at->next_of_job) {
            arcp__mail_catch_up(engine, at);
        }
    }
    arcp__engine_settle(engine);
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        if (!job->ended) {
            arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR,
                                "the runtime was restarted while the job ran");
        }
    }
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        arcp__session_start_window(engine, session);
    }
}

/* The next step when the reads of the current one are answered. */
static void advance(arcp__engine *engine)
{
    if (engine->restore == NULL || engine->restore->reads != NULL) {
        return;
    }
    if (!engine->restore->is_tailing) {
        read_tails(engine);
    }
    if (engine->restore->reads == NULL) {
        finish(engine);
    }
}

void arcp__engine_restore_done(arcp__engine *engine, arcp_time now)
{
    arcp__engine_enter(engine, now);
    if (restore_of(engine) == NULL) {
        arcp__engine_no_memory(engine);
        return;
    }
    add_observers(engine);
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        session->loading = true;
        arcp__session_pin(session);
        ask(engine, READ_INDEX, session, NULL, 0);
    }
    advance(engine);
    arcp__engine_settle(engine);
}

bool arcp__engine_is_restored(const arcp__engine *engine)
{
    return engine->restore == NULL;
}

bool arcp__restore_read_done(arcp__engine *engine, uint64_t read_id, arcp_status status,
                             uint64_t first, const arcp_span *records, size_t count)
{
    if (engine->restore == NULL) {
        return false;
    }
    restore_read **at = &engine->restore->reads;
    while (*at != NULL && (*at)->id != read_id) {
        at = &(*at)->next;
    }
    restore_read *read = *at;
    if (read == NULL) {
        return false;
    }
    *at = read->next;
    if (status != ARCP_OK) {
        arcp__effect_log(engine, ARCP__LOG_ERROR, "the store cannot be read while restarting");
        count = 0;
    }
    if (read->kind == READ_INDEX) {
        take_index(engine, read->session, first, records, count);
        arcp__session_unpin(engine, read->session);
    } else {
        take_tail(engine, read->stream, first, records, count);
        arcp__stream_unref(engine, read->stream);
    }
    arcp__free(read);
    advance(engine);
    return true;
}

void arcp__restore_free(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        return;
    }
    while (engine->restore->observers != NULL) {
        kept_row *row = engine->restore->observers;
        engine->restore->observers = row->next;
        arcp__free(row);
    }
    while (engine->restore->reads != NULL) {
        restore_read *read = engine->restore->reads;
        engine->restore->reads = read->next;
        arcp__free(read);
    }
    arcp__free(engine->restore);
    engine->restore = NULL;
}
