/* Taking up what the store holds after a restart.
 *
 *   1. rows       sessions, jobs and keys as their tables say; observers, and what jobs have
 *                 spent, are kept aside
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
#include "engine/restore.h"

#define PAGE_RECORDS 4096u
#define PAGE_BYTES   1048576u

typedef enum read_kind {
    READ_INDEX,
    READ_TAIL,  /* all that the stream holds beyond what is known of it */
    READ_COUNT, /* what is known of it, but for its bytes; then its tail */
    READ_END    /* only whether it holds that much */
} read_kind;

typedef struct restore_read {
    struct restore_read *next;
    uint64_t id;
    read_kind kind;
    arcp__session *session; /* READ_INDEX; pinned */
    arcp__stream *stream;   /* READ_TAIL, READ_END; referenced */
    uint64_t from;
} restore_read;

typedef struct kept_row {
    struct kept_row *next;
    size_t key_size;
    size_t size;
    char text[]; /* the key, then the row */
} kept_row;

typedef struct arcp__restore {
    restore_read *reads; /* oldest first, which is how most are answered */
    restore_read *newest_read;
    kept_row *observers;
    arcp__lost_stream *lost;
    bool is_tailing;    /* step 4 has begun */
    arcp_error failure; /* what is stored cannot be taken up */
} arcp__restore;

/* The first failure is the one that is told. */
static void restore_damaged(arcp__engine *engine, const char *what, arcp_span key)
{
    if (engine->restore->failure.status == ARCP_OK) {
        (void)arcp__row_damaged(what, key, &engine->restore->failure);
    }
}

/* Less is stored than was shown: nobody may be told that this is all. */
static void restore_short(arcp__engine *engine, const char *prefix, const char *id,
                          const char *unit, uint64_t end, uint64_t said)
{
    if (engine->restore->failure.status == ARCP_OK) {
        (void)arcp_error_set(&engine->restore->failure, ARCP_E_CORRUPT,
                             "the stored stream \"%s%s\" is damaged: it ends after %s %llu of %llu",
                             prefix, id, unit, (unsigned long long)end, (unsigned long long)said);
    }
}

static arcp__restore *restore_of(arcp__engine *engine)
{
    if (engine->restore == NULL) {
        engine->restore = arcp__alloc(sizeof(*engine->restore));
        engine->jobs.is_restoring = engine->restore != NULL;
    }
    return engine->restore;
}

static arcp_status keep_row(arcp__engine *engine, arcp_span key, arcp_span value, arcp_error *err)
{
    arcp__restore *restore = restore_of(engine);
    kept_row *row = arcp__alloc(sizeof(*row) + key.size + value.size);
    if (restore == NULL || row == NULL) {
        arcp__free(row);
        return arcp__row_out_of_memory(err);
    }
    row->key_size = key.size;
    row->size = value.size;
    memcpy(row->text, key.data, key.size);
    memcpy(row->text + key.size, value.data, value.size);
    row->next = restore->observers;
    restore->observers = row;
    return ARCP_OK;
}

arcp_status arcp__engine_restore_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                     arcp_span value, arcp_error *err)
{
    if (restore_of(engine) == NULL) { /* from the first row on nothing is forgotten or written */
        return arcp__row_out_of_memory(err);
    }
    if (table == ARCP_STORE_SUBSCRIPTIONS) {
        return keep_row(engine, key, value, err);
    }
    arcp_json_limits limits = {512, 1000000, UINT32_MAX - 1};
    arcp_error why = {0};
    if (arcp_json_scan(&engine->context.json, value, &limits, &why) != ARCP_OK) {
        return why.status == ARCP_E_NO_MEMORY ? arcp__row_out_of_memory(err)
                                              : arcp__row_damaged("row", key, err);
    }
    if (!arcp__context_prepare_scratch(&engine->context, value)) {
        return arcp__row_out_of_memory(err);
    }
    return arcp__restore_take_row(engine, table, key, err);
}

/* ---- reads ---- */

static void ask(arcp__engine *engine, read_kind kind, arcp__session *session, arcp__stream *stream,
                uint64_t from)
{
    restore_read *read = arcp__alloc(sizeof(*read));
    arcp_buf key = ARCP_BUF_INIT;
    if (read == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    if (stream != NULL) {
        stream->refs++;
    }
    *read = (restore_read){.id = ++engine->next_read_id,
                           .kind = kind,
                           .session = session,
                           .stream = stream,
                           .from = from};
    if (engine->restore->newest_read == NULL) {
        engine->restore->reads = read;
    } else {
        engine->restore->newest_read->next = read;
    }
    engine->restore->newest_read = read;
    if (kind == READ_INDEX) {
        arcp_buf_append_cstr(&key, "x:");
        arcp_buf_append_cstr(&key, session->id);
    } else {
        arcp_buf_append_cstr(&key, stream->key);
    }
    arcp__effect_push(engine->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_READ,
                                      .id = read->id,
                                      .from = from,
                                      .count_max = kind == READ_END ? 1 : PAGE_RECORDS,
                                      .bytes_max = PAGE_BYTES},
                      &key, false);
}

/* What a running job had said before `end`, when that was numbered as soon as it was said. */
static void note_total(arcp__stream *stream, uint64_t end, uint64_t total)
{
    arcp__job *job = stream->owner;
    if (total != 0 && end > stream->counted && job != NULL && !arcp__job_has_ended(job)) {
        arcp__job_count_bytes(job, total - stream->bytes);
        stream->counted = end;
    }
}

static void take_run(arcp__engine *engine, arcp__session *session, arcp_span record)
{
    arcp_json *json = &engine->context.json;
    arcp_json_limits limits = {8, 64, 4096};
    arcp_error why = {0};
    if (arcp_json_scan(json, record, &limits, &why) != ARCP_OK ||
        !arcp__context_prepare_scratch(&engine->context, record)) {
        if (why.status == ARCP_E_INVALID_REQUEST) {
            restore_damaged(engine, "index of session", arcp_span_cstr(session->id));
        } else {
            arcp__context_no_memory(&engine->context);
        }
        return;
    }
    arcp__index_record in = {0};
    const bool is_read =
        arcp__decode_row(json, &engine->context.scratch, ARCP_JSON_ROOT, &arcp__index_members, &in);
    arcp__run run = {.first_seq = in.seq,
                     .first_position = in.position,
                     .bytes = in.bytes,
                     .count = (uint32_t)in.count};
    bool follows = session->run_first == session->run_end ? run.first_seq != 0
                                                          : run.first_seq == session->next_seq;
    if (!is_read || !follows || run.count == 0 || in.stream.size >= sizeof(run.stream->key)) {
        restore_damaged(engine, "index of session", arcp_span_cstr(session->id));
        return;
    }
    run.stream = arcp__restore_stream(engine, &engine->restore->lost, session, in.stream);
    if (run.stream == NULL || !arcp__session_push_run(session, &run)) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    uint64_t end = run.first_position + run.count;
    if (run.stream->next < end) {
        run.stream->next = end;
    }
    note_total(run.stream, end, in.total);
    session->next_seq = run.first_seq + run.count;
    session->kept_bytes += run.bytes;
    if (run.stream == session->own) {
        session->refused_seq = session->next_seq - 1;
    }
    arcp__job *job = run.stream->owner;
    arcp__observation *observation = job == NULL ? NULL : arcp__observation_find(session, job);
    if (observation != NULL) {
        observation->next_position = end;
        if (observation->first_seq == 0) {
            observation->first_seq = run.first_seq;
        }
        if (arcp__observation_is_owner(observation)) {
            arcp__job_note_owner_run(&engine->jobs, job, observation->first_seq, run.first_seq,
                                     run.first_position, run.count);
        }
    }
}

/* Of a job that ended, the session has all that its row says, also when its index was
 * trimmed; a row that says more than the index ever had is from a write that was cut off. */
static void skip_what_rows_say(arcp__session *session)
{
    for (arcp__observation *at = session->observations; at != NULL; at = at->next) {
        const arcp__job *job = at->observer.job;
        if (arcp__observation_is_owner(at) && arcp__job_has_ended(job) && job->last_seq != 0 &&
            job->last_seq < session->next_seq) {
            at->next_position = job->stream->next;
            at->first_seq = job->first_seq;
        }
    }
}

static void index_done(arcp__engine *engine, arcp__session *session)
{
    if (session->acked_seq >= session->next_seq) {
        restore_short(engine, "x:", session->id, "number", session->next_seq - 1,
                      session->acked_seq);
    }
    skip_what_rows_say(session);
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
    /* What memory ran out for is not damaged: the next run would not seem to follow. */
    for (size_t at = 0; at < count && !engine->context.failed; at++) {
        take_run(engine, session, records[at]);
    }
    if (count == 0) {
        index_done(engine, session);
        return;
    }
    session->index_next = first + count;
    ask(engine, READ_INDEX, session, NULL, session->index_next);
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
        stream->is_gone = true; /* the job was forgotten; see forget_gone_runs */
        return true;
    }
    if (first < stream->next) {
        restore_short(engine, "", stream->key, "record", first, stream->next);
    } else {
        restore_damaged(engine, "stream", arcp_span_cstr(stream->key));
    }
    return false;
}

static void count_records(arcp__stream *stream, const arcp_span *records, size_t count)
{
    uint64_t bytes = 0;
    for (size_t at = 0; at < count; at++) {
        bytes += records[at].size;
    }
    if (stream->owner != NULL) {
        arcp__job_count_bytes(stream->owner, bytes);
    } else {
        stream->bytes += bytes; /* a session's own, or a job's that was forgotten */
    }
}

static void take_count(arcp__engine *engine, const restore_read *read, uint64_t first,
                       const arcp_span *records, size_t count)
{
    arcp__stream *stream = read->stream;
    if (engine->restore->failure.status != ARCP_OK) {
        return;
    }
    if (first != read->from || count == 0) {
        restore_short(engine, "", stream->key, "record", read->from, stream->next);
        return;
    }
    count_records(stream, records, count);
    if (first + count < stream->next) {
        ask(engine, READ_COUNT, NULL, stream, first + count);
        return;
    }
    stream->next = first + count;
    ask(engine, READ_TAIL, NULL, stream, stream->next);
}

static void take_tail(arcp__engine *engine, const restore_read *read, uint64_t first,
                      const arcp_span *records, size_t count)
{
    arcp__stream *stream = read->stream;
    if (engine->restore->failure.status != ARCP_OK || !is_whole(engine, stream, first, count) ||
        count == 0 || read->kind == READ_END) {
        return;
    }
    count_records(stream, records, count);
    stream->next = first + count;
    ask(engine, READ_TAIL, NULL, stream, stream->next);
}

/* What no index counts of a running job's stream, which is all of it when they were trimmed, and
 * its tail. */
static void read_running(arcp__engine *engine, arcp__stream *stream)
{
    const bool is_counted = stream->counted >= stream->next;
    ask(engine, is_counted ? READ_TAIL : READ_COUNT, NULL, stream, stream->counted);
}

/* ---- the steps ---- */

static void add_observers(arcp__engine *engine)
{
    arcp_json_limits limits = {8, 64, 4096};
    for (arcp__job *job = engine->jobs.all; job != NULL; job = job->hh.next) {
        arcp__session *session = arcp__session_find(engine, arcp_span_cstr(job->session_id));
        if (session != NULL) {
            (void)arcp__session_adopt(engine, session, job, false);
        }
    }
    for (kept_row *row = engine->restore->observers; row != NULL; row = row->next) {
        arcp_span text = arcp_span_make(row->text + row->key_size, row->size);
        arcp_error why = {0};
        arcp_status status = arcp_json_scan(&engine->context.json, text, &limits, &why);
        if (status == ARCP_OK && !arcp__context_prepare_scratch(&engine->context, text)) {
            status = ARCP_E_NO_MEMORY;
        }
        if (status == ARCP_OK) {
            status = arcp__observation_restore(engine, &engine->context.json, &why);
        }
        if (status == ARCP_E_NO_MEMORY) {
            arcp__context_no_memory(&engine->context);
        } else if (status != ARCP_OK) {
            restore_damaged(engine, "subscription", arcp_span_make(row->text, row->key_size));
        }
    }
}

static void read_tails(arcp__engine *engine)
{
    engine->restore->is_tailing = true;
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        /* Its records may all be acknowledged and out of the index. */
        arcp__stream *own = arcp__restore_own_stream(engine, session);
        if (own != NULL) {
            ask(engine, READ_TAIL, NULL, own, own->next);
        }
    }
    for (const arcp__job *job = engine->jobs.all; job != NULL; job = job->hh.next) {
        if (!arcp__job_has_ended(job)) {
            read_running(engine, job->stream);
        } else if (job->stream->next != 0) {
            ask(engine, READ_END, NULL, job->stream, job->stream->next);
        }
    }
    for (arcp__lost_stream *lost = engine->restore->lost; lost != NULL; lost = lost->hh.next) {
        ask(engine, READ_END, NULL, lost->stream, lost->stream->next);
    }
}

/* A trimmed index may come back longer than it was, with runs whose job and stream were
 * dropped since. They are the oldest: the newest run is never trimmed. */
static void forget_gone_runs(arcp__engine *engine)
{
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        size_t count = 0;
        for (size_t at = session->run_first; at < session->run_end; at++) {
            count = session->runs[at].stream->is_gone ? at + 1 - session->run_first : count;
        }
        if (count != 0 && count == session->run_end - session->run_first) {
            const arcp__stream *stream = session->runs[session->run_end - 1].stream;
            restore_short(engine, "", stream->key, "record", 0, stream->next);
            return;
        }
        arcp__session_forget_oldest(engine, session, count);
    }
}

/* All is read: observers get what their sessions do not have yet, before any job ends. */
static bool catch_up(arcp__engine *engine)
{
    forget_gone_runs(engine);
    if (engine->restore->failure.status != ARCP_OK) {
        return false;
    }
    arcp__jobs_restored(&engine->jobs);
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        for (arcp__observation *at = session->observations; at != NULL; at = at->next) {
            arcp__mail_catch_up(engine, at);
        }
    }
    return true;
}

bool arcp__restore_advance(arcp__engine *engine)
{
    if (engine->restore == NULL || engine->restore->reads != NULL) {
        return false;
    }
    if (!engine->restore->is_tailing && engine->restore->failure.status == ARCP_OK) {
        read_tails(engine);
    }
    return engine->restore->reads == NULL && engine->restore->failure.status == ARCP_OK &&
           catch_up(engine);
}

void arcp__restore_end_jobs(arcp__engine *engine)
{
    arcp__jobs_fail(&engine->jobs, "the runtime was restarted while the job ran");
    arcp__credentials_restored(&engine->credentials);
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        arcp__session_start_window(engine, session);
    }
}

void arcp__restore_begin(arcp__engine *engine)
{
    if (restore_of(engine) == NULL) {
        arcp__context_no_memory(&engine->context);
        return;
    }
    arcp__jobs_restore_authorities(&engine->jobs);
    add_observers(engine);
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        session->loading = true;
        ask(engine, READ_INDEX, session, NULL, 0);
    }
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
    if (err != NULL) {
        *err = engine->restore->failure;
    }
    return engine->restore->failure.status;
}

void arcp__restore_read_done(arcp__engine *engine, uint64_t read_id, arcp_status status,
                             uint64_t first, const arcp_span *records, size_t count)
{
    if (engine->restore == NULL) {
        return;
    }
    restore_read *before = NULL;
    restore_read *read = engine->restore->reads;
    while (read != NULL && read->id != read_id) {
        before = read;
        read = read->next;
    }
    if (read == NULL) {
        return;
    }
    if (before == NULL) {
        engine->restore->reads = read->next;
    } else {
        before->next = read->next;
    }
    if (engine->restore->newest_read == read) {
        engine->restore->newest_read = before;
    }
    if (status != ARCP_OK && engine->restore->failure.status == ARCP_OK) {
        (void)arcp_error_set(&engine->restore->failure, status, "the store cannot be read");
    }
    if (engine->restore->failure.status != ARCP_OK) {
        count = 0;
    }
    if (read->kind == READ_INDEX) {
        take_index(engine, read->session, first, records, count);
    } else if (read->kind == READ_COUNT) {
        take_count(engine, read, first, records, count);
        arcp__stream_unref(engine->log, read->stream);
    } else {
        take_tail(engine, read, first, records, count);
        arcp__stream_unref(engine->log, read->stream);
    }
    arcp__free(read);
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
        if (read->stream != NULL) {
            arcp__stream_unref(engine->log, read->stream);
        }
        arcp__free(read);
    }
    arcp__restore_free_lost(engine, &engine->restore->lost);
    arcp__free(engine->restore);
    engine->restore = NULL;
    engine->jobs.is_restoring = false;
}
