/* Restoring the engine from the store after a restart.
 *
 *   1. rows       sessions, jobs and keys are made from their tables; observers, and what jobs
 *                 have spent, are kept for step 2
 *   2. observers  which session gets which job's records; authorities, parents before children
 *   3. indexes    each session's event numbers are read (its stream "x:")
 *   4. tails      the ends of the streams of running jobs and of sessions' own records are read;
 *                 every other stream is checked to hold what a row or an index says it holds
 *   5. ends       jobs whose agents ended with the runtime end as INTERNAL_ERROR, once, numbered
 *                 and stored like any other end; those on workers go on and wait for these; queued
 *                 jobs wait again; both have their credentials back, and others are revoked
 *
 * Steps 3 and 4 are READ effects; arcp__engine_is_restored says when all is done. When something
 * cannot be restored completely, the restore fails (arcp__engine_restore_status): a session whose
 * numbers are not all known would give the same number twice. */
#include "engine/state.h"

#define PAGE_RECORDS 4096u
#define PAGE_BYTES   1048576u

typedef enum read_kind {
    READ_INDEX,
    READ_TAIL,  /* the records after those that rows and indexes refer to */
    READ_COUNT, /* known records whose bytes are not counted yet; then the tail */
    READ_END,   /* only checks that it holds what is known of it */
    READ_WORKER /* all records of a stream of a job on a worker */
} read_kind;

typedef struct restore_read {
    struct restore_read *prev, *next;
    arcp__read *read;
    read_kind kind;
    arcp__session *session; /* READ_INDEX; pinned */
    arcp__stream *stream;   /* READ_TAIL, READ_END; referenced */
    uint64_t from;
} restore_read;

typedef struct arcp__restore {
    restore_read *reads;
    bool is_tailing;    /* step 4 has begun */
    arcp_error failure; /* why the restore fails */
} arcp__restore;

static arcp__restore *restore_of(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        engine->restore = arcp__alloc(sizeof *engine->restore);
        engine->jobs.is_restoring = engine->restore != NULL;
    }
    return engine->restore;
}

static arcp_status restore_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                               arcp_span value, arcp_error *err)
{
    if (restore_of(engine) ==
        NULL) { /* from the first row on nothing expires and no batch is taken */
        return arcp__row_out_of_memory(err);
    }
    if (table == ARCP_STORE_SUBSCRIPTIONS) {
        return arcp__subscription_keep_row(&engine->sessions, key, value, err);
    }
    if (table == ARCP_STORE_META && !arcp__page_key_is_row(key)) {
        return ARCP_OK;
    }
    arcp__context *context = &engine->context;
    arcp_json_limits limits = {512, 1000000, UINT32_MAX - 1};
    arcp_error why = {0};
    if (arcp_json_scan(&context->json, value, &limits, &why) != ARCP_OK) {
        return why.status == ARCP_E_NO_MEMORY ? arcp__row_out_of_memory(err)
                                              : arcp__row_damaged("row", key, err);
    }
    if (!arcp__context_prepare_scratch(context, value)) {
        return arcp__row_out_of_memory(err);
    }
    switch (table) {
    case ARCP_STORE_SESSIONS:
        return arcp__session_restore_row(&engine->sessions, key, err);
    case ARCP_STORE_JOBS:
        return arcp__job_restore_row(&engine->jobs, key, err);
    case ARCP_STORE_CREDENTIALS:
        return arcp__credential_restore(&engine->credentials, &context->json, key, err);
    case ARCP_STORE_IDEMPOTENCY:
        return arcp__idempotency_restore_row(&engine->jobs, key, err);
    case ARCP_STORE_SCHEDULES:
        return arcp__schedule_restore_row(&engine->schedules, key, err);
    case ARCP_STORE_OUTBOX:
        return arcp__hook_restore_row(&engine->hooks, key, err);
    case ARCP_STORE_META:
        return arcp__page_key_restore_row(&engine->sessions, key, err);
    case ARCP_STORE_PROCESSES:
    case ARCP_STORE_SUBSCRIPTIONS:
    case ARCP_STORE_TABLE_COUNT:
        break;
    }
    return ARCP_OK;
}

arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                     arcp_span value, arcp_error *err)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RESTORE_ROW, .numbers = {(uint64_t)table},
                 .texts = {key, value});
    return arcp__record_status(engine, restore_row(engine, table, key, value, err));
}

/* ---- reads ---- */

static void take_page(void *user, void *owner, const arcp__page *page);

static void start_read(arcp__engine *engine, read_kind kind, arcp__session *session,
                       arcp__stream *stream, uint64_t from)
{
    restore_read *request = arcp__alloc(sizeof *request);
    char index[ARCP__SESSION_KEY_SIZE];
    if (request == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    if (stream != NULL) {
        stream->refs++;
    } else {
        arcp__session_index_key(session, index);
    }
    *request = (restore_read){.kind = kind, .session = session, .stream = stream, .from = from};
    DL_APPEND(engine->restore->reads, request);
    request->read = arcp__read_start(
        engine->log, arcp_span_cstr(stream != NULL ? stream->key : index), from,
        kind == READ_END ? 1 : PAGE_RECORDS, PAGE_BYTES, take_page, engine, request);
}

static void read_free(arcp__engine *engine, restore_read *request)
{
    DL_DELETE(engine->restore->reads, request);
    arcp__read_end(engine->log, &request->read);
    if (request->stream != NULL) {
        arcp__stream_unref(engine->log, request->stream);
    }
    arcp__free(request);
}

/* Checks the page after the last record that a row or an index speaks of. It must begin exactly
 * there, because streams of records are dropped whole and never trimmed. */
static bool is_whole(arcp__engine *engine, arcp__stream *stream, uint64_t first, size_t count)
{
    if (first == stream->next) {
        return true;
    }
    if (first == 0 && count == 0 && stream->owner == NULL &&
        arcp_span_starts_with(arcp_span_cstr(stream->key), ARCP_SPAN_LITERAL("j:"))) {
        stream->was_dropped = true; /* the job was evicted; see arcp__sessions_catch_up */
        return true;
    }
    if (first < stream->next) {
        (void)arcp__stream_truncated("", stream->key, "record", first, stream->next,
                                     &engine->restore->failure);
    } else {
        (void)arcp__row_damaged("stream", arcp_span_cstr(stream->key), &engine->restore->failure);
    }
    return false;
}

/* Counts the bytes of a page of records and requests the next page. */
static void take_records(arcp__engine *engine, const restore_read *request, const arcp__page *page)
{
    arcp__stream *stream = request->stream;
    const uint64_t end = page->first + page->count;
    const bool is_known = request->kind == READ_COUNT;
    uint64_t bytes = 0;
    if (is_known && (page->first != request->from || page->count == 0)) {
        (void)arcp__stream_truncated("", stream->key, "record", request->from, stream->next,
                                     &engine->restore->failure);
        return;
    }
    if ((!is_known && !is_whole(engine, stream, page->first, page->count)) || page->count == 0 ||
        request->kind == READ_END) {
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        bytes += page->records[i].size;
    }
    if (stream->owner != NULL) {
        arcp__job_count_bytes(stream->owner, bytes);
    } else {
        stream->bytes += bytes; /* a session's own, or of an evicted job */
    }
    if (is_known && end < stream->next) {
        start_read(engine, READ_COUNT, NULL, stream, end);
        return;
    }
    stream->next = end;
    start_read(engine, READ_TAIL, NULL, stream, end);
}

/* Restores the records of a stream that a job on a worker has beside its own. */
static void take_worker_records(arcp__engine *engine, const restore_read *request,
                                const arcp__page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (arcp__worker_restore_record(request->stream, page->first + i, page->records[i],
                                        &engine->restore->failure) != ARCP_OK) {
            return;
        }
    }
    if (page->count != 0) {
        start_read(engine, READ_WORKER, NULL, request->stream, page->first + page->count);
    } else if (page->first > request->stream->next) {
        request->stream->next = page->first; /* all of them were trimmed */
    }
}

static void take_page(void *user, void *owner, const arcp__page *page)
{
    arcp__engine *engine = user;
    restore_read *request = owner;
    arcp_error *failure = &engine->restore->failure;
    if (page->status != ARCP_OK && failure->status == ARCP_OK) {
        (void)arcp_error_set(failure, page->status, "the store cannot be read");
    }
    if (failure->status == ARCP_OK && request->kind == READ_WORKER) {
        take_worker_records(engine, request, page);
    } else if (failure->status == ARCP_OK && request->kind != READ_INDEX) {
        take_records(engine, request, page);
    } else if (failure->status == ARCP_OK &&
               arcp__session_restore_index(&engine->sessions, request->session, page->first,
                                           page->records, page->count, failure) == ARCP_OK &&
               page->count != 0) {
        start_read(engine, READ_INDEX, request->session, NULL,
                   arcp__session_index_next(request->session));
    }
    read_free(engine, request);
}

/* ---- the steps ---- */

/* Reads the end of a session's own stream, or of one that only an index speaks of. */
static void read_end(void *user, arcp__stream *stream, bool is_own)
{
    start_read(user, is_own ? READ_TAIL : READ_END, NULL, stream, stream->next);
}

/* Takes the next step when all reads of the current one are done. */
static void advance(arcp__engine *engine)
{
    arcp__restore *restore = engine->restore;
    if (restore == NULL || restore->reads != NULL || restore->failure.status != ARCP_OK) {
        return;
    }
    if (!restore->is_tailing) {
        restore->is_tailing = true;
        arcp__sessions_for_each_stream(&engine->sessions, read_end, engine);
        for (arcp__job *job = engine->jobs.all; job != NULL; job = job->hh.next) {
            arcp__stream *stream = job->stream;
            if (!arcp__job_has_ended(job) && arcp__worker_make_streams(&engine->jobs, job)) {
                start_read(engine, READ_WORKER, NULL, job->live->numbers->line_stream, 0);
                start_read(engine, READ_WORKER, NULL, job->live->numbers->piece_stream, 0);
            }
            if (!arcp__job_has_ended(job)) {
                /* The part that no index counts (all of it when the indexes were trimmed), then its
                 * tail. */
                const bool is_counted = stream->counted >= stream->next;
                start_read(engine, is_counted ? READ_TAIL : READ_COUNT, NULL, stream,
                           stream->counted);
            } else if (stream->next != 0) {
                start_read(engine, READ_END, NULL, stream, stream->next);
            }
        }
    }
    if (restore->reads != NULL ||
        arcp__sessions_catch_up(&engine->sessions, &restore->failure) != ARCP_OK) {
        return;
    }
    arcp__holds_spend(&engine->jobs);
    arcp__jobs_restored(&engine->jobs);
    arcp__engine_settle(engine); /* observers have caught up before the first job ends */
    arcp__credentials_take_back(&engine->credentials);
    arcp__jobs_restarted(&engine->jobs);
    arcp__credentials_restored(&engine->credentials);
    arcp__sessions_start_windows(&engine->sessions);
    arcp__engine_settle(engine);
    if (arcp__engine_restore_status(engine, NULL) == ARCP_OK) {
        arcp__restore_free(engine);
    }
}

void arcp__engine_restore_done(arcp__engine *engine, arcp_time now)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RESTORE_DONE, .now = now);
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    if (restore_of(engine) == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    arcp__jobs_restore_authorities(&engine->jobs);
    (void)!arcp__sessions_restore_observers(&engine->sessions, &engine->restore->failure);
    for (arcp__session *session = arcp__session_next(&engine->sessions, NULL); session != NULL;
         session = arcp__session_next(&engine->sessions, session)) {
        start_read(engine, READ_INDEX, session, NULL, 0);
    }
    advance(engine);
    arcp__engine_settle(engine);
}

void arcp__engine_read_done(arcp__engine *engine, arcp_time now, uint64_t read_id,
                            arcp_status status, uint64_t first, const arcp_span *records,
                            size_t count)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_READ_DONE, .now = now,
                 .numbers = {read_id, (uint64_t)status, first, count}, .what = records);
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    arcp__read_answered(
        engine->log, read_id,
        &(arcp__page){.status = status, .first = first, .records = records, .count = count});
    advance(engine);
    arcp__engine_settle(engine);
}

bool arcp__engine_is_restored(const arcp__engine *engine)
{
    return engine->restore == NULL && !engine->context.failed;
}

arcp_status arcp__engine_restore_status(const arcp__engine *engine, arcp_error *err)
{
    if (engine->context.failed) {
        return arcp__row_out_of_memory(err);
    }
    if (engine->restore == NULL || engine->restore->failure.status == ARCP_OK) {
        return ARCP_OK;
    }
    return arcp_error_copy(err, &engine->restore->failure);
}

void arcp__restore_free(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        return;
    }
    while (engine->restore->reads != NULL) {
        read_free(engine, engine->restore->reads);
    }
    arcp__sessions_end_restore(&engine->sessions);
    arcp__free(engine->restore);
    engine->restore = NULL;
    engine->jobs.is_restoring = false;
}
