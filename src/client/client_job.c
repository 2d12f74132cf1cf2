#include "client/client_job.h"

#include <stdio.h>

#include <arcp/decimal.h>

#include "base/alloc.h"

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

void arcp__client_job_drop_held(arcp_job *job)
{
    while (job->held != NULL) {
        arcp__client_item *item = job->held;
        DL_DELETE(job->held, item);
        arcp__client_item_free(item);
    }
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

/* ---- describing ---- */

/* Copies into `out`, unless it is known already; an empty source leaves it unknown. */
static arcp_status learn(arcp_job *job, arcp_span *out, arcp_span text)
{
    if (out->size != 0 || text.size == 0) {
        return ARCP_OK;
    }
    arcp_span copy = arcp__arena_copy(&job->strings, text);
    if (copy.data == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    *out = copy;
    return ARCP_OK;
}

static arcp_status learn_string(arcp_job *job, arcp_span *out, const arcp_json *json,
                                arcp_json_ref object, const char *name, arcp_buf *scratch)
{
    arcp_json_ref ref = arcp_json_member(json, object, arcp_span_cstr(name));
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return ARCP_OK;
    }
    arcp_span text = arcp_json_string(json, ref, scratch);
    return scratch->failed ? ARCP_E_NO_MEMORY : learn(job, out, text);
}

static arcp_status learn_object(arcp_job *job, arcp_span *out, const arcp_json *json,
                                arcp_json_ref object, const char *name)
{
    arcp_json_ref ref = arcp_json_member(json, object, arcp_span_cstr(name));
    if (!arcp_json_is(json, ref, ARCP_JSON_OBJECT)) {
        return ARCP_OK;
    }
    return learn(job, out, arcp_json_raw(json, ref));
}

/* ---- budgets ---- */

static bool make_budgets(arcp_job *job)
{
    if (job->budgets == NULL) {
        job->budgets = arcp__alloc_array(ARCP__JOB_BUDGETS_MAX, sizeof(*job->budgets));
    }
    return job->budgets != NULL;
}

/* Of the job's budgets, which were made. */
static arcp_job_budget *budget_row(arcp_job *job, arcp_span currency)
{
    if (currency.size == 0 || currency.size >= ARCP_CURRENCY_MAX) {
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

/* Digits as people write an amount: a sign, digits, perhaps a fraction or exponent. */
static bool looks_like_number(arcp_span text)
{
    bool digit = false;
    for (size_t at = 0; at < text.size; at++) {
        char byte = text.data[at];
        digit = digit || (byte >= '0' && byte <= '9');
        if (!((byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '+' ||
              byte == 'e' || byte == 'E')) {
            return false;
        }
    }
    return digit;
}

static void set_amount(char out[ARCP_DECIMAL_TEXT_MAX], arcp_span text)
{
    if (text.size < ARCP_DECIMAL_TEXT_MAX && looks_like_number(text)) {
        memcpy(out, text.data, text.size);
        out[text.size] = '\0';
    }
}

/* The amount of 5, "5.00" or "USD:5.00": what runtimes write as a counter's value. */
static arcp_span amount_text(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch)
{
    if (arcp_json_is(json, ref, ARCP_JSON_NUMBER)) {
        return arcp_json_raw(json, ref);
    }
    arcp_span text = arcp_json_string(json, ref, scratch);
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    return colon == NULL ? text : arcp_span_from(text, (size_t)(colon - text.data) + 1);
}

/* Adds one cost.budget pattern to the initial amount of its currency. */
static void add_initial(arcp_job *job, arcp_span pattern)
{
    const char *colon = pattern.size == 0 ? NULL : memchr(pattern.data, ':', pattern.size);
    if (colon == NULL) {
        return;
    }
    size_t at = (size_t)(colon - pattern.data);
    arcp_job_budget *row = budget_row(job, arcp_span_first(pattern, at));
    arcp_span amount = arcp_span_from(pattern, at + 1);
    if (row == NULL) {
        return;
    }
    if (row->initial[0] == '\0') {
        set_amount(row->initial, amount);
        return;
    }
    arcp_decimal sum = ARCP_DECIMAL_ZERO;
    arcp_decimal more = ARCP_DECIMAL_ZERO;
    if (arcp_decimal_parse(arcp_span_cstr(row->initial), &sum, NULL) == ARCP_OK &&
        arcp_decimal_parse(amount, &more, NULL) == ARCP_OK && arcp_decimal_add(sum, more, &sum)) {
        (void)arcp_decimal_format(sum, row->initial);
    }
}

static arcp_status describe_budget(arcp_job *job, const arcp_json *json, arcp_json_ref payload,
                                   arcp_buf *scratch)
{
    arcp_json_ref lease = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("lease"));
    arcp_json_ref patterns = arcp_json_member(json, lease, ARCP_SPAN_LITERAL("cost.budget"));
    arcp_json_ref budget = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("budget"));
    if (!arcp_json_is(json, patterns, ARCP_JSON_ARRAY) &&
        !arcp_json_is(json, budget, ARCP_JSON_OBJECT)) {
        return ARCP_OK;
    }
    if (!make_budgets(job)) {
        return ARCP_E_NO_MEMORY;
    }
    if (arcp_json_is(json, patterns, ARCP_JSON_ARRAY) && job->budget_count == 0) {
        for (arcp_json_ref at = arcp_json_first(json, patterns); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(json, patterns, at)) {
            add_initial(job, arcp_json_string(json, at, scratch));
        }
    }
    if (arcp_json_is(json, budget, ARCP_JSON_OBJECT)) {
        for (arcp_json_ref name = arcp_json_first(json, budget); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(json, budget, name)) {
            arcp_job_budget *row = budget_row(job, arcp_json_string(json, name, scratch));
            if (row != NULL) {
                set_amount(row->remaining, amount_text(json, name + 1, scratch));
            }
        }
    }
    for (size_t row = 0; row < job->budget_count; row++) {
        if (job->budgets[row].remaining[0] == '\0') {
            memcpy(job->budgets[row].remaining, job->budgets[row].initial,
                   sizeof(job->budgets[row].initial));
        }
    }
    return ARCP_OK;
}

arcp_status arcp__client_job_note_metric(arcp_job *job, const arcp_json *json, arcp_json_ref body)
{
    arcp_json_ref name = arcp_json_member(json, body, ARCP_SPAN_LITERAL("name"));
    arcp_json_ref unit = arcp_json_member(json, body, ARCP_SPAN_LITERAL("unit"));
    arcp_json_ref value = arcp_json_member(json, body, ARCP_SPAN_LITERAL("value"));
    if (!arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("cost.budget.remaining")) ||
        !arcp_json_is(json, unit, ARCP_JSON_STRING)) {
        return ARCP_OK;
    }
    if (!make_budgets(job)) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_job_budget *row = budget_row(job, arcp_json_string(json, unit, &scratch));
    if (row != NULL && !scratch.failed) {
        set_amount(row->remaining, amount_text(json, value, &scratch));
    }
    arcp_status status = arcp_buf_status(&scratch);
    arcp_buf_fini(&scratch);
    return status;
}

arcp_status arcp__client_job_describe(arcp_job *job, const arcp_json *json, arcp_json_ref payload,
                                      arcp_buf *scratch)
{
    bool is_first = job->descriptor.size == 0;
    arcp_buf descriptor = ARCP_BUF_INIT;
    arcp__client_credentials_redact(json, payload, &descriptor);
    arcp_status status = arcp_buf_status(&descriptor);
    if (status == ARCP_OK) {
        status = learn(job, &job->descriptor, arcp_buf_span(&descriptor));
    }
    arcp_buf_fini(&descriptor);

    const struct {
        arcp_span *out;
        const char *name;
    } strings[] = {
        {&job->agent, "agent"},
        {&job->trace_id, "trace_id"},
        {&job->parent_id, "parent_job_id"},
        {&job->delegate_id, "delegate_id"},
    };
    for (size_t at = 0; status == ARCP_OK && at < sizeof(strings) / sizeof(strings[0]); at++) {
        status = learn_string(job, strings[at].out, json, payload, strings[at].name, scratch);
    }
    if (status == ARCP_OK) {
        status = learn_object(job, &job->lease, json, payload, "lease");
    }
    if (status == ARCP_OK) {
        status = learn_object(job, &job->constraints, json, payload, "lease_constraints");
    }
    if (status == ARCP_OK && job->credentials == NULL) {
        status = arcp__client_credentials_keep(json, payload, &job->credentials);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp_json_ref current = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("current_status"));
    /* A job.accepted that comes again tells the initial counters; a job.subscribed those of
     * now. */
    if (is_first || current != ARCP_JSON_ABSENT) {
        status = describe_budget(job, json, payload, scratch);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp_job_status told = arcp_job_status_from_wire(arcp_json_string(json, current, scratch));
    if (told != ARCP_JOB_STATUS_COUNT && !job->ended) {
        job->status = told;
    }
    return scratch->failed ? ARCP_E_NO_MEMORY : ARCP_OK;
}

/* ---- ending ---- */

/* The first of several spellings that is there. */
static arcp_json_ref first_of(const arcp_json *json, arcp_json_ref object, const char *const *names,
                              size_t count)
{
    for (size_t at = 0; at < count; at++) {
        arcp_json_ref ref = arcp_json_member(json, object, arcp_span_cstr(names[at]));
        if (ref != ARCP_JSON_ABSENT) {
            return ref;
        }
    }
    return ARCP_JSON_ABSENT;
}

static arcp_job_status status_of_failure(arcp_status status)
{
    if (status == ARCP_E_CANCELLED) {
        return ARCP_JOB_CANCELLED;
    }
    return status == ARCP_E_TIMEOUT ? ARCP_JOB_TIMED_OUT : ARCP_JOB_ERROR;
}

/* What ended the job. Some runtimes tell of a job that was stopped in a job.result, which has
 * no code: its final status says as much. */
static arcp_status read_failure(arcp_job *job, const arcp_json *json, arcp_json_ref payload,
                                arcp_job_status told, arcp_buf *scratch)
{
    arcp_json_ref code = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("code"));
    arcp_status stop = told == ARCP_JOB_CANCELLED ? ARCP_E_CANCELLED : ARCP_E_TIMEOUT;
    if (!arcp_json_is_missing(json, code) ||
        (told != ARCP_JOB_CANCELLED && told != ARCP_JOB_TIMED_OUT)) {
        return arcp__client_failure_read(&job->failure, json, payload, scratch);
    }
    (void)arcp__client_failure_set(&job->failure, stop, "%s", arcp_status_text(stop));
    (void)snprintf(job->failure.code, sizeof(job->failure.code), "%s", arcp_status_wire_code(stop));
    return ARCP_OK;
}

/* The final status that the runtime names; COUNT when it names none. */
static arcp_job_status final_status_of(const arcp_json *json, arcp_json_ref payload,
                                       arcp_buf *scratch)
{
    arcp_json_ref final = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("final_status"));
    arcp_job_status told = arcp_job_status_from_wire(arcp_json_string(json, final, scratch));
    return arcp_job_status_is_terminal(told) ? told : ARCP_JOB_STATUS_COUNT;
}

arcp_status arcp__client_job_end(arcp_job *job, const arcp_json *json, arcp_json_ref payload,
                                 bool is_error, arcp_buf *scratch)
{
    static const char *const result_names[] = {"result", "output", "value"};
    arcp_outcome outcome = {.final_status = ARCP_JOB_SUCCESS};
    arcp_job_status told = final_status_of(json, payload, scratch);
    is_error = is_error || (told != ARCP_JOB_SUCCESS && told != ARCP_JOB_STATUS_COUNT);
    arcp_status status =
        learn(job, &outcome.payload,
              payload == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("{}") : arcp_json_raw(json, payload));
    if (status == ARCP_OK) {
        status = learn_string(job, &outcome.summary, json, payload, "summary", scratch);
    }
    if (status == ARCP_OK && !is_error) {
        status = learn_string(job, &outcome.result_id, json, payload, "result_id", scratch);
    }
    if (status == ARCP_OK && !is_error && outcome.result_id.size == 0) {
        status = learn(job, &outcome.result,
                       arcp_json_raw(json, first_of(json, payload, result_names, 3)));
    }
    if (status == ARCP_OK && is_error) {
        status = read_failure(job, json, payload, told, scratch);
        outcome.status = job->failure.error.status;
        outcome.final_status = status_of_failure(outcome.status);
        outcome.failure = &job->failure;
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (told != ARCP_JOB_STATUS_COUNT && (told == ARCP_JOB_SUCCESS) == !is_error) {
        outcome.final_status = told;
    }
    uint64_t size = UINT64_MAX;
    if (!arcp_json_u64(json, arcp_json_member(json, payload, ARCP_SPAN_LITERAL("result_size")),
                       &size)) {
        size = UINT64_MAX;
    }
    outcome.streamed_bytes = size; /* as told; hand_over replaces it by what came */
    job->outcome = outcome;
    job->status = outcome.final_status;
    job->ended = true;
    return ARCP_OK;
}

/* ---- handing over ---- */

static void finish_outcome(arcp_job *job)
{
    arcp_outcome *outcome = &job->outcome;
    uint64_t told = outcome->streamed_bytes;
    outcome->streamed_bytes = job->stream.bytes;
    outcome->bytes = arcp_buf_span(&job->stream.memory);
    if (outcome->status != ARCP_OK) {
        return;
    }
    if (job->stream.result_id != NULL) {
        outcome->result = arcp_span_make(NULL, 0);
    }
    arcp__client_result_stream_finish(&job->stream, outcome->result_id, told);
    if (outcome->result_id.size == 0 && job->stream.result_id != NULL) {
        outcome->result_id = arcp_span_cstr(job->stream.result_id);
    }
    if (job->stream.error.status != ARCP_OK) {
        arcp_failure_fini(&job->failure);
        job->failure.error = job->stream.error;
        outcome->status = job->stream.error.status;
        outcome->failure = &job->failure;
    }
}

void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item)
{
    if (item->event.type == ARCP_CLIENT_JOB_ENDED) {
        finish_outcome(job);
        item->event.failure = job->outcome.failure;
        atomic_store(&job->over, true);
    } else if (item->event.type == ARCP_CLIENT_JOB_EVENT &&
               item->event.kind == ARCP_EVENT_RESULT_CHUNK) {
        arcp_json json = ARCP_JSON_INIT;
        const arcp_json_limits limits = {64, 10000, UINT32_MAX};
        arcp_error err = {0};
        if (arcp_json_scan(&json, item->event.body, &limits, &err) == ARCP_OK) {
            arcp__client_result_stream_take(&job->stream, &json, ARCP_JSON_ROOT);
        } else if (job->stream.error.status == ARCP_OK) {
            job->stream.error = err;
        }
        arcp_json_fini(&json);
    }
}
