/* What the program asks for: checked, written down, put in line. */
#include "base/alloc.h"
#include "base/options.h"
#include "base/timestamp.h"
#include "client/client_parts.h"
#include "core/agent_name.h"

arcp__client_request *arcp__client_request_new(arcp__client_session *session, arcp_time now,
                                               arcp__client_request_kind kind,
                                               arcp_reply_fn on_reply, void *user)
{
    session->now = now;
    arcp__client_request *request = arcp__alloc(sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->kind = kind;
    request->on_reply = on_reply;
    request->user = user;
    request->timer.owner = request;
    request->reply_item = arcp__client_item_new(ARCP_CLIENT_NOTICE, NULL, 0);
    arcp__client_message_id(session, request->id);
    int64_t due =
        arcp__client_after(now.mono_ns, arcp__client_ms(session->options.given.request_timeout_ms));
    if (request->reply_item == NULL ||
        arcp__timer_arm(&session->timers, &request->timer, due) != ARCP_OK) {
        arcp__client_item_free(request->reply_item);
        arcp__free(request);
        return NULL;
    }
    HASH_ADD(hh, session->by_id, id, ARCP__MESSAGE_ID_SIZE, request);
    if (!ARCP__HASH_ADDED(request)) {
        arcp__timer_disarm(&session->timers, &request->timer);
        arcp__client_item_free(request->reply_item);
        arcp__free(request);
        return NULL;
    }
    DL_APPEND(session->requests, request);
    if (session->unsent == NULL) {
        session->unsent = request;
    }
    return request;
}

/* Sends at once when the session is live; else it waits its turn. */
static void dispatch(arcp__client_session *session)
{
    if (session->state == ARCP__SESSION_LIVE) {
        arcp__client_requests_flush(session);
    }
}

/* ---- asking ---- */

static arcp_status check_open(const arcp__client_session *session, arcp_error *err)
{
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_CLOSING) {
        if (session->failure.error.status != ARCP_OK) {
            return arcp_error_set(err, session->failure.error.status, "%s",
                                  session->failure.error.message);
        }
        return arcp_error_set(err, ARCP_E_CLOSED, "the client is closed");
    }
    return ARCP_OK;
}

static arcp_status check_call(const arcp__client_session *session, const void *options, size_t size,
                              const char *init, arcp_error *err)
{
    arcp_status status = check_open(session, err);
    return status == ARCP_OK ? arcp__options_check(options, size, init, err) : status;
}

/* Checks that `text` is JSON (of the given type, when it must be an object), puts it on one
 * line. */
static arcp_status one_line(arcp_span text, const char *what, bool must_be_object, arcp_buf *out,
                            arcp_error *err)
{
    if (text.size == 0) {
        return ARCP_OK;
    }
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_error why = {0};
    arcp_status status = arcp_json_scan(&json, text, &limits, &why);
    if (status == ARCP_E_NO_MEMORY) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (status != ARCP_OK) {
        status =
            arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, why.offset, "%s: %s", what, why.message);
    } else if (must_be_object && !arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        status =
            arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, 0, "%s must be a JSON object", what);
    } else {
        arcp_json_compact(&json, ARCP_JSON_ROOT, out);
        status = arcp_buf_status(out);
        if (status != ARCP_OK) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    arcp_json_fini(&json);
    return status;
}

/* The features that the submit leans on (§6.2: neither peer uses one outside the
 * intersection). */
static arcp_feature_set submit_needs(const arcp_submit_options *options)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_feature_set needs = 0;
    if (options->agent.size != 0 && memchr(options->agent.data, '@', options->agent.size) != NULL) {
        needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_AGENT_VERSIONS);
    }
    if (options->lease.size != 0 &&
        arcp_json_scan(&json, options->lease, &limits, NULL) == ARCP_OK) {
        if (arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("cost.budget")) !=
            ARCP_JSON_ABSENT) {
            needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_COST_BUDGET);
        }
        if (arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("model.use")) !=
            ARCP_JSON_ABSENT) {
            needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_MODEL_USE);
        }
    }
    if (options->constraints.size != 0 &&
        arcp_json_scan(&json, options->constraints, &limits, NULL) == ARCP_OK &&
        !arcp_json_is_missing(
            &json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("expires_at")))) {
        needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_LEASE_EXPIRES_AT);
    }
    if (options->built != NULL) {
        if (arcp_lease_names(options->built, ARCP_SPAN_LITERAL("cost.budget"))) {
            needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_COST_BUDGET);
        }
        if (arcp_lease_names(options->built, ARCP_SPAN_LITERAL("model.use"))) {
            needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_MODEL_USE);
        }
        if (arcp_lease_has_expiry(options->built)) {
            needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_LEASE_EXPIRES_AT);
        }
    }
    arcp_json_fini(&json);
    return needs;
}

/* The trace of the job: the caller's, or a new one. [arcp:11-1] */
static void begin_trace(arcp__client_session *session, const arcp_submit_options *options,
                        arcp__client_request *request)
{
    request->has_trace = true;
    if (!arcp__trace_id_parse(options->traceparent, request->trace_id)) {
        uint8_t bytes[ARCP__TRACE_ID_SIZE / 2];
        session->id_source.random(session->id_source.user, bytes, sizeof(bytes));
        bytes[0] |= 1; /* never all zero */
        arcp__hex_format(bytes, sizeof(bytes), request->trace_id);
        return;
    }
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &request->extensions);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "x-vendor.opentelemetry.tracecontext");
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "traceparent");
    arcp_json_write_string(&writer, options->traceparent);
    if (options->tracestate.size != 0) {
        arcp_json_name(&writer, "tracestate");
        arcp_json_write_string(&writer, options->tracestate);
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
}

static arcp_status no_memory(arcp__client_session *session, arcp__client_request *request,
                             arcp_error *err)
{
    if (request != NULL) {
        arcp__client_request_free(session, request);
    }
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static void hand_out(arcp__client_session *session, arcp__client_request *request,
                     arcp__client_request **out)
{
    if (out != NULL) {
        *out = request;
    }
    dispatch(session);
}

static arcp_status make_submit(arcp__client_session *session, arcp_time now,
                               const arcp_submit_options *options, arcp_reply_fn on_reply,
                               void *user, arcp__client_request **out, arcp_error *err)
{
    arcp__client_request *request =
        arcp__client_request_new(session, now, ARCP__CLIENT_ASK_SUBMIT, on_reply, user);
    if (request == NULL) {
        return no_memory(session, NULL, err);
    }
    char made_key[5 + ARCP__ULID_SIZE];
    arcp_span key = options->idempotency_key;
    if (key.size == 0 && !session->options.given.no_auto_key) {
        memcpy(made_key, "auto_", 5);
        arcp__ulid_next(&session->id_source, now.wall_ns / ARCP_NS_PER_MS, made_key + 5);
        key = arcp_span_make(made_key, sizeof(made_key));
    }
    request->can_repeat = key.size != 0;
    request->is_keyed = options->idempotency_key.size != 0;
    request->needs = submit_needs(options);
    request->sink = options->result;
    request->outcome_only = options->outcome_only;
    request->job_user = options->user;
    begin_trace(session, options, request);
    arcp__client_payload_submit(options, key, &request->payload);
    if (request->payload.failed || request->extensions.failed) {
        return no_memory(session, request, err);
    }
    hand_out(session, request, out);
    return ARCP_OK;
}

arcp_status arcp__client_session_submit(arcp__client_session *session, arcp_time now,
                                        const arcp_submit_options *options, arcp_reply_fn on_reply,
                                        void *user, arcp__client_request **out, arcp_error *err)
{
    arcp_status status =
        check_call(session, options, sizeof(*options), "ARCP_SUBMIT_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span name = {NULL, 0};
    arcp_span version = {NULL, 0};
    status = arcp__agent_name_parse(options->agent, &name, &version, err);
    arcp_submit_options compact = *options;
    arcp_buf input = ARCP_BUF_INIT;
    arcp_buf lease = ARCP_BUF_INIT;
    arcp_buf constraints = ARCP_BUF_INIT;
    if (status == ARCP_OK) {
        status = one_line(options->input, "input", false, &input, err);
    }
    if (status == ARCP_OK) {
        status = one_line(options->lease, "lease", true, &lease, err);
    }
    if (status == ARCP_OK) {
        status = one_line(options->constraints, "constraints", true, &constraints, err);
    }
    if (status == ARCP_OK) {
        compact.input = arcp_buf_span(&input);
        compact.lease = arcp_buf_span(&lease);
        compact.constraints = arcp_buf_span(&constraints);
        status = make_submit(session, now, &compact, on_reply, user, out, err);
    }
    arcp_buf_fini(&input);
    arcp_buf_fini(&lease);
    arcp_buf_fini(&constraints);
    return status;
}

/* [arcp:7.6-1] */
arcp_status arcp__client_session_subscribe(arcp__client_session *session, arcp_time now,
                                           const arcp_subscribe_options *options,
                                           arcp_reply_fn on_reply, void *user,
                                           arcp__client_request **out, arcp_error *err)
{
    arcp_status status =
        check_call(session, options, sizeof(*options), "ARCP_SUBSCRIBE_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (options->job_id.size == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "the job to subscribe to has no id");
    }
    arcp__client_request *request =
        arcp__client_request_new(session, now, ARCP__CLIENT_ASK_SUBSCRIBE, on_reply, user);
    if (request == NULL) {
        return no_memory(session, NULL, err);
    }
    request->can_repeat = true;
    request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE);
    request->sink = options->result;
    request->with_history = options->history;
    request->job_user = options->user;
    request->job_id = arcp__copy_cstr(options->job_id.data, options->job_id.size);
    arcp__client_payload_subscribe(options, &request->payload);
    if (request->job_id == NULL || request->payload.failed) {
        return no_memory(session, request, err);
    }
    hand_out(session, request, out);
    return ARCP_OK;
}

/* [arcp:7.4-1] */
arcp_status arcp__client_session_cancel(arcp__client_session *session, arcp_time now,
                                        arcp_span job_id, arcp_span reason, arcp_reply_fn on_reply,
                                        void *user, arcp__client_request **out, arcp_error *err)
{
    arcp_status status = check_open(session, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (job_id.size == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "the job to cancel has no id");
    }
    arcp__client_request *request =
        arcp__client_request_new(session, now, ARCP__CLIENT_ASK_CANCEL, on_reply, user);
    if (request == NULL) {
        return no_memory(session, NULL, err);
    }
    request->can_repeat = true;
    request->job_id = arcp__copy_cstr(job_id.data, job_id.size);
    arcp__client_payload_cancel(job_id, reason, &request->payload);
    if (request->job_id == NULL || request->payload.failed) {
        return no_memory(session, request, err);
    }
    hand_out(session, request, out);
    return ARCP_OK;
}

/* [arcp:6.6-1] */
arcp_status arcp__client_session_list(arcp__client_session *session, arcp_time now,
                                      const arcp_list_options *options, arcp_reply_fn on_reply,
                                      void *user, arcp__client_request **out, arcp_error *err)
{
    arcp_status status =
        check_call(session, options, sizeof(*options), "ARCP_LIST_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__client_request *request =
        arcp__client_request_new(session, now, ARCP__CLIENT_ASK_LIST, on_reply, user);
    if (request == NULL) {
        return no_memory(session, NULL, err);
    }
    request->can_repeat = true;
    request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_LIST_JOBS);
    arcp__client_payload_list(options, &request->payload);
    if (request->payload.failed) {
        return no_memory(session, request, err);
    }
    hand_out(session, request, out);
    return ARCP_OK;
}

void arcp__client_payload_ping(arcp__client_session *session, arcp__client_request *request)
{
    char sent_at[ARCP__TIMESTAMP_SIZE];
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &request->payload);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "nonce");
    arcp_json_write_string(&writer, arcp_span_make(request->id, ARCP__MESSAGE_ID_SIZE));
    arcp__timestamp_format(session->now.wall_ns, sent_at);
    arcp_json_name(&writer, "sent_at");
    arcp_json_write_string(&writer, arcp_span_make(sent_at, sizeof(sent_at)));
    arcp_json_end_object(&writer);
}

arcp_status arcp__client_session_ping(arcp__client_session *session, arcp_time now,
                                      arcp_reply_fn on_reply, void *user,
                                      arcp__client_request **out, arcp_error *err)
{
    arcp_status status = check_open(session, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__client_request *request =
        arcp__client_request_new(session, now, ARCP__CLIENT_ASK_PING, on_reply, user);
    if (request == NULL) {
        return no_memory(session, NULL, err);
    }
    request->can_repeat = true;
    arcp__client_payload_ping(session, request);
    if (request->payload.failed) {
        return no_memory(session, request, err);
    }
    hand_out(session, request, out);
    return ARCP_OK;
}

/* [arcp:7.6-13] */
arcp_status arcp__client_session_unsubscribe(arcp__client_session *session, arcp_time now,
                                             arcp_span job_id, arcp_error *err)
{
    session->now = now;
    if (session->state != ARCP__SESSION_LIVE ||
        !arcp__client_session_has(session, ARCP_FEATURE_SUBSCRIBE)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the runtime cannot be told now");
    }
    arcp__client_over_forget(session, job_id);
    char id[ARCP__MESSAGE_ID_SIZE];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__client_message_id(session, id);
    arcp__client_payload_job(job_id, &payload);
    arcp_status status = arcp_buf_status(&payload);
    if (status == ARCP_OK) {
        status = arcp__client_send(session, "job.unsubscribe", arcp_span_make(id, sizeof(id)),
                                   job_id, arcp_span_make(NULL, 0), arcp_buf_span(&payload),
                                   arcp_span_make(NULL, 0));
    }
    arcp_buf_fini(&payload);
    return status == ARCP_OK ? ARCP_OK : arcp_error_set(err, status, "out of memory");
}
