#include "engine/watch.h"

#include "support/check.h"

#include "base/alloc.h"

void watch_init(watch *w)
{
    *w = (watch){.json = ARCP__JSON_INIT, .scratch = arcp_buf_init()};
    assert_true(arcp_buf_reserve(&w->scratch, 65536));
}

void watch_fini(watch *w)
{
    for (size_t i = 0; i < w->session_count; i++) {
        const watch_session *session = &w->sessions[i];
        for (watch_end *end = session->ends, *next = NULL; end != NULL; end = next) {
            next = end->next;
            arcp__free(end);
        }
        arcp__free(session->hashes);
    }
    arcp__json_fini(&w->json);
    arcp_buf_fini(&w->scratch);
}

void watch_fail(const watch *w, const char *what, const char *frame)
{
    fail_msg("%s, step %u: %s: %s%s", w->label, w->step, what, frame, w->again);
}

static arcp_json_ref member(watch *w, arcp_json_ref object, const char *name)
{
    return arcp_json_member(&w->json, object, arcp_span_cstr(name));
}

static void copy_string(watch *w, arcp_json_ref ref, char *out, size_t size)
{
    arcp_buf_clear(&w->scratch);
    arcp_span text = arcp_json_string(&w->json, ref, &w->scratch);
    text = arcp_span_first(text, size - 1);
    if (text.size != 0) {
        memcpy(out, text.data, text.size);
    }
    out[text.size] = '\0';
}

static uint64_t hash_of(uint64_t hash, arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static void note_hash(watch *w, watch_session *session, uint64_t seq, uint64_t hash,
                      const char *frame)
{
    if (seq <= session->highest) {
        w->replays++;
        if (session->hashes[seq - 1] != hash) {
            watch_fail(w, "the number was used for another message before", frame);
        }
        return;
    }
    if (seq > session->hash_capacity) {
        const size_t capacity = seq * 2 + 16;
        uint64_t *grown = arcp__realloc_array(session->hashes, capacity, sizeof *session->hashes);
        if (grown == NULL) {
            grown = arcp__realloc_array(session->hashes, capacity, sizeof *session->hashes);
        }
        assert_non_null(grown);
        session->hashes = grown;
        session->hash_capacity = capacity;
    }
    /* A session cannot be resumed beyond its last sent number: it continues where it was. */
    session->hashes[seq - 1] = hash;
    session->highest = seq;
}

static watch_end *end_of(const watch_session *session, const char *job_id)
{
    watch_end *end = session->ends;
    while (end != NULL && strcmp(end->job_id, job_id) != 0) {
        end = end->next;
    }
    return end;
}

static watch_end *add_end(watch_session *session, const char *job_id)
{
    watch_end *end = arcp__alloc(sizeof *end);
    if (end == NULL) {
        end = arcp__alloc(sizeof *end);
    }
    assert_non_null(end);
    (void)snprintf(end->job_id, sizeof end->job_id, "%s", job_id);
    end->next = session->ends;
    session->ends = end;
    return end;
}

void watch_unsubscribe(watch *w, size_t session, const char *job_id)
{
    watch_end *end = end_of(&w->sessions[session], job_id);
    if (end == NULL) {
        end = add_end(&w->sessions[session], job_id);
    }
    end->is_exempt = true;
}

bool watch_saw_end(const watch *w, size_t session, const char *job_id)
{
    return end_of(&w->sessions[session], job_id) != NULL;
}

static bool is_type(const char *type, const char *wanted)
{
    return strcmp(type, wanted) == 0;
}

static bool is_answer(watch *w, const char *type)
{
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    return is_type(type, "job.error") &&
           !arcp_json_is_missing(&w->json, member(w, payload, "request_id"));
}

/* The job of a key is no longer kept: every repeated submit gets that response. */
static bool is_lost_end(watch *w, const char *type)
{
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    return is_type(type, "job.error") && !is_answer(w, type) &&
           arcp_json_string_equals(&w->json, member(w, payload, "code"),
                                   ARCP_SPAN_LITERAL("JOB_NOT_FOUND"));
}

/* A job.error that answers a request names it; one that ends a job does not. */
static void note_job(watch *w, watch_session *session, const char *type, uint64_t seq,
                     const char *frame)
{
    char job_id[WATCH_ID_SIZE];
    copy_string(w, member(w, ARCP_JSON_ROOT, "job_id"), job_id, sizeof job_id);
    const bool ends =
        is_type(type, "job.result") || (is_type(type, "job.error") && !is_answer(w, type));
    if (!ends && !is_type(type, "job.event")) {
        return;
    }
    if (job_id[0] == '\0') {
        watch_fail(w, "no job_id", frame);
    }
    if (is_lost_end(w, type)) {
        w->lost++;
        return;
    }
    const watch_end *end = end_of(session, job_id);
    if (end != NULL && !end->is_exempt && (ends ? seq != end->seq : seq > end->seq)) {
        watch_fail(w, "it comes after the job's end", frame);
    }
    if (ends && end == NULL) {
        add_end(session, job_id)->seq = seq;
        w->ends++;
    }
}

static void note_event(watch *w, watch_session *session, const char *type, const char *frame)
{
    uint64_t seq = 0;
    const arcp_json_ref ref = member(w, ARCP_JSON_ROOT, "event_seq");
    if (ref == ARCP_JSON_ABSENT) {
        if (is_type(type, "job.event") || is_type(type, "job.result")) {
            watch_fail(w, "no event_seq", frame);
        }
        return;
    }
    uint64_t hash = hash_of(UINT64_C(14695981039346656037), arcp_span_cstr(type));
    hash = hash_of(hash, arcp_json_raw(&w->json, member(w, ARCP_JSON_ROOT, "job_id")));
    /* A replay after a value was revoked does not have it. */
    if (strstr(frame, "\"phase\":\"credential_rotated\"") == NULL) {
        hash = hash_of(hash, arcp_json_raw(&w->json, member(w, ARCP_JSON_ROOT, "payload")));
    }
    const bool is_number = arcp_json_u64(&w->json, ref, &seq);
    if (is_number && seq > 0 && seq <= session->last_seq && is_answer(w, type)) {
        /* A request whose id came twice gets its response again, with the same number. */
        note_hash(w, session, seq, hash, frame);
        return;
    }
    if (!is_number || seq != session->last_seq + 1) {
        char what[96];
        (void)snprintf(what, sizeof what, "event_seq must be %llu",
                       (unsigned long long)session->last_seq + 1);
        watch_fail(w, what, frame);
    }
    session->last_seq = seq;
    w->events++;
    note_hash(w, session, seq, hash, frame);
    note_job(w, session, type, seq, frame);
}

void watch_sent(watch *w, watch_client *client, const char *frame)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    if (arcp_json_scan(&w->json, arcp_span_cstr(frame), &limits, NULL) != ARCP_OK) {
        return;
    }
    if (client->connection == 0) {
        client->connection = ++w->connection_count;
    }
    watch_request *request = &w->requests[w->request_count++ % WATCH_REQUESTS_MAX];
    *request = (watch_request){
        .connection = client->connection, .session = client->session, .number = w->request_count};
    request->is_submit = arcp_json_string_equals(&w->json, member(w, ARCP_JSON_ROOT, "type"),
                                                 ARCP_SPAN_LITERAL("job.submit"));
    copy_string(w, member(w, ARCP_JSON_ROOT, "id"), request->id, sizeof request->id);
}

/* Whether a request that was sent after it was answered. */
static bool is_overtaken(const watch *w, const watch_request *request)
{
    for (size_t i = 0; i < WATCH_REQUESTS_MAX; i++) {
        const watch_request *other = &w->requests[i];
        if (other->is_answered && other->connection == request->connection &&
            other->number > request->number) {
            return true;
        }
    }
    return false;
}

/* The session's first request of this id that may be answered now. False: it was not only an id
 * of submits, whose answers alone keep an order. */
static bool find_submit(watch *w, size_t session, const char *id, watch_request **found)
{
    bool is_submit = false;
    *found = NULL;
    for (size_t i = 0; i < WATCH_REQUESTS_MAX; i++) {
        watch_request *request = &w->requests[i];
        if (request->number == 0 || request->session != session || strcmp(request->id, id) != 0) {
            continue;
        }
        if (!request->is_submit) {
            return false;
        }
        is_submit = true;
        if (!request->is_answered && !is_overtaken(w, request) &&
            (*found == NULL || request->number < (*found)->number)) {
            *found = request;
        }
    }
    return is_submit;
}

/* An id that was sent twice may be answered twice, each time in its place. Not every submit is
 * answered: the connection may go before. What a resume sends again is no new answer. */
static void note_answer(watch *w, size_t session, const char *frame)
{
    char id[WATCH_ID_SIZE];
    uint64_t seq = 0;
    watch_request *request = NULL;
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    copy_string(w, member(w, payload, "request_id"), id, sizeof id);
    const bool is_replayed =
        arcp_json_u64(&w->json, member(w, ARCP_JSON_ROOT, "event_seq"), &seq) &&
        seq <= w->sessions[session].highest;
    if (id[0] == '\0' || is_replayed || !find_submit(w, session, id, &request)) {
        return;
    }
    if (request == NULL) {
        watch_fail(w, "a later submit was answered before", frame);
    }
    request->is_answered = true;
    w->answers++;
}

static void note_welcome(watch *w, watch_client *client, const char *session_id, const char *frame)
{
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    size_t i = 0;
    while (i < w->session_count && strcmp(w->sessions[i].id, session_id) != 0) {
        i++;
    }
    if ((i < w->session_count) != client->resuming) {
        watch_fail(w,
                   client->resuming ? "a resume opened a new session"
                                    : "a hello opened a session that was there",
                   frame);
    }
    if (i == w->session_count) {
        assert_true(w->session_count < WATCH_SESSIONS_MAX);
        w->session_count++;
        (void)snprintf(w->sessions[i].id, WATCH_ID_SIZE, "%s", session_id);
    } else {
        w->sessions[i].last_seq = client->resume_from;
    }
    copy_string(w, member(w, payload, "resume_token"), w->sessions[i].token,
                sizeof w->sessions[i].token);
    w->sessions[i].holder = client;
    w->sessions[i].is_bobs = client->is_bobs;
    client->session = i;
    client->resuming = false;
    for (size_t request = 0; request < WATCH_REQUESTS_MAX; request++) {
        if (w->requests[request].connection == client->connection) {
            w->requests[request].session = i;
        }
    }
}

static void note_key(watch *w, const watch_client *client, const char *job_id, const char *frame)
{
    char request[WATCH_ID_SIZE];
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    copy_string(w, member(w, payload, "request_id"), request, sizeof request);
    if (request[0] != WATCH_KEY_MARK) {
        return;
    }
    const size_t key = (size_t)(request[1] - '0');
    assert_true(key < WATCH_KEYS);
    char *known = w->keyed[client->is_bobs][key];
    if (known[0] != '\0' && w->keys_stay && strcmp(known, job_id) != 0) {
        watch_fail(w, "the key had another job", frame);
    }
    (void)snprintf(known, WATCH_ID_SIZE, "%s", job_id);
}

static void note_accepted(watch *w, const watch_client *client, const char *frame)
{
    char id[WATCH_ID_SIZE];
    copy_string(w, member(w, ARCP_JSON_ROOT, "job_id"), id, sizeof id);
    if (id[0] == '\0') {
        watch_fail(w, "accepted without a job_id", frame);
    }
    note_key(w, client, id, frame);
    for (size_t i = 0; i < w->job_count; i++) {
        if (strcmp(w->jobs[i].id, id) == 0) {
            return; /* the same answer again, or the same idempotency key */
        }
    }
    assert_true(w->job_count < WATCH_JOBS_MAX);
    watch_job *job = &w->jobs[w->job_count++];
    memcpy(job->id, id, sizeof id);
    job->is_bobs = client->is_bobs;
}

static void check_error(watch *w, const char *frame)
{
    const arcp_json_ref payload = member(w, ARCP_JSON_ROOT, "payload");
    char code[64];
    copy_string(w, member(w, payload, "code"), code, sizeof code);
    if (!arcp_status_is_wire_code(arcp_span_cstr(code))) {
        watch_fail(w, "not an error code of the draft", frame);
    }
}

/* No session gets another principal's job: its id comes up in no frame but in the refusal of a
 * request that named it. */
static void check_owner(watch *w, const watch_session *session, const char *type, const char *frame)
{
    const bool is_refusal = is_answer(w, type);
    for (size_t i = 0; i < w->job_count; i++) {
        const watch_job *job = &w->jobs[i];
        if (!is_refusal && job->is_bobs != session->is_bobs && strstr(frame, job->id) != NULL) {
            watch_fail(w, "it is about another principal's job", frame);
        }
    }
}

void watch_frame(watch *w, watch_client *client, const char *frame)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error error = {0};
    char type[64] = {0};
    char session_id[WATCH_ID_SIZE];
    w->frames++;
    arcp_status status = arcp_json_scan(&w->json, arcp_span_cstr(frame), &limits, &error);
    if (status == ARCP_E_NO_MEMORY) {
        status = arcp_json_scan(&w->json, arcp_span_cstr(frame), &limits, &error);
    }
    if (status != ARCP_OK || !arcp_json_is(&w->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        watch_fail(w, error.message, frame);
    }
    copy_string(w, member(w, ARCP_JSON_ROOT, "type"), type, sizeof type);
    copy_string(w, member(w, ARCP_JSON_ROOT, "session_id"), session_id, sizeof session_id);
    if (type[0] == '\0' || session_id[0] == '\0') {
        watch_fail(w, "no type or no session_id", frame);
    }
    if (is_type(type, "session.welcome")) {
        note_welcome(w, client, session_id, frame);
    }
    if (is_type(type, "session.error") || is_type(type, "job.error")) {
        check_error(w, frame);
    }
    if (client->session == WATCH_NONE) {
        if (!is_type(type, "session.error")) {
            watch_fail(w, "before the welcome", frame);
        }
        return;
    }
    watch_session *session = &w->sessions[client->session];
    if (strcmp(session->id, session_id) != 0) {
        watch_fail(w, "it is another session's", frame);
    }
    if (session->holder != client) {
        return; /* another link has resumed it since */
    }
    check_owner(w, session, type, frame);
    if (is_type(type, "job.accepted") || is_answer(w, type)) {
        note_answer(w, client->session, frame);
    }
    note_event(w, session, type, frame);
    if (is_type(type, "job.accepted")) {
        note_accepted(w, client, frame);
    }
}
