/* Restoring sessions after a restart: rows, subscriptions and event numbers.
 *
 * A session that cannot be restored completely fails the restart: it would give the same number
 * twice. */
#include "session/session_state.h"

/* A row of SUBSCRIPTIONS, kept until all rows were read. */
struct arcp__kept_row {
    struct arcp__kept_row *next;
    size_t key_size;
    size_t size;
    char text[]; /* the key, then the row */
};

/* A stream that an index refers to but no row, by its key. */
struct arcp__lost_stream {
    arcp__stream *stream; /* referenced */
    UT_hash_handle hh;
};

/* ---- rows ---- */

arcp_status arcp__session_restore_row(arcp__sessions *sessions, arcp_span key, arcp_error *err)
{
    static const uint8_t none[32] = {0};
    arcp__session_row row = {0};
    if (!arcp__decode_row(&sessions->context->json, &sessions->context->scratch, ARCP_JSON_ROOT,
                          &arcp__session_members, &row) ||
        row.session_id.size >= ARCP__ID_SIZE || !arcp_span_equal(row.session_id, key)) {
        return arcp__row_damaged("session", key, err);
    }
    arcp__principal *principal = arcp__principal_get(sessions->jobs, row.principal);
    arcp__session *session =
        principal == NULL ? NULL : arcp__session_new(sessions, principal, row.session_id);
    if (session == NULL) {
        return arcp__row_out_of_memory(err);
    }
    session->is_anonymous = row.anonymous;
    session->features = (arcp_feature_set)row.features & ARCP_FEATURES_ALL;
    session->acked_seq = row.acked_seq;
    session->profile = arcp__peer_profile_of(sessions, row.client, principal);
    session->created_wall_ns = row.created_at;
    memcpy(session->token_hash, row.token_hash, sizeof row.token_hash);
    memcpy(session->previous_hash, row.previous_token_hash, sizeof row.previous_token_hash);
    session->has_previous = memcmp(row.previous_token_hash, none, sizeof none) != 0;
    session->client_name = arcp__copy_cstr(row.client.data, row.client.size);
    session->client_version = arcp__copy_cstr(row.client_version.data, row.client_version.size);
    return session->client_name != NULL && session->client_version != NULL
               ? ARCP_OK
               : arcp__row_out_of_memory(err);
}

arcp_status arcp__subscription_keep_row(arcp__sessions *sessions, arcp_span key, arcp_span value,
                                        arcp_error *err)
{
    struct arcp__kept_row *row = arcp__alloc(sizeof *row + key.size + value.size);
    if (row == NULL) {
        return arcp__row_out_of_memory(err);
    }
    row->key_size = key.size;
    row->size = value.size;
    memcpy(row->text, key.data, key.size);
    memcpy(row->text + key.size, value.data, value.size);
    LL_PREPEND(sessions->kept_rows, row);
    return ARCP_OK;
}

arcp_status arcp__sessions_restore_observers(arcp__sessions *sessions, arcp_error *err)
{
    arcp__context *context = sessions->context;
    const arcp_json_limits limits = {8, 64, 4096};
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        arcp__session_enter(session, ARCP__SESSION_LOADING);
    }
    for (arcp__job *job = sessions->jobs->all; job != NULL; job = job->hh.next) {
        arcp__session *session = arcp__session_find(sessions, arcp_span_cstr(job->session_id));
        if (session != NULL) {
            (void)arcp__session_adopt(sessions, session, job, false);
        }
    }
    for (struct arcp__kept_row *row = sessions->kept_rows; row != NULL; row = row->next) {
        const arcp_span text = arcp_span_make(row->text + row->key_size, row->size);
        arcp_error why = {0};
        arcp_status status = arcp_json_scan(&context->json, text, &limits, &why);
        if (status == ARCP_OK && !arcp__context_prepare_scratch(context, text)) {
            status = ARCP_E_NO_MEMORY;
        }
        if (status == ARCP_OK) {
            status = arcp__observation_restore(sessions, &context->json, &why);
        }
        if (status == ARCP_E_NO_MEMORY) {
            arcp__context_no_memory(context);
        } else if (status != ARCP_OK) {
            return arcp__row_damaged("subscription", arcp_span_make(row->text, row->key_size), err);
        }
    }
    return ARCP_OK;
}

/* ---- streams ---- */

/* The session's own stream; NULL when out of memory. */
static arcp__stream *own_stream(arcp__sessions *sessions, arcp__session *session)
{
    if (session->own == NULL) {
        session->own = arcp__stream_new(sessions->log, "s:", arcp_span_cstr(session->id));
    }
    return session->own;
}

/* The stream with this key in a session's index: of a job, of the session's own records, or in
 * sessions->lost. Borrowed; NULL when out of memory. */
static arcp__stream *stream_of(arcp__sessions *sessions, arcp__session *session, arcp_span key)
{
    const arcp_span of_job = ARCP_SPAN_LITERAL("j:");
    const arcp_span of_session = ARCP_SPAN_LITERAL("s:");
    if (arcp_span_starts_with(key, of_job)) {
        const arcp__job *job = arcp__job_find(sessions->jobs, arcp_span_from(key, of_job.size));
        if (job != NULL) {
            return job->stream;
        }
    }
    if (arcp_span_starts_with(key, of_session) &&
        arcp_span_equal_cstr(arcp_span_from(key, of_session.size), session->id)) {
        return own_stream(sessions, session);
    }
    struct arcp__lost_stream *known = NULL;
    HASH_FIND(hh, sessions->lost, key.data, key.size, known);
    if (known != NULL) {
        return known->stream;
    }
    known = arcp__alloc(sizeof *known);
    arcp__stream *stream = known == NULL ? NULL : arcp__stream_new(sessions->log, "", key);
    if (stream == NULL) {
        arcp__free(known);
        return NULL;
    }
    known->stream = stream;
    HASH_ADD_KEYPTR(hh, sessions->lost, stream->key, key.size, known);
    if (!ARCP__HASH_ADDED(known)) {
        arcp__stream_unref(sessions->log, stream);
        arcp__free(known);
        return NULL;
    }
    return stream;
}

void arcp__sessions_for_each_stream(arcp__sessions *sessions,
                                    void (*each)(void *user, arcp__stream *stream, bool is_own),
                                    void *user)
{
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        arcp__stream *own =
            own_stream(sessions, session); /* also when the index has none of its records */
        if (own != NULL) {
            each(user, own, true);
        }
    }
    for (struct arcp__lost_stream *lost = sessions->lost; lost != NULL; lost = lost->hh.next) {
        each(user, lost->stream, false);
    }
}

/* ---- indexes ---- */

arcp__session *arcp__session_next(const arcp__sessions *sessions, const arcp__session *session)
{
    return session == NULL ? sessions->all : session->hh.next;
}

uint64_t arcp__session_index_next(const arcp__session *session)
{
    return session->index_next;
}

static arcp_status take_run(arcp__sessions *sessions, arcp__session *session, arcp_span record,
                            arcp_error *err)
{
    arcp_json *json = &sessions->context->json;
    arcp_json_limits limits = {8, 64, 4096};
    arcp_error why = {0};
    if (arcp_json_scan(json, record, &limits, &why) != ARCP_OK ||
        !arcp__context_prepare_scratch(sessions->context, record)) {
        if (why.status == ARCP_E_INVALID_REQUEST) {
            return arcp__row_damaged("index of session", arcp_span_cstr(session->id), err);
        }
        arcp__context_no_memory(sessions->context);
        return ARCP_OK;
    }
    arcp__index_record in = {0};
    const bool is_read = arcp__decode_row(json, &sessions->context->scratch, ARCP_JSON_ROOT,
                                          &arcp__index_members, &in);
    arcp__run run = {.first_seq = in.seq,
                     .first_position = in.position,
                     .bytes = in.bytes,
                     .count = (uint32_t)in.count};
    const bool follows = session->run_first == session->run_end
                             ? run.first_seq != 0
                             : run.first_seq == session->next_seq;
    if (!is_read || !follows || run.count == 0 || in.stream.size >= sizeof run.stream->key) {
        return arcp__row_damaged("index of session", arcp_span_cstr(session->id), err);
    }
    run.stream = stream_of(sessions, session, in.stream);
    if (run.stream == NULL || !arcp__session_push_run(session, &run)) {
        arcp__context_no_memory(sessions->context);
        return ARCP_OK;
    }
    const uint64_t end = run.first_position + run.count;
    if (run.stream->next < end) {
        run.stream->next = end;
    }
    session->next_seq = run.first_seq + run.count;
    session->kept_bytes += run.bytes;
    if (run.stream == session->own) {
        session->refused_seq = session->next_seq - 1;
    }
    arcp__job *job = run.stream->owner;
    if (in.total != 0 && end > run.stream->counted && job != NULL && !arcp__job_has_ended(job)) {
        /* The bytes of a running job's records before `end`, known because they were numbered as
         * they came. */
        arcp__job_count_bytes(job, in.total - run.stream->bytes);
        run.stream->counted = end;
    }
    arcp__observation *observation = job == NULL ? NULL : arcp__observation_find(session, job);
    if (observation != NULL) {
        observation->next_position = end;
        if (observation->first_seq == 0) {
            observation->first_seq = run.first_seq;
        }
        if (arcp__observation_is_owner(observation)) {
            arcp__job_note_owner_run(sessions->jobs, job, observation->first_seq, run.first_seq,
                                     run.first_position, run.count);
        }
    }
    return ARCP_OK;
}

arcp_status arcp__session_restore_index(arcp__sessions *sessions, arcp__session *session,
                                        uint64_t first, const arcp_span *records, size_t count,
                                        arcp_error *err)
{
    const uint64_t last_seq = session->next_seq - 1;
    if (count != 0) {
        session->index_first = session->index_next == 0 ? first : session->index_first;
        session->index_next = first + count;
        arcp_status status = ARCP_OK;
        /* Stop when memory ran out: the next run would seem damaged because it does not follow. */
        for (size_t i = 0; i < count && status == ARCP_OK && !sessions->context->failed; i++) {
            status = take_run(sessions, session, records[i], err);
        }
        return status;
    }
    /* The index ends here. Of a job that ended, the session has all records that the job's row
     * counts, even when the index was trimmed; a row that counts more than the index ever had is
     * from an interrupted write. */
    for (arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        const arcp__job *job = observation->observer.job;
        if (arcp__observation_is_owner(observation) && arcp__job_has_ended(job) &&
            job->last_seq != 0 && job->last_seq <= last_seq) {
            observation->next_position = job->stream->next;
            observation->first_seq = job->first_seq;
        }
    }
    arcp__session_enter(session, ARCP__SESSION_AWAY);
    session->durable_seq = session->indexed_seq = session->sent_seq = last_seq;
    session->floor_seq = session->run_first == session->run_end
                             ? last_seq
                             : session->runs[session->run_first].first_seq - 1;
    return session->acked_seq <= last_seq
               ? ARCP_OK
               : arcp__stream_truncated("x:", session->id, "number", last_seq, session->acked_seq,
                                        err);
}

/* ---- after all streams were read ---- */

arcp_status arcp__sessions_catch_up(arcp__sessions *sessions, arcp_error *err)
{
    /* A trimmed index may come back longer than it was, with runs whose job and stream were
     * dropped since. They are the oldest: the newest run is never trimmed. */
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        size_t count = 0;
        for (size_t i = session->run_first; i < session->run_end; i++) {
            count = session->runs[i].stream->was_dropped ? i + 1 - session->run_first : count;
        }
        if (count != 0 && count == session->run_end - session->run_first) {
            const arcp__stream *stream = session->runs[session->run_end - 1].stream;
            return arcp__stream_truncated("", stream->key, "record", 0, stream->next, err);
        }
        arcp__session_discard_oldest(sessions, session, count);
    }
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        for (arcp__observation *observation = session->observations; observation != NULL;
             observation = observation->next) {
            arcp__notification_queue(sessions, &(arcp__notification){.kind = ARCP__NOTIFY_CATCH_UP,
                                                                     .observation = observation});
        }
    }
    return ARCP_OK;
}

void arcp__sessions_start_windows(arcp__sessions *sessions)
{
    for (arcp__session *session = sessions->all; session != NULL; session = session->hh.next) {
        arcp__session_start_window(sessions, session);
    }
}

void arcp__sessions_end_restore(arcp__sessions *sessions)
{
    while (sessions->kept_rows != NULL) {
        struct arcp__kept_row *row = sessions->kept_rows;
        LL_DELETE(sessions->kept_rows, row);
        arcp__free(row);
    }
    struct arcp__lost_stream *known = NULL;
    struct arcp__lost_stream *next = NULL;
    HASH_ITER (hh, sessions->lost, known, next) {
        HASH_DEL(sessions->lost, known);
        arcp__stream_unref(sessions->log, known->stream);
        arcp__free(known);
    }
}
