/* Taking up what the store holds after a restart.
 *
 *   1. rows       sessions, jobs and keys as their tables say; observers, and what jobs have
 *                 spent, wait for step 2
 *   2. observers  who gets which job's records; authorities, parents before children
 *   3. indexes    each session's numbers (its stream "x:") are read
 *   4. tails      where the streams of running jobs and of sessions' own records end, and
 *                 that every other stream holds what a row or an index says it holds
 *   5. ends       jobs that were running end as INTERNAL_ERROR, once, numbered and stored
 *                 like any other end; every credential that is in the books is revoked
 *
 * Steps 3 and 4 are READ effects; arcp__engine_is_restored says when all is done. What
 * cannot be taken up whole is not taken up: a session whose numbers are not all known would
 * give the same number twice. arcp__engine_restore_status says so, and nothing goes on. */
#include "engine/state.h"

#define PAGE_RECORDS 4096u
#define PAGE_BYTES   1048576u

typedef enum read_kind {
    READ_INDEX,
    READ_TAIL,  /* all that the stream holds beyond what is known of it */
    READ_COUNT, /* what is known of it, but for its bytes; then its tail */
    READ_END    /* only whether it holds that much */
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
    arcp_error failure; /* what is stored cannot be taken up */
} arcp__restore;

static arcp__restore *restore_of(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        engine->restore = arcp__alloc(sizeof(*engine->restore));
        engine->jobs.is_restoring = engine->restore != NULL;
    }
    return engine->restore;
}

arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                     arcp_span value, arcp_error *err)
{
    if (restore_of(engine) == NULL) { /* from the first row on nothing is forgotten or written */
        return arcp__row_out_of_memory(err);
    }
    if (table == ARCP_STORE_SUBSCRIPTIONS) {
        return arcp__subscription_keep_row(&engine->sessions, key, value, err);
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
    case ARCP_STORE_META:
    case ARCP_STORE_PROCESSES:
    case ARCP_STORE_SUBSCRIPTIONS:
    case ARCP_STORE_TABLE_COUNT:
        break;
    }
    return ARCP_OK;
}

/* ---- reads ---- */

static void take_page(void *user, void *owner, const arcp__page *page);

static void ask(arcp__engine *engine, read_kind kind, arcp__session *session, arcp__stream *stream,
                uint64_t from)
{
    restore_read *asked = arcp__alloc(sizeof(*asked));
    char index[ARCP__SESSION_KEY_SIZE];
    if (asked == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    if (stream != NULL) {
        stream->refs++;
    } else {
        arcp__session_index_key(session, index);
    }
    *asked = (restore_read){.kind = kind, .session = session, .stream = stream, .from = from};
    DL_APPEND(engine->restore->reads, asked);
    asked->read =
        arcp__read_ask(engine->log, arcp_span_cstr(stream != NULL ? stream->key : index), from,
                       kind == READ_END ? 1 : PAGE_RECORDS, PAGE_BYTES, take_page, engine, asked);
}

static void read_free(arcp__engine *engine, restore_read *asked)
{
    DL_DELETE(engine->restore->reads, asked);
    arcp__read_forget(engine->log, &asked->read);
    if (asked->stream != NULL) {
        arcp__stream_unref(engine->log, asked->stream);
    }
    arcp__free(asked);
}

/* The store's answer for what comes after all that a row or an index speaks of: it begins
 * there, because streams of records are dropped whole but never trimmed. */
static bool is_whole(arcp__engine *engine, arcp__stream *stream, uint64_t first, size_t count)
{
    if (first == stream->next) {
        return true;
    }
    if (first == 0 && count == 0 && stream->owner == NULL &&
        arcp_span_starts_with(arcp_span_cstr(stream->key), ARCP_SPAN_LITERAL("j:"))) {
        stream->is_gone = true; /* the job was forgotten; see arcp__sessions_catch_up */
        return true;
    }
    if (first < stream->next) {
        (void)arcp__stream_short("", stream->key, "record", first, stream->next,
                                 &engine->restore->failure);
    } else {
        (void)arcp__row_damaged("stream", arcp_span_cstr(stream->key), &engine->restore->failure);
    }
    return false;
}

/* Records of a stream: what it has is counted, and the rest of it asked for. */
static void take_records(arcp__engine *engine, const restore_read *asked, const arcp__page *page)
{
    arcp__stream *stream = asked->stream;
    const uint64_t end = page->first + page->count;
    const bool is_known = asked->kind == READ_COUNT;
    uint64_t bytes = 0;
    if (is_known && (page->first != asked->from || page->count == 0)) {
        (void)arcp__stream_short("", stream->key, "record", asked->from, stream->next,
                                 &engine->restore->failure);
        return;
    }
    if ((!is_known && !is_whole(engine, stream, page->first, page->count)) || page->count == 0 ||
        asked->kind == READ_END) {
        return;
    }
    for (size_t at = 0; at < page->count; at++) {
        bytes += page->records[at].size;
    }
    if (stream->owner != NULL) {
        arcp__job_count_bytes(stream->owner, bytes);
    } else {
        stream->bytes += bytes; /* a session's own, or a job's that was forgotten */
    }
    if (is_known && end < stream->next) {
        ask(engine, READ_COUNT, NULL, stream, end);
        return;
    }
    stream->next = end;
    ask(engine, READ_TAIL, NULL, stream, end);
}

static void take_page(void *user, void *owner, const arcp__page *page)
{
    arcp__engine *engine = user;
    restore_read *asked = owner;
    arcp_error *failure = &engine->restore->failure;
    if (page->status != ARCP_OK && failure->status == ARCP_OK) {
        (void)arcp_error_set(failure, page->status, "the store cannot be read");
    }
    if (failure->status == ARCP_OK && asked->kind != READ_INDEX) {
        take_records(engine, asked, page);
    } else if (failure->status == ARCP_OK &&
               arcp__session_restore_index(&engine->sessions, asked->session, page->first,
                                           page->records, page->count, failure) == ARCP_OK &&
               page->count != 0) {
        ask(engine, READ_INDEX, asked->session, NULL, arcp__session_index_next(asked->session));
    }
    read_free(engine, asked);
}

/* ---- the steps ---- */

/* Of a session's own stream, or one that only an index speaks of. */
static void read_end(void *user, arcp__stream *stream, bool is_own)
{
    ask(user, is_own ? READ_TAIL : READ_END, NULL, stream, stream->next);
}

/* The next step when the reads of the current one are answered. */
static void advance(arcp__engine *engine)
{
    arcp__restore *restore = engine->restore;
    if (restore == NULL || restore->reads != NULL || restore->failure.status != ARCP_OK) {
        return;
    }
    if (!restore->is_tailing) {
        restore->is_tailing = true;
        arcp__sessions_visit_streams(&engine->sessions, read_end, engine);
        for (const arcp__job *job = engine->jobs.all; job != NULL; job = job->hh.next) {
            arcp__stream *stream = job->stream;
            if (!arcp__job_has_ended(job)) {
                /* What no index counts of it, which is all when they were trimmed, and its tail. */
                const bool is_counted = stream->counted >= stream->next;
                ask(engine, is_counted ? READ_TAIL : READ_COUNT, NULL, stream, stream->counted);
            } else if (stream->next != 0) {
                ask(engine, READ_END, NULL, stream, stream->next);
            }
        }
    }
    if (restore->reads != NULL ||
        arcp__sessions_catch_up(&engine->sessions, &restore->failure) != ARCP_OK) {
        return;
    }
    arcp__jobs_restored(&engine->jobs);
    arcp__engine_settle(engine); /* observers have caught up before the first job ends */
    arcp__jobs_fail(&engine->jobs, "the runtime was restarted while the job ran");
    arcp__credentials_restored(&engine->credentials);
    arcp__sessions_start_windows(&engine->sessions);
    arcp__engine_settle(engine);
    if (arcp__engine_restore_status(engine, NULL) == ARCP_OK) {
        arcp__restore_free(engine);
    }
}

void arcp__engine_restore_done(arcp__engine *engine, arcp_time now)
{
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    if (restore_of(engine) == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    arcp__jobs_restore_authorities(&engine->jobs);
    (void)!arcp__sessions_restore_observers(&engine->sessions, &engine->restore->failure);
    for (arcp__session *at = arcp__session_next(&engine->sessions, NULL); at != NULL;
         at = arcp__session_next(&engine->sessions, at)) {
        ask(engine, READ_INDEX, at, NULL, 0);
    }
    advance(engine);
    arcp__engine_settle(engine);
}

void arcp__engine_read_done(arcp__engine *engine, arcp_time now, uint64_t read_id,
                            arcp_status status, uint64_t first, const arcp_span *records,
                            size_t count)
{
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
