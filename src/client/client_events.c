/* Frames about jobs: responses, events and ends, and when they are announced to the program.
 *
 * An event may arrive before the response that introduces its job. While a submit or a subscription
 * waits for its response, such events are held, and delivered after the response. When no request
 * is waiting any more, the job is announced as one that the program did not request. */
#include <stdio.h>

#include <arcp/decimal.h>

#include "base/alloc.h"
#include "client/client_job.h"

/* ---- budgets ---- */

/* The row of a currency; NULL when there are too many, or out of memory (sets session->failed). */
static arcp_job_budget *budget_row(arcp__client_session *session, arcp_job *job, arcp_span currency)
{
    if (currency.size == 0 || currency.size >= ARCP_CURRENCY_MAX) {
        return NULL;
    }
    if (job->budgets == NULL) {
        job->budgets = arcp__alloc_array(ARCP__JOB_BUDGETS_MAX, sizeof *job->budgets);
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

/* Copies the amount if it looks like a number; ignores it otherwise. */
static void set_amount(char out[ARCP_DECIMAL_TEXT_MAX], arcp_span text)
{
    char amount[ARCP_DECIMAL_TEXT_MAX] = "";
    if (text.size == 0 || text.size >= sizeof amount) {
        return;
    }
    memcpy(amount, text.data, text.size);
    if (strspn(amount, "0123456789.-+eE") == text.size && strpbrk(amount, "0123456789") != NULL) {
        memcpy(out, amount, sizeof amount);
    }
}

/* The part after the colon of "USD:5.00", or the whole text if it has no colon. */
static arcp_span after_colon(arcp_span text)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    return colon == NULL ? text : arcp_span_from(text, (size_t)(colon - text.data) + 1);
}

/* Sets the remaining amount of a currency: runtimes write 5, "5.00" or "USD:5.00". */
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
    const arcp_span amount = after_colon(pattern);
    arcp_decimal sum = ARCP_DECIMAL_ZERO;
    arcp_decimal more = ARCP_DECIMAL_ZERO;
    if (amount.size == pattern.size) {
        return;
    }
    const arcp_span currency = arcp_span_first(pattern, pattern.size - amount.size - 1);
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
    const arcp__client_description *description = &session->in.description;
    if (job->budget_count == 0) {
        for (arcp_json_ref item = arcp_json_first(json, description->patterns);
             item != ARCP_JSON_ABSENT; item = arcp_json_next(json, description->patterns, item)) {
            add_initial(session, job, arcp_json_string(json, item, &session->scratch));
        }
    }
    for (arcp_json_ref name = arcp_json_first(json, description->budget); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, description->budget, name)) {
        set_remaining(session, job, name, name + 1);
    }
    for (size_t i = 0; i < job->budget_count; i++) {
        arcp_job_budget *row = &job->budgets[i];
        if (row->remaining[0] == '\0') {
            memcpy(row->remaining, row->initial, sizeof row->initial);
        }
    }
}

/* ---- describing and ending ---- */

/* Copies the text into `out` if that is still empty. */
static void set_if_empty(arcp__client_session *session, arcp_job *job, arcp_span *out,
                         arcp_span text)
{
    if (out->size == 0 && text.size != 0) {
        const arcp_span copy = arcp__arena_copy(&job->strings, text);
        session->failed = session->failed || copy.data == NULL;
        *out = copy.data == NULL ? *out : copy;
    }
}

/* The record of the job that the response describes, completed with what was not known yet; NULL
 * when the response names no job, or out of memory. */
static arcp_job *describe(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    const arcp__client_description *description = &in->description;
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored a %.*s that names no job", (int)in->type_text.size,
                            in->type_text.data);
        return NULL;
    }
    arcp_job *job = arcp__client_session_job(session, in->job_id);
    if (job == NULL) {
        return NULL;
    }
    /* A repeated job.accepted has the initial counters again; a job.subscribed has the current
     * ones. */
    if (job->descriptor.size == 0 || description->current_status != ARCP_JSON_ABSENT) {
        describe_budget(session, job);
    }
    const arcp_job_status status = arcp_job_status_from_wire(
        arcp_json_string(json, description->current_status, &session->scratch));
    if (status != ARCP_JOB_STATUS_COUNT && !job->ended) {
        job->status = status;
    }
    if (job->credentials == NULL &&
        !arcp__client_credentials_keep(json, description->credentials, &job->credentials)) {
        session->failed = true;
    }
    set_if_empty(session, job, &job->agent, description->agent);
    set_if_empty(session, job, &job->trace_id, in->trace_id);
    set_if_empty(session, job, &job->parent_id, description->parent_job_id);
    set_if_empty(session, job, &job->delegate_id, description->delegate_id);
    set_if_empty(session, job, &job->lease, arcp_json_raw(json, description->lease));
    set_if_empty(session, job, &job->constraints,
                 arcp_json_raw(json, description->lease_constraints));
    arcp_buf descriptor = arcp_buf_init();
    arcp__client_credentials_redact(json, in->payload, &descriptor);
    session->failed = session->failed || session->scratch.failed || descriptor.failed;
    if (!session->failed) { /* set last: it marks the job as described */
        set_if_empty(session, job, &job->descriptor, arcp_buf_span(&descriptor));
    }
    arcp_buf_fini(&descriptor);
    return session->failed ? NULL : job;
}

/* Prepares the outcome. */
static void end_job(arcp__client_session *session, arcp_job *job)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    arcp_outcome outcome = {.final_status = ARCP_JOB_SUCCESS,
                            .result = ARCP_SPAN_LITERAL(""),
                            .result_id = ARCP_SPAN_LITERAL(""),
                            .bytes = ARCP_SPAN_LITERAL(""),
                            .summary = ARCP_SPAN_LITERAL(""),
                            .payload = ARCP_SPAN_LITERAL(""),
                            .streamed_bytes = UINT64_MAX};
    const arcp_job_status status = arcp_job_status_from_wire(in->end.final_status);
    const bool is_final_status = arcp_job_status_is_terminal(status);
    const bool is_error =
        in->type == ARCP_MESSAGE_JOB_ERROR || (is_final_status && status != ARCP_JOB_SUCCESS);
    set_if_empty(session, job, &outcome.payload, in->text);
    set_if_empty(session, job, &outcome.summary, in->end.summary);
    if (is_error) {
        /* Some runtimes report a stopped job in a job.result, which has no code: use its final
         * status. */
        const arcp_status stop = status == ARCP_JOB_CANCELLED ? ARCP_E_CANCELLED : ARCP_E_TIMEOUT;
        if (in->end.code.size == 0 &&
            (status == ARCP_JOB_CANCELLED || status == ARCP_JOB_TIMED_OUT)) {
            (void)arcp_error_set(&job->error, stop, "%s", arcp_status_text(stop));
            (void)snprintf(job->error.code, sizeof job->error.code, "%s",
                           arcp_status_wire_code(stop));
        } else {
            arcp__client_error_read(session, &job->error);
        }
        outcome.error = &job->error;
        outcome.status = job->error.status;
        outcome.final_status = ARCP_JOB_ERROR;
        if (is_final_status && status != ARCP_JOB_SUCCESS) {
            outcome.final_status = status;
        } else if (outcome.status == ARCP_E_CANCELLED) {
            outcome.final_status = ARCP_JOB_CANCELLED;
        } else if (outcome.status == ARCP_E_TIMEOUT) {
            outcome.final_status = ARCP_JOB_TIMED_OUT;
        }
    } else {
        const arcp_json_ref result =
            in->end.result != ARCP_JSON_ABSENT ? in->end.result : in->end.older_result;
        set_if_empty(session, job, &outcome.result_id, in->end.result_id);
        if (in->end.result_id.size == 0) {
            set_if_empty(session, job, &outcome.result, arcp_json_raw(json, result));
        }
    }
    /* The announced size; arcp__client_job_hand_over replaces it by the received size. */
    (void)arcp_json_u64(json, in->end.result_size, &outcome.streamed_bytes);
    if (!session->failed) {
        job->outcome = outcome;
        job->status = outcome.final_status;
        job->ended = true;
    }
}

/* ---- responses ---- */

/* Whether the job was delegated by another job, and not submitted by us. */
static bool is_child(const arcp__client_session *session)
{
    const arcp__client_description *description = &session->in.description;
    return description->parent_job_id.size != 0 || description->delegate_id.size != 0;
}

/* Passes the job to the request that it answers, or announces it. */
static void hand_job(arcp__client_session *session, arcp_job *job, arcp__client_request *request)
{
    const bool is_fresh = !job->announced;
    const bool by_reply = request != NULL && !request->abandoned;
    const bool needs_probe = is_fresh && by_reply && request->is_keyed;
    if (request != NULL && is_fresh) { /* otherwise the program already follows the job */
        job->stream.sink = request->sink;
        job->outcome_only = request->outcome_only;
        job->user = request->job_user != NULL ? request->job_user : job->user;
    }
    if (request != NULL) {
        job->is_keyed = job->is_keyed || request->is_keyed;
        arcp__client_kept_take_back(session, job);
        arcp__client_request_finish(session, request, (arcp_reply){.job = job});
    }
    arcp__client_session_announce(session, job, by_reply);
    arcp__client_session_announce_held(session);
    if (needs_probe && !session->failed) {
        arcp__client_silent_probe(session, job);
    }
}

void arcp__client_on_accepted(arcp__client_session *session)
{
    const arcp_span id = session->in.job_id;
    arcp__client_binding binding = arcp__client_bind_by_name(session);
    if (binding.request != NULL && binding.request->kind != ARCP__CLIENT_REQUEST_SUBMIT) {
        binding.request = NULL;
    }
    /* The job has ended and was forgotten: no further frame will follow for it. */
    if (id.size != 0 && arcp__client_session_find_job(session, id) == NULL &&
        arcp__removed_jobs_has(session->removed, id)) {
        if (!binding.names_request && !is_child(session)) {
            binding.request = arcp__client_bind_keyed(session);
        }
        if (binding.request != NULL) {
            arcp__client_request_fail(
                session, binding.request, ARCP_E_CLOSED,
                "the job %.*s of this idempotency_key has ended; its outcome is no longer kept",
                (int)id.size, id.data);
        }
        arcp__client_session_announce_held(session);
        return;
    }
    arcp_job *job = describe(session);
    if (job == NULL) {
        return;
    }
    job->is_accepted = true;
    if (binding.request == NULL && !is_child(session)) {
        binding = arcp__client_bind_reply(session, ARCP__CLIENT_REQUEST_SUBMIT);
        if (binding.request == NULL && !binding.names_request && session->names_requests) {
            /* After a resume a runtime may repeat a job.accepted without naming the request,
             * because its response may be lost. A submit that was sent again gets a response of its
             * own, which introduces the job: wait for that. Otherwise this is the response. */
            binding.request = arcp__client_bind_repeated(session);
            if (binding.request == NULL && !job->announced &&
                arcp__client_requests_wait_for_jobs(session)) {
                return;
            }
            binding.request = job->announced ? NULL : binding.request;
        }
    }
    hand_job(session, job, binding.request);
}

void arcp__client_on_subscribed(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_description *description = &session->in.description;
    arcp_job *job = describe(session);
    if (job == NULL) {
        return;
    }
    arcp__client_request *request =
        arcp__client_bind_reply(session, ARCP__CLIENT_REQUEST_SUBSCRIBE).request;
    /* Determine the numbering of the job's frames (client_receive.c): a runtime whose `replayed` is
     * a number numbers each subscription separately. Jobs submitted by this session are not
     * affected. */
    const uint64_t early = request == NULL ? 0 : request->early_seq;
    if (!session->names_requests && (!job->announced || job->has_own_numbers)) {
        if (arcp_json_is(json, description->replayed, ARCP_JSON_NUMBER)) {
            job->has_own_numbers = true;
            job->own_seq = early;
            (void)arcp_json_u64(json, description->subscribed_from, &job->own_seq);
        } else if (early > session->last_seq) {
            session->last_seq = early;
        }
    }
    const bool needs_end = request != NULL && (request->is_internal || request->with_history);
    hand_job(session, job, request);
    if (needs_end && !session->failed) {
        arcp__client_silent_fence(session, job);
    }
}

void arcp__client_on_cancelled(arcp__client_session *session)
{
    const arcp__client_binding binding =
        arcp__client_bind_reply(session, ARCP__CLIENT_REQUEST_CANCEL);
    if (binding.request != NULL) {
        arcp__client_request_finish(session, binding.request, (arcp_reply){0});
    }
}

void arcp__client_on_jobs(arcp__client_session *session)
{
    const arcp__client_binding binding =
        arcp__client_bind_reply(session, ARCP__CLIENT_REQUEST_LIST);
    if (binding.request == NULL) {
        return;
    }
    arcp_job_page *page = arcp__client_job_page_new(session);
    if (page != NULL) {
        arcp__client_request_finish(session, binding.request, (arcp_reply){.page = page});
    }
}

/* The response to a view; other messages of vendors are ignored. */
void arcp__client_on_vendor(arcp__client_session *session)
{
    const arcp__client_binding binding = arcp__client_bind_by_name(session);
    arcp__client_request *request = binding.request;
    if (!binding.names_request) {
        arcp__client_watch_report(session);
        return;
    }
    if (request == NULL ||
        !arcp_span_ends_with(session->in.type_text, ARCP_SPAN_LITERAL(".answer"))) {
        return;
    }
    if (request->kind == ARCP__CLIENT_REQUEST_VIEW) {
        arcp__client_request_finish(session, request, (arcp_reply){.payload = session->in.text});
    } else if (request->kind == ARCP__CLIENT_REQUEST_WATCH ||
               request->kind == ARCP__CLIENT_REQUEST_UNWATCH) {
        arcp__client_watch_answered(session, request);
        arcp__client_request_finish(session, request, (arcp_reply){0});
    }
}

void arcp__client_on_pong(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp__client_request *request = arcp__client_find_request(session, in->nonce.text);
    if (request == NULL) {
        request = arcp__client_find_request(session, in->nonce.older);
    }
    if (request == NULL) {
        request = arcp__client_bind_by_name(session).request;
    }
    /* A pong for a heartbeat needs no further processing. */
    if (request == NULL || request->kind != ARCP__CLIENT_REQUEST_PING) {
        return;
    }
    arcp__client_silent_answered(session, request);
    if (!session->failed) {
        arcp__client_request_finish(session, request, (arcp_reply){0});
    }
}

/* ---- events ---- */

/* The job's record; announces the job unless a waiting request might introduce it. NULL when out of
 * memory. */
static arcp_job *admit(arcp__client_session *session)
{
    arcp_job *job = arcp__client_session_job(session, session->in.job_id);
    if (job != NULL && !job->announced && !arcp__client_requests_wait_for_jobs(session)) {
        arcp__client_session_announce(session, job, false);
    }
    return session->failed ? NULL : job;
}

/* Queues the item, or holds it until the job is known. */
static void deliver(arcp__client_session *session, arcp_job *job, arcp__client_item *item)
{
    if (job->announced) {
        arcp__client_item_queue(session, item);
    } else {
        DL_APPEND(job->held, item);
    }
}

void arcp__client_on_job_event(arcp__client_session *session)
{
    const arcp_json *json = &session->json;
    const arcp__client_message *in = &session->in;
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored an event that names no job");
        return;
    }
    arcp_job *job = admit(session);
    if (job == NULL) {
        return;
    }
    job->has_events = true;
    if (job->ended) {
        arcp__client_notice(session, "ignored an event of job %.*s, which has ended",
                            (int)in->job_id.size, in->job_id.data);
        return;
    }
    arcp__client_item *item = arcp__client_item_new(
        ARCP_CLIENT_JOB_EVENT, job, in->text.size + in->event.kind.size + in->event.ts.size);
    if (item == NULL) {
        session->failed = true;
        return;
    }
    arcp_client_event *event = &item->event;
    const arcp_span body = arcp_json_raw(json, in->event.body);
    item->body_at = body.size == 0 ? in->text.size : (size_t)(body.data - in->text.data);
    item->payload = arcp__client_item_join(item, arcp_span_first(in->text, item->body_at),
                                           arcp_span_from(in->text, item->body_at + body.size));
    event->body = arcp__client_item_place(item, body);
    event->kind_text = arcp__client_item_place(item, in->event.kind);
    event->ts = arcp__client_item_place(item, in->event.ts);
    event->kind = arcp_event_kind_from_wire(event->kind_text);
    event->event_seq = in->event_seq;
    if (event->kind == ARCP_EVENT_STATUS) { /* the body may have a credential's value */
        const arcp_json_ref phase =
            arcp_json_member(json, in->event.body, ARCP_SPAN_LITERAL("phase"));
        item->is_secret =
            arcp_json_string_equals(json, phase, ARCP_SPAN_LITERAL("credential_rotated"));
    }
    if (event->kind == ARCP_EVENT_METRIC) { /* it may report the remaining budget */
        const arcp_json_ref name =
            arcp_json_member(json, in->event.body, ARCP_SPAN_LITERAL("name"));
        const arcp_json_ref unit =
            arcp_json_member(json, in->event.body, ARCP_SPAN_LITERAL("unit"));
        const arcp_json_ref value =
            arcp_json_member(json, in->event.body, ARCP_SPAN_LITERAL("value"));
        if (arcp_json_string_equals(json, name, ARCP_SPAN_LITERAL("cost.budget.remaining"))) {
            set_remaining(session, job, unit, value);
        }
        session->failed = session->failed || session->scratch.failed;
    }
    if (job->status == ARCP_JOB_PENDING) {
        job->status = ARCP_JOB_RUNNING;
    }
    if (session->failed || (job->outcome_only && event->kind != ARCP_EVENT_RESULT_CHUNK)) {
        arcp__client_item_free(item);
        return;
    }
    deliver(session, job, item);
}

/* ---- ends ---- */

void arcp__client_on_job_end(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    if (in->type == ARCP_MESSAGE_JOB_ERROR) {
        arcp__client_binding binding = arcp__client_bind_by_name(session);
        if (!binding.names_request && in->job_id.size == 0) {
            binding = (arcp__client_binding){.request = arcp__client_bind_error(session),
                                             .names_request = true};
        } else if (!binding.names_request) {
            binding = arcp__client_bind_refusal(session);
        }
        /* An error that names a request refuses it, and is never a job's end. If the request is not
         * found, it was given up. */
        if (binding.names_request && binding.request != NULL) {
            arcp_buf details = arcp_buf_init();
            arcp_error error = {.details = &details};
            arcp__client_error_read(session, &error);
            arcp__client_silent_refused(session, binding.request, &error);
            arcp__client_session_announce_held(session);
            arcp_buf_fini(&details);
        }
        if (binding.names_request) {
            return;
        }
    }
    if (in->job_id.size == 0) {
        arcp__client_notice(session, "ignored a result that names no job");
        return;
    }
    arcp_job *job = admit(session);
    if (job == NULL) {
        return;
    }
    if (job->ended) {
        arcp__client_notice(session, "ignored a second end of job %.*s", (int)in->job_id.size,
                            in->job_id.data);
        return;
    }
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_ENDED, job, in->text.size);
    if (item == NULL) {
        session->failed = true;
        return;
    }
    end_job(session, job);
    if (session->failed) {
        arcp__client_item_free(item);
        return;
    }
    item->payload = arcp__client_item_place(item, in->text);
    item->event.event_seq = in->event_seq;
    arcp__client_request *cancel = arcp__client_bind_by_job(session, ARCP__CLIENT_REQUEST_CANCEL);
    if (cancel != NULL && job->outcome.final_status == ARCP_JOB_CANCELLED) {
        arcp__client_request_finish(session, cancel, (arcp_reply){0});
    }
    deliver(session, job, item);
}
