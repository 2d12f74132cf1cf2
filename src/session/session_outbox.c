/* Sends a session its records, in order and without a gap.
 *
 * A record gets the session's next event_seq when it is made (numbering), becomes visible when the
 * batch with the record and its number is durable, and is handed to the link when the link can take
 * it (pull: for a slow reader only an index grows). Records that are no longer in memory are read
 * from the store, one page at a time, so that a replay of any size needs the same small memory.
 *
 *   floor_seq <= acked_seq,  floor_seq <= sent_seq <= durable_seq < next_seq
 *
 * The index, runs of positions in streams, is itself a stream of the store ("x:<session>"),
 * written once per batch. */
#include "session/session_state.h"

#define RUN_RECORDS_MAX 1024u
/* Bytes handed to a link and not sent yet: the memory that a stalled reader costs. */
#define LINK_UNSENT_MAX 65536u

/* ---- durability of numbers ---- */

/* A session that has new numbers or a waiting response is listed until the batch with them is
 * committed. When the open batch is taken, the index of the numbers goes into it, and each run
 * notes that batch; batches commit in order. */
void arcp__session_mark(arcp__sessions *sessions, arcp__session *session)
{
    if (session->waits_for == arcp__batch_open_id(sessions->log) &&
        arcp__batch_pending(sessions->log) != 0) {
        return;
    }
    arcp__batch_touch(sessions->log);
    if (arcp__batch_pending(sessions->log) == 0) {
        return; /* out of memory: there is no batch to wait for */
    }
    if (session->waits_for == 0) {
        DL_APPEND2(sessions->undurable, session, undurable_previous, undurable_next);
    }
    session->waits_for = arcp__batch_open_id(sessions->log);
}

void arcp__session_unmark(arcp__sessions *sessions, arcp__session *session)
{
    if (session->waits_for != 0) {
        session->waits_for = 0;
        DL_DELETE2(sessions->undurable, session, undurable_previous, undurable_next);
    }
}

/* ---- numbering ---- */

bool arcp__session_push_run(arcp__session *session, const arcp__run *run)
{
    if (session->run_end == session->run_capacity) {
        const size_t used = session->run_end - session->run_first;
        if (session->run_first > session->run_capacity / 2) {
            memmove(session->runs, session->runs + session->run_first,
                    used * sizeof *session->runs);
            session->run_first = 0;
            session->run_end = used;
        } else {
            const size_t capacity = session->run_capacity == 0 ? 4 : session->run_capacity * 2;
            arcp__run *runs = arcp__realloc_array(session->runs, capacity, sizeof *runs);
            if (runs == NULL) {
                return false;
            }
            session->runs = runs;
            session->run_capacity = capacity;
        }
    }
    assert(session->runs != NULL);
    run->stream->refs++;
    session->runs[session->run_end++] = *run;
    return true;
}

/* Bytes handed to the link but not sent yet count, too. Without a link nothing counts: agents
 * continue while no client is connected. */
void arcp__session_check_backlog(arcp__sessions *sessions, arcp__session *session)
{
    const uint64_t limit = sessions->context->settings.limits_unsent_bytes;
    const uint64_t backlog =
        session->link == NULL ? 0 : session->backlog_bytes + session->link->port.unsent;
    const bool holds = backlog > (session->pauses_agents ? limit / 2 : limit);
    if (holds == session->pauses_agents) {
        return;
    }
    session->pauses_agents = holds;
    for (arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        if (arcp__observation_is_owner(observation)) {
            arcp__job_set_owner_behind(sessions->jobs, observation->observer.job, holds);
        }
    }
}

/* The index of the run that contains seq; run_end when there is none. */
static size_t find_run(const arcp__session *session, uint64_t seq)
{
    size_t low = session->run_first;
    size_t high = session->run_end;
    if (low < high && session->runs[high - 1].first_seq <= seq) {
        const arcp__run *last = &session->runs[high - 1];
        return seq < last->first_seq + last->count ? high - 1 : high;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const arcp__run *run = &session->runs[middle];
        if (seq < run->first_seq) {
            high = middle;
        } else if (seq >= run->first_seq + run->count) {
            low = middle + 1;
        } else {
            return middle;
        }
    }
    return session->run_end;
}

void arcp__session_index_key(const arcp__session *session, char key[ARCP__SESSION_KEY_SIZE])
{
    memcpy(key, "x:", 2);
    memcpy(key + 2, session->id, strlen(session->id) + 1);
}

/* ---- discarding runs ---- */

static void drop_first_run(arcp__sessions *sessions, arcp__session *session)
{
    const arcp__run *run = &session->runs[session->run_first];
    session->floor_seq = run->first_seq + run->count - 1;
    session->kept_bytes -= run->bytes;
    session->index_first++;
    arcp__stream_unref(sessions->log, run->stream);
    session->run_first++;
    if (session->run_first == session->run_end) {
        session->run_first = session->run_end = 0;
    }
}

static void forget_first_run(arcp__sessions *sessions, arcp__session *session)
{
    const arcp__run *run = &session->runs[session->run_first];
    const arcp__job *job = run->stream->owner;
    arcp__observation *observation = job == NULL ? NULL : arcp__observation_find(session, job);
    if (observation != NULL) {
        /* The index is about to lose this run of the job, so the observation's row must have its
         * end. */
        const uint64_t end = run->first_position + run->count;
        const bool row_has_end = arcp__observation_is_owner(observation) && job->last_seq != 0;
        const bool is_last = arcp__job_has_ended(job) && end == job->stream->next;
        if (sessions->log->options.keeps_rows && !row_has_end) {
            arcp__observation_moved(observation, end);
        }
        if (is_last && job->observers == &observation->observer &&
            observation->observer.next == NULL) {
            /* Later readers read it from the store. */
            arcp__stream_trim_tail(sessions->log, job->stream, 0);
        }
    }
    drop_first_run(sessions, session);
}

static void trim_index(arcp__sessions *sessions, arcp__session *session)
{
    if (!sessions->log->options.keeps_rows) {
        return;
    }
    arcp__observations_store_moved(sessions, session);
    char key[ARCP__SESSION_KEY_SIZE];
    arcp__session_index_key(session, key);
    arcp__batch_add(sessions->log, (arcp_store_op){.kind = ARCP_STORE_TRIM,
                                                   .position = session->index_first,
                                                   .key = arcp_span_cstr(key)});
}

void arcp__session_discard_runs(arcp__sessions *sessions, arcp__session *session, uint64_t seq,
                                uint64_t bytes_max)
{
    bool dropped = false;
    seq = seq < session->indexed_seq ? seq : session->indexed_seq;
    /* The newest run stays: a restart needs it to continue the numbers. */
    while (session->run_end - session->run_first >= 2 &&
           (bytes_max == 0 || session->kept_bytes > bytes_max)) {
        const arcp__run *run = &session->runs[session->run_first];
        if (run->first_seq + run->count - 1 > seq) {
            break;
        }
        forget_first_run(sessions, session);
        dropped = true;
    }
    if (dropped) {
        trim_index(sessions, session);
    }
}

void arcp__session_discard_oldest(arcp__sessions *sessions, arcp__session *session, size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t done = 0; done < count; done++) {
        forget_first_run(sessions, session);
    }
    trim_index(sessions, session);
}

void arcp__session_drop_runs(arcp__sessions *sessions, arcp__session *session)
{
    while (session->run_first < session->run_end) {
        drop_first_run(sessions, session);
    }
}

/* ---- numbers ---- */

/* [arcp:8.3-1] */
uint64_t arcp__session_number(arcp__sessions *sessions, arcp__session *session,
                              arcp__stream *stream, uint64_t position, uint32_t count,
                              uint64_t bytes)
{
    arcp__session_mark(sessions, session);
    const uint64_t seq = session->next_seq;
    arcp__run *last =
        session->run_end > session->run_first ? &session->runs[session->run_end - 1] : NULL;
    if (last != NULL && last->stream == stream && last->first_position + last->count == position &&
        last->first_seq + last->count == seq && last->count + count <= RUN_RECORDS_MAX &&
        last->first_seq > session->indexed_seq) {
        last->count += count;
        last->bytes += bytes;
    } else {
        arcp__run run = {.first_seq = seq,
                         .first_position = position,
                         .stream = stream,
                         .bytes = bytes,
                         .count = count};
        if (!arcp__session_push_run(session, &run)) {
            arcp__context_no_memory(sessions->context);
            return 0;
        }
    }
    session->next_seq += count;
    session->kept_bytes += bytes;
    session->backlog_bytes += bytes;
    arcp__session_check_backlog(sessions, session);
    /* Acknowledged runs are discarded already: discard the oldest that were sent. Records not yet
     * handed to the current link stay. [arcp:6.5-3] */
    const uint64_t bytes_max = sessions->context->settings.limits_replay_bytes;
    if (session->kept_bytes > bytes_max) {
        arcp__session_discard_runs(sessions, session,
                                   session->link != NULL ? session->sent_seq : session->durable_seq,
                                   bytes_max);
    }
    return seq;
}

/* Writes one index record for each run numbered since the last batch. */
void arcp__sessions_write_indexes(arcp__sessions *sessions)
{
    const bool keeps_rows = sessions->log->options.keeps_rows;
    for (arcp__session *session = sessions->undurable; session != NULL;
         session = session->undurable_next) {
        char key[ARCP__SESSION_KEY_SIZE];
        arcp__session_index_key(session, key);
        size_t i = session->run_end;
        if (session->indexed_seq + 1 < session->next_seq) {
            i = find_run(session, session->indexed_seq + 1);
        }
        for (; i < session->run_end; i++) {
            arcp__run *run = &session->runs[i];
            if (keeps_rows) {
                /* When the run ends with the stream, add the stream's exact bytes: those of a run
                 * may be an average. */
                const bool is_at_end = run->first_position + run->count == run->stream->next;
                const arcp__index_record record = {.seq = run->first_seq,
                                                   .count = run->count,
                                                   .stream = arcp_span_cstr(run->stream->key),
                                                   .position = run->first_position,
                                                   .bytes = run->bytes,
                                                   .total = is_at_end ? run->stream->bytes : 0};
                arcp_buf text = arcp__context_take_buf(sessions->context);
                arcp__row_format(&arcp__index_members, &record, &text);
                arcp__batch_add(sessions->log, (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                                               .position = session->index_next++,
                                                               .key = arcp_span_cstr(key),
                                                               .value = arcp_buf_span(&text)});
                arcp__context_give_buf(sessions->context, &text);
            }
            run->batch = (uint32_t)arcp__batch_open_id(sessions->log);
            session->indexed_seq = run->first_seq + run->count - 1;
        }
    }
}

void arcp__sessions_durable(arcp__sessions *sessions)
{
    const uint64_t committed_id = sessions->log->committed_id;
    for (arcp__session *session = sessions->undurable, *next = NULL; session != NULL;
         session = next) {
        next = session->undurable_next;
        for (size_t i = find_run(session, session->durable_seq + 1);
             session->durable_seq < session->indexed_seq; i++) {
            const arcp__run *run = &session->runs[i];
            if ((int32_t)(run->batch - (uint32_t)committed_id) > 0) {
                break;
            }
            session->durable_seq = run->first_seq + run->count - 1;
        }
        arcp__session_wake(sessions, session);
        if (session->waits_for <= committed_id) {
            arcp__session_unmark(sessions, session);
        }
    }
    arcp__links_committed(sessions);
}

/* ---- sending ---- */

void arcp__session_wake(arcp__sessions *sessions, arcp__session *session)
{
    if (session->in_outbox || session->link == NULL ||
        (session->sent_seq >= session->durable_seq && session->answers == NULL)) {
        return;
    }
    session->in_outbox = true;
    DL_APPEND2(sessions->outbox, session, outbox_previous, outbox_next);
}

void arcp__session_leave_outbox(arcp__sessions *sessions, arcp__session *session)
{
    if (session->in_outbox) {
        session->in_outbox = false;
        DL_DELETE2(sessions->outbox, session, outbox_previous, outbox_next);
    }
}

static void no_page(arcp__session *session)
{
    arcp_buf_fini(&session->read_bytes);
    session->read_at = 0;
}

static void take_page(void *user, void *owner, const arcp__page *page)
{
    arcp__sessions *sessions = user;
    arcp__session *session = owner;
    arcp__read_end(sessions->log, &session->read);
    no_page(session);
    const size_t index = find_run(session, session->read_seq);
    const bool expected = index != session->run_end && page->count != 0 &&
                          session->runs[index].first_position +
                                  (session->read_seq - session->runs[index].first_seq) ==
                              page->first;
    if (page->status != ARCP_OK || !expected) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "stored events could not be read; resume later");
        if (session->link != NULL) {
            arcp__link_fail(sessions, session->link, &error, ARCP__NOTHING, 1011);
        }
        return;
    }
    for (size_t record = 0; record < page->count; record++) {
        const uint32_t size = (uint32_t)page->records[record].size;
        arcp_buf_append(&session->read_bytes, arcp_span_make((const char *)&size, sizeof size));
        arcp_buf_append(&session->read_bytes, page->records[record]);
    }
    arcp__context_check_text(sessions->context, &session->read_bytes);
    session->read_next_seq = session->read_seq;
    arcp__session_wake(sessions, session);
}

/* Takes the next record of the page if it has exactly this number. */
static bool take_read(arcp__session *session, uint64_t seq, arcp_span *record)
{
    if (session->read_at >= session->read_bytes.size || session->read_next_seq != seq) {
        return false;
    }
    uint32_t size = 0;
    memcpy(&size, session->read_bytes.data + session->read_at, sizeof size);
    *record = arcp_span_make(session->read_bytes.data + session->read_at + sizeof size, size);
    session->read_at += sizeof size + size;
    session->read_next_seq++;
    return true;
}

/* The session has nothing more to send for now. */
void arcp__session_drained(arcp__sessions *sessions, arcp__session *session)
{
    if (session->read_at >= session->read_bytes.size) {
        no_page(session);
    }
    arcp__session_check_backlog(sessions, session);
}

/* ---- frames ---- */

/* The members of a job's end that a profile may change. */
typedef struct end_record {
    arcp_json_ref type, final_status, result;
} end_record;

#define END(member) ARCP__MEMBER(end_record, member, #member, ANY)

static const arcp__member end_payload_rows[] = {{END(final_status)}, {END(result)}};
static const arcp__members end_payload_members = ARCP__MEMBERS(end_payload_rows);
static const arcp__member end_rows[] = {
    {END(type)},
    {ARCP__CHECKED("payload", OBJECT), .parts = &end_payload_members},
};
static const arcp__members end_members = ARCP__MEMBERS(end_rows);

/* Appends the record, without its opening brace, in the form of the profile. */
static void append_adapted(const arcp__peer_profile *profile, arcp_span record, size_t size_max,
                           arcp_buf *out)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    end_record end = {ARCP_JSON_ABSENT, ARCP_JSON_ABSENT, ARCP_JSON_ABSENT};
    arcp_span rest = arcp_span_from(record, 1);
    arcp_span result = {NULL, 0};
    if (arcp_json_scan(&json, record, &limits, NULL) == ARCP_OK &&
        arcp__decode_row(&json, NULL, ARCP_JSON_ROOT, &end_members, &end)) {
        if (profile->mirrors_output) {
            result = arcp_json_raw(&json, end.result);
        }
        if (record.size + result.size > size_max) {
            result = ARCP__NOTHING; /* it does not fit twice */
        }
        /* A job.error that the profile sends as job.result: the job was stopped. */
        if (profile->stops_as_result &&
            (arcp_json_string_equals(&json, end.final_status, ARCP_SPAN_LITERAL("cancelled")) ||
             arcp_json_string_equals(&json, end.final_status, ARCP_SPAN_LITERAL("timed_out")))) {
            const arcp_span type = arcp_json_raw(&json, end.type);
            arcp_buf_append(out, arcp_span_make(rest.data, (size_t)(type.data - rest.data)));
            arcp_buf_append_cstr(out, "\"job.result\"");
            rest = arcp_span_from(record, (size_t)(type.data - record.data) + type.size);
        }
    }
    if (result.size == 0) {
        arcp_buf_append(out, rest);
    } else {
        /* The payload is the record's last member: `...}}`. */
        arcp_buf_append(out, arcp_span_make(rest.data, rest.size - 2));
        arcp_buf_append_cstr(out, ",\"output\":");
        arcp_buf_append(out, result);
        arcp_buf_append_cstr(out, "}}");
    }
    arcp__json_fini(&json);
}

/* [arcp:8.1-1] */
void arcp__session_format_frame(arcp__sessions *sessions, const arcp__session *session,
                                uint64_t seq, arcp_span record, arcp_buf *out)
{
    static const char open[] = "{\"arcp\":\"1.1\",\"session_id\":\"";
    (void)arcp_buf_reserve(out, record.size + 128);
    arcp_buf_append(out, arcp_span_make(open, sizeof open - 1));
    arcp_buf_append_cstr(out, session->id);
    arcp_buf_append(out, ARCP_SPAN_LITERAL("\",\"event_seq\":"));
    arcp_buf_append_u64(out, seq);
    arcp_buf_append_byte(out, ',');
    if (arcp__credential_reveal_rotated(sessions->credentials, &session->submitter.viewer, record,
                                        1, out)) {
        return;
    }
    if (session->profile->mirrors_output || session->profile->stops_as_result) {
        append_adapted(session->profile, record, arcp__frame_payload_max(sessions->context), out);
    } else {
        arcp_buf_append(out, arcp_span_from(record, 1));
    }
}

/* Makes the next frame for the session's link in sessions->sending; false: none now.
 * [arcp:6.3-3] */
static bool next_frame(arcp__sessions *sessions, arcp__session *session)
{
    arcp__link *link = session->link;
    if (sessions->log->committed_id < session->welcome_batch_id || link->port.is_closed ||
        link->port.unsent >= LINK_UNSENT_MAX) {
        return false;
    }
    if (arcp__session_next_answer(sessions, session)) {
        return true;
    }
    if (session->sent_seq >= session->durable_seq || session->read != NULL) {
        return false;
    }
    const uint64_t seq = session->sent_seq + 1;
    const size_t index = find_run(session, seq);
    if (index == session->run_end) {
        arcp__effect_log(sessions->log, ARCP__LOG_ERROR,
                         "session %s: event_seq %llu is not in the event log", session->id,
                         (unsigned long long)seq);
        arcp__link_close(sessions, link, 1011, "the event log is damaged", false);
        return false;
    }
    const arcp__run *run = &session->runs[index];
    arcp_span record;
    if (!take_read(session, seq, &record) &&
        !arcp__stream_find_record(run->stream, run->first_position + (seq - run->first_seq),
                                  &record)) {
        no_page(session);
        const uint64_t skip = seq - run->first_seq;
        session->read_seq = seq;
        session->read = arcp__read_start(sessions->log, arcp_span_cstr(run->stream->key),
                                         run->first_position + skip, run->count - skip,
                                         ARCP__PAGE_BYTES, take_page, sessions, session);
        return false;
    }
    arcp_buf_clear(&sessions->sending);
    arcp__session_format_frame(sessions, session, seq, record, &sessions->sending);
    if (sessions->sending.failed) {
        arcp__link_close(sessions, link, 1011, "out of memory", false);
        return false;
    }
    session->sent_seq = seq;
    session->backlog_bytes -=
        record.size < session->backlog_bytes ? record.size : session->backlog_bytes;
    if (run->stream == session->own) { /* some were made for an earlier link and are not counted */
        session->refusal_bytes -=
            record.size < session->refusal_bytes ? record.size : session->refusal_bytes;
    }
    return true;
}

/* Frames of records come after all queued effects: a response that opens a stream of records
 * (job.accepted, job.subscribed, the welcome) always precedes them. */
bool arcp__sessions_next_frame(arcp__sessions *sessions, arcp__effect *out)
{
    while (sessions->outbox != NULL) {
        arcp__session *session = sessions->outbox;
        arcp__link *link = session->link;
        if (link != NULL && next_frame(sessions, session)) {
            *out = (arcp__effect){.kind = ARCP__EFFECT_SEND,
                                  .link_user = link->port.user,
                                  .text = arcp_buf_span(&sessions->sending)};
            arcp__port_sent(sessions->log, &link->port, out->text.size);
            return true;
        }
        arcp__session_leave_outbox(sessions, session);
        arcp__session_drained(sessions, session);
    }
    return false;
}

void arcp__sessions_frame_sent(arcp__sessions *sessions)
{
    if (sessions->sending.secret) {
        arcp_buf_fini(&sessions->sending);
        sessions->sending.secret = false;
    }
}
