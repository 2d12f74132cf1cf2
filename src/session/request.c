/* Requests of a session: their responses, the cache of responses, and refusals.
 *
 * A request gets exactly one response or refusal. Submits are answered in the order they came
 * (session_answer.c), other requests in any order. The responses to the last requests are cached: a
 * duplicate envelope id gets the same response and executes nothing. */
#include "session/session_state.h"

/* How long a refused submit waits for others that its client sent together with it. */
#define LONE_REFUSAL_MS 200

#define CACHE_MAX          4096u
#define CACHE_RESPONSE_MAX 65536u
#define CACHE_BYTES_MAX                                                                            \
    4194304u /* of cached responses of one session: the oldest are dropped first */

/* ---- the cache of responses ---- */

static void forget_text(arcp__session *session, arcp__cached_request *cached)
{
    session->cache_bytes -= cached->answer.size;
    arcp_buf_fini(&cached->answer);
}

arcp__cached_request *arcp__cache_find(const arcp__session *session, uint64_t hash)
{
    arcp__cached_request *cached = NULL; /* the id's hash is also the hash table's */
    HASH_FIND_BYHASHVALUE(hh, session->cached_requests, &hash, sizeof hash, (unsigned)hash, cached);
    return cached;
}

bool arcp__cache_add(arcp__sessions *sessions, arcp__session *session, uint64_t hash)
{
    arcp__cached_request *cached = NULL;
    if (arcp__cache_find(session, hash) != NULL) {
        return true;
    }
    if (session->cache_count >= CACHE_MAX) {
        cached = session->cache_oldest;
        session->cache_oldest = cached->newer;
        session->cache_kept = session->cache_kept == cached ? cached->newer : session->cache_kept;
        HASH_DEL(session->cached_requests, cached);
        forget_text(session, cached);
        session->cache_count--;
    } else {
        cached = arcp__alloc(sizeof *cached);
        if (cached == NULL) {
            arcp__context_no_memory(sessions->context);
            return false;
        }
    }
    *cached = (arcp__cached_request){.hash = hash};
    HASH_ADD_BYHASHVALUE(hh, session->cached_requests, hash, sizeof cached->hash, (unsigned)hash,
                         cached);
    if (!ARCP__HASH_ADDED(cached)) {
        arcp__free(cached);
        arcp__context_no_memory(sessions->context);
        return false;
    }
    if (session->cache_oldest == NULL) {
        session->cache_oldest = cached;
    } else {
        session->cache_newest->newer = cached;
    }
    session->cache_newest = cached;
    session->cache_count++;
    return true;
}

/* Caches a response. `seq` is its number if it is a record, else 0. `end` is the record that
 * followed it and is repeated with it, or empty. */
static void keep_answer(arcp__session *session, uint64_t hash, uint64_t seq, arcp_span frame,
                        arcp_span end)
{
    arcp__cached_request *cached = arcp__cache_find(session, hash);
    if (cached == NULL) {
        return;
    }
    cached->answered = true;
    cached->seq = seq;
    if (frame.size + end.size <= CACHE_RESPONSE_MAX &&
        arcp_buf_reserve(&cached->answer, frame.size + end.size)) {
        arcp_buf_append(&cached->answer, frame);
        arcp_buf_append(&cached->answer, end);
        cached->end_size = end.size;
        session->cache_bytes += cached->answer.size;
        while (session->cache_bytes > CACHE_BYTES_MAX) {
            if (session->cache_kept == NULL) {
                session->cache_kept = session->cache_oldest;
            }
            forget_text(session, session->cache_kept);
            session->cache_kept = session->cache_kept->newer;
        }
    }
}

/* A response that showed credentials is not cached: a duplicate is executed again. */
static void forget_answer(arcp__session *session, uint64_t hash)
{
    arcp__cached_request *cached = arcp__cache_find(session, hash);
    if (cached != NULL) {
        cached->is_repeatable = true;
    }
}

/* ---- requests ---- */

arcp__request *arcp__session_new_request(arcp__sessions *sessions, arcp__session *session,
                                         const arcp__envelope *envelope, uint64_t hash)
{
    arcp__request *request = arcp__alloc(sizeof *request + envelope->id.size + 1);
    if (request == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    if (envelope->id.size != 0) {
        memcpy(request->id, envelope->id.data, envelope->id.size);
    }
    request->hash = hash;
    request->type = envelope->type;
    arcp__trace_requested(sessions->context, envelope, request->trace_id);
    request->session = session;
    if (envelope->type == ARCP_MESSAGE_JOB_SUBMIT) {
        DL_APPEND(session->submits, request);
        arcp__session_note_submits(session);
        arcp__session_settle_refusal(sessions, session);
    }
    return request;
}

/* ---- responses ---- */

static uint64_t append_own(arcp__sessions *sessions, arcp__session *session, arcp_span record)
{
    if (session->own == NULL) {
        session->own = arcp__stream_new(sessions->log, "s:", arcp_span_cstr(session->id));
    }
    uint64_t position = 0;
    size_t bytes = 0;
    if (session->own == NULL ||
        !arcp__stream_append(sessions->log, session->own, &record, 1, &position, &bytes)) {
        return 0;
    }
    const uint64_t seq = arcp__session_number(sessions, session, session->own, position, 1, bytes);
    session->refusal_bytes += seq == 0 ? 0 : record.size;
    return seq;
}

/* The job whose credentials a cached response shows. */
typedef struct shown_job {
    arcp_span type, job_id;
} shown_job;

static const arcp__member shown_rows[] = {
    {ARCP__MEMBER(shown_job, type, "type", LOOSE)},
    {ARCP__MEMBER(shown_job, job_id, "job_id", LOOSE)},
};
static const arcp__members shown_members = ARCP__MEMBERS(shown_rows);

/* Sends the cached response again. */
static void answer_again(arcp__sessions *sessions, arcp__session *session, uint64_t hash)
{
    const arcp__cached_request *cached = arcp__cache_find(session, hash);
    if (cached == NULL || cached->answer.size == 0 || cached->seq > session->sent_seq) {
        return; /* not cached, or a refusal that is still to be sent */
    }
    const arcp_span answer = arcp_buf_span(&cached->answer);
    const arcp_span kept = arcp_span_first(answer, answer.size - cached->end_size);
    const arcp_span end = arcp_span_from(answer, kept.size);
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_buf scratch = arcp_buf_init();
    arcp_buf frame = arcp_buf_init();
    shown_job shown = {0};
    arcp_buf_append(&frame, kept);
    if (arcp_json_scan(&json, kept, &limits, NULL) != ARCP_OK ||
        !arcp__decode_row(&json, &scratch, ARCP_JSON_ROOT, &shown_members, &shown) ||
        (!arcp_span_equal_cstr(shown.type, "job.accepted") &&
         !arcp_span_equal_cstr(shown.type, "job.subscribed"))) {
        shown.job_id = ARCP__NOTHING;
    }
    arcp__session_send_in_order(sessions, session, shown.job_id, &frame, false);
    /* A client that repeats its submit may have received the terminal event before the response;
     * send both again. */
    if (end.size != 0) {
        (void)append_own(sessions, session, end);
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

static void release_answer(arcp__sessions *sessions, arcp__request *request)
{
    arcp__session *session = request->session;
    const arcp_span record = arcp_buf_span(&request->record);
    const bool is_submit = request->type == ARCP_MESSAGE_JOB_SUBMIT;
    if (request->is_repeated) {
        answer_again(sessions, session, request->hash);
        return;
    }
    if (request->frame_is_record) {
        const uint64_t seq = append_own(sessions, session, record);
        if (seq == 0) {
            forget_answer(session,
                          request->hash); /* the engine fails: a duplicate must not find it */
            return;
        }
        arcp_buf frame = arcp_buf_init();
        arcp__session_format_frame(sessions, session, seq, record, &frame);
        keep_answer(session, request->hash, seq, arcp_buf_span(&frame), ARCP__NOTHING);
        arcp_buf_fini(&frame);
        session->refused_seq = is_submit ? seq : session->refused_seq;
        return;
    }
    if (request->frame.size == 0) {
        return;
    }
    /* The response waits for the open batch, which has everything that the request changed. */
    if (request->is_secret) {
        forget_answer(session, request->hash);
        arcp__session_send(sessions, session, &request->frame, true);
        return;
    }
    keep_answer(session, request->hash, 0, arcp_buf_span(&request->frame), record);
    const arcp_span job_id = arcp_span_cstr(request->revealed_job);
    if (is_submit) {
        arcp__session_send_in_order(sessions, session, job_id, &request->frame, false);
    } else {
        arcp__session_send_revealed(sessions, session, job_id, &request->frame);
    }
    if (record.size != 0) {
        (void)append_own(sessions, session, record);
    }
}

void arcp__request_finish(arcp__sessions *sessions, arcp__request *request)
{
    arcp__session *session = request->session;
    request->answered = true;
    if (request->type != ARCP_MESSAGE_JOB_SUBMIT) {
        release_answer(sessions, request);
        return;
    }
    /* Responses to submits are sent in order. */
    while (session->submits != NULL && session->submits->answered) {
        arcp__request *first = session->submits;
        DL_DELETE(session->submits, first);
        release_answer(sessions, first);
        arcp__session_free_request(first);
    }
    arcp__session_note_submits(session);
    arcp__session_schedule(sessions, session);
}

/* ---- refusals, in the form of the peer profile (docs/protocol.md, Peer profiles) ---- */

/* Whether this session's client waits for anything besides this request: a submit, a job or a job's
 * terminal event. */
static bool waits_for_more(const arcp__request *request)
{
    const arcp__session *session = request->session;
    const arcp__request *first = session->submits;
    if (first != NULL && (first != request || request->next != NULL)) {
        return true;
    }
    if (session->submitter.admissions != NULL || session->sent_seq + 1 < session->next_seq) {
        return true;
    }
    for (const arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        if (!arcp__job_has_ended(observation->observer.job) || !observation->observer.is_live) {
            return true;
        }
    }
    return false;
}

static bool refuses_as_session_error(const arcp__request *request)
{
    const bool is_query = request->type == ARCP_MESSAGE_JOB_SUBSCRIBE ||
                          request->type == ARCP_MESSAGE_SESSION_LIST_JOBS;
    switch (request->session->profile->refusals) {
    case ARCP__REFUSE_JOB_ERROR:
        return false;
    case ARCP__REFUSE_SESSION_ERROR:
        return true;
    case ARCP__REFUSE_QUERY_SESSION_ERROR:
        return is_query && !waits_for_more(request);
    case ARCP__REFUSE_LONE_SESSION_ERROR:
        return !waits_for_more(request);
    }
    return false;
}

static arcp_span trace_of(const arcp__request *request)
{
    return arcp_span_make(request->trace_id, request->trace_id[0] == '\0' ? 0 : 32);
}

static void format_session_error(const arcp__request *request, arcp_span payload, arcp_buf *frame)
{
    arcp__envelope_format(&(arcp__envelope_head){.type = "session.error",
                                                 .id = arcp_span_cstr(request->id),
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_of(request)},
                          payload, frame);
}

static void format_record(arcp__request *request, arcp_span job_id, arcp_span payload)
{
    arcp_json_writer writer = arcp__put_begin(&request->record);
    arcp__put_cstr(&writer, "id", request->id);
    arcp__put_cstr(&writer, "type", "job.error");
    arcp__put_text(&writer, "trace_id", trace_of(request));
    arcp__put_text(&writer, "job_id", job_id);
    arcp__put_raw(&writer, "payload", payload);
    arcp_json_end_object(&writer);
}

/* The job.accepted of a job that does not exist: without authority; job.error follows it. */
static void format_accepted(const arcp__sessions *sessions, arcp__request *request,
                            arcp_span job_id, arcp_span agent)
{
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "request_id", request->id);
    arcp__put_cstr(&writer, "reply_to", request->id);
    arcp__put_string(&writer, "job_id", job_id);
    arcp__put_string(&writer, "agent", agent.size > ARCP__ENVELOPE_ID_MAX ? ARCP__NOTHING : agent);
    arcp__put_object(&writer, "lease");
    arcp_json_end_object(&writer);
    arcp__write_timestamp(&writer, "accepted_at", sessions->context->now.wall_ns);
    arcp_json_end_object(&writer);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(request->id),
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_of(request),
                                                 .job_id = job_id},
                          arcp_buf_span(&payload), &request->frame);
    request->frame.failed = request->frame.failed || payload.failed;
    arcp_buf_fini(&payload);
}

/* Chooses the form of the refusal of the session's first submit if that is still open. */
void arcp__session_settle_refusal(arcp__sessions *sessions, arcp__session *session)
{
    arcp__request *request = session->submits;
    if (request == NULL || request->lone_error.size == 0) {
        return;
    }
    arcp__context_disarm(sessions->context, &session->refusal_timer);
    if (!waits_for_more(request)) {
        arcp_buf_fini(&request->frame);
        arcp_buf_fini(&request->record);
        request->frame = request->lone_error;
        request->lone_error = arcp_buf_init();
    }
    arcp__request_finish(sessions, request);
}

void arcp__request_refuse(arcp__sessions *sessions, arcp__request *request, const arcp_error *error,
                          arcp_span subject, arcp_span details)
{
    const arcp__peer_profile *profile = request->session->profile;
    const bool is_submit = request->type == ARCP_MESSAGE_JOB_SUBMIT;
    const bool accepts = is_submit && profile->accepts_refused_submits;
    const bool is_session_error = refuses_as_session_error(request);
    const bool waits = accepts && is_session_error;
    arcp_span job_id = subject;
    arcp_buf payload = arcp_buf_init();
    char fresh[ARCP__ID_SIZE];
    if (is_submit || (profile->names_refused_job && subject.size == 0)) {
        /* Clients match a refused submit by a job id that is never used for a job. */
        arcp__context_make_id(sessions->context, "job_", fresh);
        job_id = arcp_span_cstr(fresh);
    }
    if (accepts) {
        format_accepted(sessions, request, job_id, subject);
    }
    const bool fits = details.size < arcp__frame_text_max(sessions->context);
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__error_payload_local(&writer, error, fits ? details : ARCP__FRAME_LIMIT);
    arcp__put_cstr(&writer, "final_status", "error");
    if (accepts) { /* the end of the job that `frame` accepts */
        arcp__write_timestamp(&writer, "completed_at", sessions->context->now.wall_ns);
    }
    arcp__put_cstr(&writer, "request_id", request->id);
    arcp__put_cstr(&writer, "reply_to", request->id);
    if (profile->names_refused_job) {
        arcp__put_text(&writer, "job_id", job_id);
    }
    arcp_json_end_object(&writer);
    if (is_session_error && !accepts) {
        format_session_error(request, arcp_buf_span(&payload), &request->frame);
    } else {
        request->frame_is_record = !accepts;
        const bool is_shown = is_submit ? !profile->refuses_without_job_id
                                        : request->type == ARCP_MESSAGE_JOB_SUBSCRIBE &&
                                              profile->refuses_subscribe_with_job_id;
        format_record(request, is_shown ? job_id : ARCP__NOTHING, arcp_buf_span(&payload));
    }
    if (waits) {
        /* Make both forms; arcp__session_settle_refusal chooses one after a moment, because
         * requests that a client sends together arrive one after the other. */
        format_session_error(request, arcp_buf_span(&payload), &request->lone_error);
        arcp__context_arm(sessions->context, &request->session->refusal_timer,
                          sessions->timer_kinds.session, request->session,
                          sessions->context->now.mono_ns + LONE_REFUSAL_MS * ARCP_NS_PER_MS);
    }
    const bool failed = payload.failed || request->frame.failed || request->record.failed ||
                        request->lone_error.failed;
    arcp_buf_fini(&payload);
    if (failed) {
        arcp_buf_clear(&request->lone_error);
        arcp__context_no_memory(sessions->context);
        return;
    }
    const int64_t throttle_ns =
        arcp__principal_refused(sessions->jobs, request->session->principal);
    if (throttle_ns != 0 && request->session->link != NULL) {
        arcp__link_throttle(sessions, request->session->link, throttle_ns);
    }
    if (!waits) {
        arcp__request_finish(sessions, request);
    }
}

void arcp__request_refuse_with(arcp__sessions *sessions, arcp__request *request, arcp_status status,
                               const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__request_refuse(sessions, request, &error, ARCP__NOTHING, ARCP__NOTHING);
}

/* [arcp:6.6-6] */
void arcp__request_refuse_unknown_job(arcp__sessions *sessions, arcp__request *request,
                                      arcp_span job_id)
{
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    const arcp_span shown = arcp_span_first(job_id, 64);
    job_id = arcp_span_first(job_id, ARCP__ENVELOPE_ID_MAX);
    (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "there is no job \"%.*s\"", (int)shown.size,
                         shown.data);
    arcp_buf_append_cstr(&details, "{\"job_id\":");
    arcp_json_quote(job_id, &details);
    arcp_buf_append_byte(&details, '}');
    arcp__request_refuse(sessions, request, &error, job_id, arcp__details(&details));
    arcp_buf_fini(&details);
}

void arcp__request_answer(arcp__sessions *sessions, arcp__request *request, const char *type,
                          arcp_span job_id, arcp_span trace_id, arcp_span payload)
{
    arcp_buf whole = arcp__context_take_buf(sessions->context);
    arcp_buf_fini(&request->frame);
    request->frame = arcp__context_take_buf(sessions->context);
    whole.secret = request->frame.secret = request->is_secret;
    const arcp_span id = arcp_span_cstr(request->id);
    (void)arcp_buf_reserve(&whole, payload.size + 2 * id.size + 64);
    arcp_buf_append_cstr(&whole, "{\"request_id\":");
    arcp_json_quote(id, &whole);
    arcp_buf_append_cstr(&whole, ",\"reply_to\":");
    arcp_json_quote(id, &whole);
    if (payload.size > 2) {
        arcp_buf_append_byte(&whole, ',');
        arcp_buf_append(&whole, arcp_span_from(payload, 1));
    } else {
        arcp_buf_append_byte(&whole, '}');
    }
    arcp__envelope_format(&(arcp__envelope_head){.type = type,
                                                 .id = id,
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_id,
                                                 .job_id = job_id},
                          arcp_buf_span(&whole), &request->frame);
    request->frame.failed = request->frame.failed || whole.failed;
    arcp__context_give_buf(sessions->context, &whole);
    if (request->frame.failed) {
        arcp__context_no_memory(sessions->context);
        arcp_buf_clear(&request->frame);
        return;
    }
    if (request->frame.size > sessions->context->settings.limits_frame_bytes) {
        arcp_error error = {0};
        arcp_buf_clear(&request->frame);
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the response is too large for one frame (limits.frame_bytes)");
        arcp__request_refuse(sessions, request, &error,
                             request->type == ARCP_MESSAGE_JOB_SUBMIT ? ARCP__NOTHING : job_id,
                             ARCP__FRAME_LIMIT);
        return;
    }
    arcp__request_finish(sessions, request);
}
