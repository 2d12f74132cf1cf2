/* A job as the client knows it, and the jobs of a session: those that are known, and those that
 * were.
 *
 * A runtime has one job for one idempotency key, whatever became of it, and tells its end to a
 * session once. So when a program asks again under a key of its own, the answer names a job of
 * which nothing more will come: its outcome must still be here, or the program must be told that
 * it is not. The latest jobs of programs' keys are therefore kept when they are over and nobody
 * holds them, within bounds; of all others only a hash of the id, which also tells late answers to
 * submits that were sent twice from answers about jobs that are new. */
#include <assert.h>
#include <stdio.h>

#include <arcp/decimal.h>

#include "base/alloc.h"
#include "client/client_job.h"

/* ---- the record ---- */

arcp_job *arcp__client_job_new(arcp_span id)
{
    arcp_job *job = arcp__alloc(sizeof(*job));
    if (job == NULL) {
        return NULL;
    }
    job->id = arcp__arena_copy(&job->strings, id);
    if (job->id.data == NULL) {
        arcp__free(job);
        return NULL;
    }
    atomic_init(&job->refs, 1);
    atomic_init(&job->handles, 0);
    atomic_init(&job->over, false);
    job->status = ARCP_JOB_PENDING;
    return job;
}

void arcp__client_job_hold(arcp_job *job)
{
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
}

void arcp__client_job_hold_handle(arcp_job *job)
{
    arcp__client_job_hold(job);
    atomic_fetch_add_explicit(&job->handles, 1, memory_order_relaxed);
}

void arcp__client_job_drop(arcp_job *job)
{
    if (job == NULL || atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    arcp__client_item_free(job->current);
    arcp__client_result_stream_fini(&job->stream);
    arcp_secret_free(job->credentials);
    arcp_failure_fini(&job->failure);
    arcp__arena_fini(&job->strings);
    arcp__free(job->budgets);
    arcp__free(job);
}

void arcp__client_job_drop_handle(arcp_job *job)
{
    if (job != NULL) {
        atomic_fetch_sub_explicit(&job->handles, 1, memory_order_relaxed);
        arcp__client_job_drop(job);
    }
}

/* ---- budgets ---- */

/* The row of a currency; NULL when there is no more room, or out of memory, which is noted. */
static arcp_job_budget *budget_row(arcp__client_session *session, arcp_job *job, arcp_span currency)
{
    if (currency.size == 0 || currency.size >= ARCP_CURRENCY_MAX) {
        return NULL;
    }
    if (job->budgets == NULL) {
        job->budgets = arcp__alloc_array(ARCP__JOB_BUDGETS_MAX, sizeof(*job->budgets));
    }
    if (job->budgets == NULL) {
        session->failed = true;
        return NULL;
    }
    for (size_t row = 0; row < job->budget_count; row++) {
        if (arcp_span_equal_cstr(currency, job->budgets[row].currency)) {
            return &job->budgets[row];
        }
    }
    if (job->budget_count == ARCP__JOB_BUDGETS_MAX) {
        return NULL;
    }
    arcp_job_budget *row = &job->budgets[job->budget_count++];
    memcpy(row->currency, currency.data, currency.size);
    row->currency[currency.size] = '\0';
    return row;
}

/* Only digits as people write an amount: a sign, digits, perhaps a fraction or exponent. */
static void set_amount(char out[ARCP_DECIMAL_TEXT_MAX], arcp_span text)
{
    char amount[ARCP_DECIMAL_TEXT_MAX] = "";
    if (text.size == 0 || text.size >= sizeof(amount)) {
        return;
    }
    memcpy(amount, text.data, text.size);
    if (strspn(amount, "0123456789.-+eE") == text.size && strpbrk(amount, "0123456789") != NULL) {
        memcpy(out, amount, sizeof(amount));
    }
}

/* What follows the colon of "USD:5.00"; all of a text that has none. */
static arcp_span after_colon(arcp_span text)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    return colon == NULL ? text : arcp_span_from(text, (size_t)(colon - text.data) + 1);
}

/* What remains of a currency: runtimes write 5, "5.00" or "USD:5.00". */
static void set_remaining(arcp__client_session *session, arcp_job *job, arcp_json_ref currency,
                          arcp_json_ref value)
{
    const arcp_json *json = &session->json;
    arcp_job_budget *row =
        budget_row(session, job, arcp_json_string(json, currency, &session->scratch));
    if (row != NULL) {
        set_amount(row->remaining,
                   arcp_json_is(json, value, ARCP_JSON_NUMBER)
                       ? arcp_json_raw(json, value)
                       : after_colon(arcp_json_string(json, value, &session->scratch)));
    }
}

/* Adds one cost.budget pattern to the initial amount of its currency. */
static void add_initial(arcp__client_session *session, arcp_job *job, arcp_span pattern)
{
    arcp_span amount = after_colon(pattern);
    arcp_decimal sum = ARCP_DECIMAL_ZERO;
    arcp_decimal more = ARCP_DECIMAL_ZERO;
    if (amount.size == pattern.size) {
        return;
    }
    arcp_span currency = arcp_span_first(pattern, pattern.size - amount.size - 1);
    arcp_job_budget *row = budget_row(session, job, currency);
    if (row != NULL && row->initial[0] == '\0') {
        set_amount(row->initial, amount);
    } else if (row != NULL &&
               arcp_decimal_parse(arcp_span_cstr(row->initial), &sum, NULL) == ARCP_OK &&
               arcp_decimal_parse(amount, &more, NULL) == ARCP_OK &&
               arcp_decimal_add(sum, more, &sum)) {
        (void)arcp_decimal_format(sum, row->initial);
    }
}

static void describe_budget(arcp__client_session *session, arcp_job *job)
{
    const arcp_json *json = &session->json;
    const arcp__client_description *told = &session->in.description;
    if (job->budget_count == 0) {
        for (arcp_json_ref at = arcp_json_first(json, told->patterns); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(json, told->patterns, at)) {
            add_initial(session, job, arcp_json_string(json, at, &session->scratch));
        }
    }
    for (arcp_json_ref name = arcp_json_first(json, told->budget); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, told->budget, name)) {
        set_remaining(session, job, name, name + 1);
    }
    for (size_t at = 0; at < job->budget_count; at++) {
        arcp_job_budget *row = &job->budgets[at];
        if (row->remaining[0] == '\0') {
            memcpy(row->remaining, row->initial, sizeof(row->initial));
        }
    }
}

void arcp__client_job_note_metric(arcp__client_session *session, arcp_job *job)
{
    const arcp_json *json = &session->json;
    const arcp_json_ref body = session->in.event.body;
    arcp_json_ref name = arcp_json_member(json, body, ARCP_SPAN_LITERAL("name"));
    arcp_json_ref unit = arcp_json_member(json, body, ARCP_SPAN_LITERAL("unit"));
    if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("cost.budget.remaining"))) {
        set_remaining(session, job, unit, arcp_json_member(json, body, ARCP_SPAN_LITERAL("value")));
        session->failed = session->failed || session->scratch.failed;
    }
}

/* ---- describing and ending ---- */

/* Copies into `out`, unless it is known already; an empty source leaves it unknown. False when out
 * of memory. */
static bool learn(arcp_job *job, arcp_span *out, arcp_span text)
{
    if (out->size != 0 || text.size == 0) {
        return true;
    }
    arcp_span copy = arcp__arena_copy(&job->strings, text);
    *out = copy.data == NULL ? *out : copy;
    return copy.data != NULL;
}

bool arcp__client_job_describe(arcp__client_session *session, arcp_job *job)
{
    const arcp_json *json = &session->json;
    const arcp__client_description *told = &session->in.description;
    /* A job.accepted that comes again tells the initial counters; a job.subscribed those of
     * now. */
    if (job->descriptor.size == 0 || told->current_status != ARCP_JSON_ABSENT) {
        describe_budget(session, job);
    }
    if (job->credentials == NULL &&
        !arcp__client_credentials_keep(json, told->credentials, &job->credentials)) {
        return false;
    }
    arcp_job_status status =
        arcp_job_status_from_wire(arcp_json_string(json, told->current_status, &session->scratch));
    if (status != ARCP_JOB_STATUS_COUNT && !job->ended) {
        job->status = status;
    }
    if (session->failed || session->scratch.failed || !learn(job, &job->agent, told->agent) ||
        !learn(job, &job->trace_id, session->in.trace_id) ||
        !learn(job, &job->parent_id, told->parent_job_id) ||
        !learn(job, &job->delegate_id, told->delegate_id) ||
        !learn(job, &job->lease, arcp_json_raw(json, told->lease)) ||
        !learn(job, &job->constraints, arcp_json_raw(json, told->lease_constraints))) {
        return false;
    }
    arcp_buf descriptor = ARCP_BUF_INIT;
    arcp__client_credentials_redact(json, session->in.payload, &descriptor);
    bool is_learnt = !descriptor.failed && learn(job, &job->descriptor, arcp_buf_span(&descriptor));
    arcp_buf_fini(&descriptor);
    return is_learnt;
}

bool arcp__client_job_end(arcp__client_session *session, arcp_job *job)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    arcp_outcome outcome = {.final_status = ARCP_JOB_SUCCESS, .streamed_bytes = UINT64_MAX};
    arcp_job_status told = arcp_job_status_from_wire(in->end.final_status);
    bool is_told = arcp_job_status_is_terminal(told);
    bool is_error = in->type == ARCP_MESSAGE_JOB_ERROR || (is_told && told != ARCP_JOB_SUCCESS);
    if (!learn(job, &outcome.payload, in->text) || !learn(job, &outcome.summary, in->end.summary)) {
        return false;
    }
    if (is_error) {
        /* Some runtimes tell of a job that was stopped in a job.result, which has no code: its
         * final status says as much. */
        arcp_status stop = told == ARCP_JOB_CANCELLED ? ARCP_E_CANCELLED : ARCP_E_TIMEOUT;
        if (in->end.code.size == 0 && (told == ARCP_JOB_CANCELLED || told == ARCP_JOB_TIMED_OUT)) {
            (void)arcp__client_failure_set(&job->failure, stop, "%s", arcp_status_text(stop));
            (void)snprintf(job->failure.code, sizeof(job->failure.code), "%s",
                           arcp_status_wire_code(stop));
        } else {
            arcp__client_failure_read(session, &job->failure);
        }
        outcome.failure = &job->failure;
        outcome.status = job->failure.error.status;
        outcome.final_status = ARCP_JOB_ERROR;
        if (is_told && told != ARCP_JOB_SUCCESS) {
            outcome.final_status = told;
        } else if (outcome.status == ARCP_E_CANCELLED) {
            outcome.final_status = ARCP_JOB_CANCELLED;
        } else if (outcome.status == ARCP_E_TIMEOUT) {
            outcome.final_status = ARCP_JOB_TIMED_OUT;
        }
    } else {
        arcp_json_ref result =
            in->end.result != ARCP_JSON_ABSENT ? in->end.result : in->end.older_result;
        bool is_streamed = in->end.result_id.size != 0;
        if (!learn(job, &outcome.result_id, in->end.result_id) ||
            (!is_streamed && !learn(job, &outcome.result, arcp_json_raw(json, result)))) {
            return false;
        }
    }
    if (session->failed) {
        return false;
    }
    /* As told; hand_over replaces it by what came. */
    (void)arcp_json_u64(json, in->end.result_size, &outcome.streamed_bytes);
    job->outcome = outcome;
    job->status = outcome.final_status;
    job->ended = true;
    return true;
}

/* ---- handing over ---- */

void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item)
{
    arcp_outcome *outcome = &job->outcome;
    if (item->event.type == ARCP_CLIENT_JOB_EVENT && item->event.kind == ARCP_EVENT_RESULT_CHUNK) {
        arcp__client_result_stream_take(&job->stream, item->event.body);
    }
    if (item->event.type != ARCP_CLIENT_JOB_ENDED) {
        return;
    }
    uint64_t told = outcome->streamed_bytes;
    outcome->streamed_bytes = job->stream.bytes;
    outcome->bytes = arcp_buf_span(&job->stream.memory);
    if (outcome->status == ARCP_OK) {
        arcp__client_result_stream_finish(&job->stream, outcome->result_id, told);
        if (job->stream.result_id != NULL) {
            outcome->result = arcp_span_make(NULL, 0);
            outcome->result_id = outcome->result_id.size != 0
                                     ? outcome->result_id
                                     : arcp_span_cstr(job->stream.result_id);
        }
        if (job->stream.error.status != ARCP_OK) {
            arcp_failure_fini(&job->failure);
            job->failure.error = job->stream.error;
            outcome->status = job->stream.error.status;
            outcome->failure = &job->failure;
        }
    }
    item->event.failure = outcome->failure;
    atomic_store(&job->over, true);
}

/* ---- those of a session ---- */

arcp_job *arcp__client_session_find_job(arcp__client_session *session, arcp_span id)
{
    arcp_job *job = NULL;
    HASH_FIND(hh, session->jobs, id.data, id.size, job);
    return job;
}

arcp_job *arcp__client_session_job(arcp__client_session *session, arcp_span id)
{
    arcp_job *job = arcp__client_session_find_job(session, id);
    if (job != NULL) {
        return job;
    }
    job = arcp__client_job_new(id);
    if (job == NULL) {
        return NULL;
    }
    HASH_ADD_KEYPTR(hh, session->jobs, job->id.data, job->id.size, job);
    if (!ARCP__HASH_ADDED(job)) {
        arcp__client_job_drop(job);
        return NULL;
    }
    job->session = session;
    job->owner = session->owner;
    return job;
}

/* ---- becoming known ---- */

void arcp__client_session_announce(arcp__client_session *session, arcp_job *job, bool by_reply)
{
    if (!job->announced && !by_reply) {
        arcp__client_item *added =
            arcp__client_item_new(ARCP_CLIENT_JOB_ADDED, job, job->descriptor.size);
        if (added == NULL) {
            session->failed = true;
            return;
        }
        added->event.payload = arcp__client_item_place(added, job->descriptor);
        arcp__client_item_queue(session, added);
    }
    job->announced = true;
    arcp__client_item *item = NULL;
    arcp__client_item *next = NULL;
    DL_FOREACH_SAFE (job->held, item, next) {
        DL_DELETE(job->held, item);
        uint64_t seq = item->event.event_seq;
        arcp__client_item_queue(session, item);
        item->floor_seq = seq == 0 ? item->floor_seq : seq - 1;
    }
}

/* ---- ids of those that are gone ---- */

static uint16_t *bucket_of(arcp__gone_jobs *gone, uint64_t hash)
{
    return &gone->buckets[hash % ARCP__GONE_JOBS_MAX];
}

/* Takes the place out of its bucket, to be used again. */
static void drop(arcp__gone_jobs *gone, size_t place)
{
    uint16_t *at = bucket_of(gone, gone->hashes[place]);
    while (*at != place + 1) {
        at = &gone->next[*at - 1];
    }
    *at = gone->next[place];
}

void arcp__gone_jobs_add(arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    size_t place = gone->added % ARCP__GONE_JOBS_MAX;
    if (gone->added >= ARCP__GONE_JOBS_MAX) {
        drop(gone, place);
    }
    uint16_t *bucket = bucket_of(gone, hash);
    gone->hashes[place] = hash;
    gone->next[place] = *bucket;
    *bucket = (uint16_t)(place + 1);
    gone->added++;
}

bool arcp__gone_jobs_has(const arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    if (gone == NULL) {
        return false;
    }
    uint16_t at = gone->buckets[hash % ARCP__GONE_JOBS_MAX];
    while (at != 0 && gone->hashes[at - 1] != hash) {
        at = gone->next[at - 1];
    }
    return at != 0;
}

/* ---- being over ---- */

static void forget(arcp__client_session *session, arcp_job *job)
{
    if (session->gone == NULL) {
        session->gone = arcp__alloc(sizeof(*session->gone));
    }
    if (session->gone != NULL) { /* else a late answer may be taken for a new job */
        arcp__gone_jobs_add(session->gone, job->id);
    }
    assert(session->jobs != NULL); /* it is in there */
    HASH_DELETE(hh, session->jobs, job);
    job->session = NULL;
    job->owner = NULL;
    arcp__client_job_drop(job);
}

void arcp__client_past_take_back(arcp__client_session *session, arcp_job *job)
{
    if (job->is_past) {
        DL_DELETE2(session->past, job, past_prev, past_next);
        job->is_past = false;
        session->past_bytes -= job->past_size;
    }
}

void arcp__client_session_reap(arcp_job *job)
{
    arcp__client_session *session = job->session;
    if (session == NULL || !atomic_load(&job->over) || atomic_load(&job->handles) != 0 ||
        job->is_past) {
        return;
    }
    if (!job->is_keyed) {
        forget(session, job);
        return;
    }
    job->is_past = true;
    job->past_size =
        sizeof(*job) + job->descriptor.size + job->outcome.payload.size + job->outcome.bytes.size;
    session->past_bytes += job->past_size;
    DL_APPEND2(session->past, job, past_prev, past_next);
    while (session->past != NULL && session->past_bytes > ARCP__PAST_BYTES_MAX) {
        arcp_job *oldest = session->past;
        arcp__client_past_take_back(session, oldest);
        forget(session, oldest);
    }
}
