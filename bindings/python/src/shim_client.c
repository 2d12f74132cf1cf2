/* The client for the Python package. */
#include "shim_parts.h"

#include <arcp/client.h>
#include <arcp/watch.h>

_Static_assert(ARCP_WAIT_FOREVER == INT64_MAX && ARCP_WAIT_DEFAULT == -1, "as shim.h says");
_Static_assert(ARCP_CURRENCY_MAX == 72 && ARCP_DECIMAL_TEXT_MAX == 44, "as py_job_budget has it");

/* Fills `out` from an error that stays where it is; false when there is none. */
static bool describe(py_error *out, const arcp_error *error)
{
    if (error == NULL) {
        return false;
    }
    arcp_buf details = arcp_buf_init();
    arcp_error copy = {.details = &details};
    (void)arcp_error_copy(&copy, error);
    (void)py__fail(out, &copy);
    return true;
}

/* ---- connecting ---- */

int py_client_connect(const py_client_options *options, arcp_client **out, py_error *error)
{
    arcp_client_options made = arcp_client_options_init();
    made.url = py__span(options->url);
    made.token = py__span(options->token);
    made.client_name = py__span(options->name);
    made.client_version = py__span(options->version);
    made.tls_ca_file = py__span(options->tls_ca_file);
    made.resume.session_id = py__span(options->session_id);
    made.resume.resume_token = py__span(options->resume_token);
    made.resume.last_event_seq = options->last_event_seq;
    if (options->features != 0) {
        made.features = options->features;
    }
    if (options->connect_timeout_ms != 0) {
        made.connect_timeout_ms = options->connect_timeout_ms;
    }
    if (options->request_timeout_ms != 0) {
        made.request_timeout_ms = options->request_timeout_ms;
    }
    if (options->unread_bytes_max != 0) {
        made.unread_bytes_max = options->unread_bytes_max;
    }
    if (options->frame_bytes_max != 0) {
        made.frame_bytes_max = options->frame_bytes_max;
    }
    made.connect_retry_ms = options->connect_retry_ms;
    made.give_up_ms = options->give_up_ms;
    made.no_reconnect = options->no_reconnect;
    made.observe_all = options->observe;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_connect(&made, out, &err) == ARCP_OK ? PY_OK : py__fail(error, &err);
}

void py_client_close(arcp_client *client)
{
    arcp_client_close(client);
}

void py_client_free(arcp_client *client)
{
    arcp_client_free(client);
}

void py_client_interrupt(arcp_client *client)
{
    arcp_client_interrupt(client);
}

uint32_t py_client_features(arcp_client *client)
{
    return arcp_client_features(client);
}

const char *py_feature_name(uint32_t number)
{
    return number < ARCP_FEATURE_COUNT ? arcp_feature_name((arcp_feature)number) : NULL;
}

int py_client_welcome(arcp_client *client, py_owned *json, py_error *error)
{
    arcp_buf welcome = arcp_buf_init();
    arcp_error err = {0};
    if (arcp_client_welcome(client, &welcome, &err) != ARCP_OK) {
        arcp_buf_fini(&welcome);
        return py__fail(error, &err);
    }
    return py__take(&welcome, json) == PY_OK ? PY_OK : py__no_memory(error);
}

int py_client_session_state(arcp_client *client, py_session_state *out, py_error *error)
{
    arcp_buf storage = arcp_buf_secret_init();
    arcp_session_state state = {0};
    arcp_error err = {0};
    if (arcp_client_session_state(client, &storage, &state, &err) != ARCP_OK) {
        arcp_buf_fini(&storage);
        return py__fail(error, &err);
    }
    arcp_buf id = arcp_buf_init();
    arcp_buf token = arcp_buf_secret_init();
    arcp_buf_append(&id, state.session_id);
    arcp_buf_append(&token, state.resume_token);
    out->last_event_seq = state.last_event_seq;
    const int first = py__take(&id, &out->session_id);
    const int second = py__take(&token, &out->resume_token);
    arcp_buf_fini(&storage);
    if (first != PY_OK || second != PY_OK) {
        py_owned_free(&out->session_id);
        py_owned_free(&out->resume_token);
        return py__no_memory(error);
    }
    return PY_OK;
}

/* ---- requests ---- */

static arcp_result_sink sink(int fd, uint64_t bytes_max)
{
    return (arcp_result_sink){
        .mode = fd < 0 ? ARCP_RESULT_MEMORY : ARCP_RESULT_FD, .bytes_max = bytes_max, .fd = fd};
}

int py_client_submit(arcp_client *client, const py_submit_options *options, int64_t timeout_ms,
                     arcp_job **out, py_error *error)
{
    arcp_submit_options made = arcp_submit_options_init();
    made.agent = py__span(options->agent);
    made.input = py__span(options->input);
    made.lease = py__span(options->lease);
    made.constraints = py__span(options->constraints);
    made.idempotency_key = py__span(options->idempotency_key);
    made.traceparent = py__span(options->traceparent);
    made.tracestate = py__span(options->tracestate);
    made.max_runtime_sec = options->max_runtime_sec;
    made.result = sink(options->fd, options->bytes_max);
    made.outcome_only = options->outcome_only;
    made.user = options->tag;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_submit(client, &made, timeout_ms, out, &err) == ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

int py_client_subscribe(arcp_client *client, const py_subscribe_options *options,
                        int64_t timeout_ms, arcp_job **out, py_error *error)
{
    arcp_subscribe_options made = arcp_subscribe_options_init();
    made.job_id = py__span(options->job_id);
    made.history = options->history;
    made.has_from_event_seq = options->has_from;
    made.from_event_seq = options->from;
    made.result = sink(options->fd, options->bytes_max);
    made.user = options->tag;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_subscribe(client, &made, timeout_ms, out, &err) == ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

int py_client_unsubscribe(arcp_client *client, py_text job_id, py_error *error)
{
    arcp_error err = {0};
    return arcp_client_unsubscribe(client, py__span(job_id), &err) == ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

int py_client_cancel(arcp_client *client, py_text job_id, py_text reason, int64_t timeout_ms,
                     py_error *error)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_cancel(client, py__span(job_id), py__span(reason), timeout_ms, &err) ==
                   ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

int py_client_ping(arcp_client *client, int64_t timeout_ms, int64_t *round_trip_ns, py_error *error)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_ping(client, timeout_ms, round_trip_ns, &err) == ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

/* ---- listings ---- */

const char *py_job_status_name(uint32_t number)
{
    return number < ARCP_JOB_STATUS_COUNT ? arcp_job_status_name((arcp_job_status)number) : NULL;
}

int py_client_list(arcp_client *client, const py_list_options *options, int64_t timeout_ms,
                   arcp_job_page **out, py_error *error)
{
    arcp_list_options made = arcp_list_options_init();
    made.statuses = options->statuses;
    made.agent = py__span(options->agent);
    made.created_after = py__span(options->created_after);
    made.created_before = py__span(options->created_before);
    made.cursor = py__span(options->cursor);
    made.limit = options->limit;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_list(client, &made, timeout_ms, out, &err) == ARCP_OK
               ? PY_OK
               : py__fail(error, &err);
}

size_t py_job_page_count(arcp_job_page *page)
{
    return arcp_job_page_count(page);
}

void py_job_page_row(arcp_job_page *page, size_t i, py_job_row *out)
{
    const arcp_job_row row = arcp_job_page_row(page, i);
    out->job_id = py__text(row.job_id);
    out->agent = py__text(row.agent);
    out->status = py__text(row.status_text);
    out->created_at = py__text(row.created_at);
    out->parent_job_id = py__text(row.parent_job_id);
    out->trace_id = py__text(row.trace_id);
    out->last_event_seq = row.last_event_seq;
}

py_text py_job_page_next_cursor(arcp_job_page *page)
{
    return py__text(arcp_job_page_next_cursor(page));
}

void py_job_page_free(arcp_job_page *page)
{
    arcp_job_page_free(page);
}

/* ---- the view ---- */

int py_client_view(arcp_client *client, const char *name, py_text payload, int64_t timeout_ms,
                   py_owned *json, py_error *error)
{
    arcp_buf response = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    if (arcp_client_view(client, name, py__span(payload), timeout_ms, &response, &err) != ARCP_OK) {
        arcp_buf_fini(&response);
        return py__fail(error, &err);
    }
    return py__take(&response, json) == PY_OK ? PY_OK : py__no_memory(error);
}

int py_client_watch(arcp_client *client, const py_watch_options *options, int64_t timeout_ms,
                    py_error *error)
{
    arcp_watch_options made = arcp_watch_options_init();
    made.jobs = options->jobs;
    made.figures = options->figures;
    made.principal = py__span(options->principal);
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_watch(client, &made, timeout_ms, &err) == ARCP_OK ? PY_OK
                                                                         : py__fail(error, &err);
}

int py_client_unwatch(arcp_client *client, int64_t timeout_ms, py_error *error)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_client_unwatch(client, timeout_ms, &err) == ARCP_OK ? PY_OK : py__fail(error, &err);
}

/* ---- events ---- */

static int event_type(arcp_client_event_type type)
{
    switch (type) {
    case ARCP_CLIENT_CONNECTED:
        return PY_CONNECTED;
    case ARCP_CLIENT_DISCONNECTED:
        return PY_DISCONNECTED;
    case ARCP_CLIENT_RESUMED:
        return PY_RESUMED;
    case ARCP_CLIENT_CLOSED:
        return PY_ENDED;
    case ARCP_CLIENT_JOB_ADDED:
        return PY_JOB_ADDED;
    case ARCP_CLIENT_JOB_EVENT:
        return PY_JOB_EVENT;
    case ARCP_CLIENT_JOB_ENDED:
        return PY_JOB_ENDED;
    case ARCP_CLIENT_JOBS_CHANGED:
        return PY_JOBS_CHANGED;
    case ARCP_CLIENT_FIGURES:
        return PY_FIGURES;
    case ARCP_CLIENT_WATCH_ENDED:
        return PY_WATCH_ENDED;
    case ARCP_CLIENT_NOTICE:
        break;
    }
    return PY_NOTICE;
}

static void show(const arcp_client_event *event, py_event *out)
{
    out->type = event_type(event->type);
    out->job = event->job;
    out->number = event->job == NULL ? 0 : (uint64_t)(uintptr_t)arcp_job_user(event->job);
    out->seq = event->event_seq;
    out->kind = py__text(event->kind_text);
    out->ts = py__text(event->ts);
    out->body = py__text(event->body);
    out->retry_in_ms = event->retry_in_ms;
    out->has_error = describe(&out->error, event->error);
}

int py_client_next(arcp_client *client, int64_t timeout_ms, py_event *out, py_error *error)
{
    const arcp_client_event *event = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    if (arcp_client_next_event(client, timeout_ms, &event, &err) != ARCP_OK) {
        return py__fail(error, &err);
    }
    show(event, out);
    return PY_OK;
}

int py_job_next(arcp_job *job, int64_t timeout_ms, py_event *out, py_error *error)
{
    const arcp_client_event *event = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    if (arcp_job_next_event(job, timeout_ms, &event, &err) != ARCP_OK) {
        return py__fail(error, &err);
    }
    show(event, out);
    return PY_OK;
}

int py_job_wait(arcp_job *job, int64_t timeout_ms, py_error *error)
{
    const arcp_outcome *outcome = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    return arcp_job_wait(job, timeout_ms, &outcome, &err) == ARCP_OK ? PY_OK
                                                                     : py__fail(error, &err);
}

/* ---- jobs ---- */

arcp_job *py_job_ref(arcp_job *job)
{
    return arcp_job_ref(job);
}

void py_job_unref(arcp_job *job)
{
    arcp_job_unref(job);
}

void py_job_set_tag(arcp_job *job, void *tag)
{
    arcp_job_set_user(job, tag);
}

void py_job_facts_of(arcp_job *job, py_job_facts *out)
{
    out->id = py__text(arcp_job_id(job));
    out->agent = py__text(arcp_job_agent(job));
    out->lease = py__text(arcp_job_lease(job));
    out->constraints = py__text(arcp_job_constraints(job));
    out->trace_id = py__text(arcp_job_trace_id(job));
    out->parent_id = py__text(arcp_job_parent_id(job));
}

const char *py_job_status(arcp_job *job)
{
    return arcp_job_status_name(arcp_job_current_status(job));
}

bool py_job_outcome(arcp_job *job, py_outcome *out)
{
    const arcp_outcome *outcome = arcp_job_outcome(job);
    if (outcome == NULL) {
        return false;
    }
    out->status = arcp_job_status_name(outcome->final_status);
    out->streamed = outcome->result_id.size != 0;
    out->result = py__text(outcome->result);
    out->bytes = py__text(outcome->bytes);
    out->summary = py__text(outcome->summary);
    out->streamed_bytes = outcome->streamed_bytes;
    out->has_error = describe(&out->error, outcome->error);
    return true;
}

bool py_job_budget_at(arcp_job *job, size_t i, py_job_budget *out)
{
    arcp_job_budget budget;
    if (!arcp_job_budget_at(job, i, &budget)) {
        return false;
    }
    py__text_copy(out->currency, sizeof out->currency, budget.currency);
    py__text_copy(out->initial, sizeof out->initial, budget.initial);
    py__text_copy(out->remaining, sizeof out->remaining, budget.remaining);
    return true;
}

static void append_member(arcp_buf *out, const char *name, arcp_span value)
{
    arcp_buf_append_cstr(out, name);
    arcp_json_quote(value, out);
}

static void append_credential(void *user, const arcp_credential *credential)
{
    arcp_buf *out = user;
    append_member(out, out->size == 1 ? "{\"id\":" : ",{\"id\":", credential->id);
    append_member(out, ",\"value\":", credential->value);
    append_member(out, ",\"endpoint\":", credential->endpoint);
    append_member(out, ",\"profile\":", credential->profile);
    append_member(out, ",\"constraints\":", credential->constraints);
    arcp_buf_append_byte(out, '}');
}

int py_job_take_credentials(arcp_job *job, py_owned *json)
{
    arcp_buf out = arcp_buf_secret_init();
    arcp_buf_append_byte(&out, '[');
    (void)arcp_job_take_credentials(job, append_credential, &out);
    arcp_buf_append_byte(&out, ']');
    return py__take(&out, json);
}
