/* What the program asks for: checked, written down, put in line. */
#include "base/alloc.h"
#include "base/options.h"
#include "client/client_session.h"
#include "core/agent_name.h"
#include "json/json_put.h"

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- submit ---- */

/* The features that a lease or its constraints lean on (§6.2: neither peer uses one outside the
 * intersection). */
static const struct {
    const char *member;
    arcp_feature feature;
} leaning[] = {
    {"cost.budget", ARCP_FEATURE_COST_BUDGET},
    {"model.use", ARCP_FEATURE_MODEL_USE},
    {"expires_at", ARCP_FEATURE_LEASE_EXPIRES_AT},
};
#define LEANING (sizeof(leaning) / sizeof(leaning[0]))

/* Puts the JSON of *text on one line in `out`, into which *text points then. With `needs` it must
 * be an object, and the features that it leans on are added. */
static arcp_status one_line(arcp_span *text, const char *what, arcp_feature_set *needs,
                            arcp_buf *out, arcp_error *err)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_error why = {0};
    if (text->size == 0) {
        return ARCP_OK;
    }
    arcp_status status = arcp_json_scan(&json, *text, &limits, &why);
    if (status == ARCP_OK && needs != NULL &&
        !arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        status =
            arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, 0, "%s must be a JSON object", what);
    } else if (status == ARCP_E_NO_MEMORY) {
        status = no_memory(err);
    } else if (status != ARCP_OK) {
        status =
            arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, why.offset, "%s: %s", what, why.message);
    }
    for (size_t row = 0; status == ARCP_OK && needs != NULL && row < LEANING; row++) {
        arcp_json_ref ref =
            arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(leaning[row].member));
        *needs |= arcp_json_is_missing(&json, ref) ? 0 : ARCP_FEATURE_BIT(leaning[row].feature);
    }
    if (status == ARCP_OK) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, out);
        *text = arcp_buf_span(out);
        status = out->failed ? no_memory(err) : ARCP_OK;
    }
    arcp_json_fini(&json);
    return status;
}

/* The trace of the job: the caller's, or a new one. [arcp:11-1] */
static void begin_trace(arcp__client_session *session, const arcp_submit_options *options,
                        arcp__client_request *request)
{
    if (!arcp__trace_id_parse(options->traceparent, request->trace_id)) {
        uint8_t bytes[ARCP__TRACE_ID_SIZE / 2];
        session->id_source.random(session->id_source.user, bytes, sizeof(bytes));
        bytes[0] |= 1; /* never all zero */
        arcp__hex_format(bytes, sizeof(bytes), request->trace_id);
        return;
    }
    arcp_json_writer writer = arcp__put_begin(&request->extensions);
    arcp__put_object(&writer, "x-vendor.opentelemetry.tracecontext");
    arcp__put_string(&writer, "traceparent", options->traceparent);
    arcp__put_text(&writer, "tracestate", options->tracestate);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
}

static arcp_status prepare_submit(arcp__client_session *session, arcp__client_request *request,
                                  const arcp_submit_options *options, arcp_error *err)
{
    arcp_span name = {NULL, 0};
    arcp_span version = {NULL, 0};
    arcp_submit_options compact = *options;
    arcp_buf texts[3] = {ARCP_BUF_INIT, ARCP_BUF_INIT, ARCP_BUF_INIT};
    arcp_status status = arcp__agent_name_parse(options->agent, &name, &version, err);
    if (status == ARCP_OK) {
        status = one_line(&compact.input, "input", NULL, &texts[0], err);
    }
    if (status == ARCP_OK) {
        status = one_line(&compact.lease, "lease", &request->needs, &texts[1], err);
    }
    if (status == ARCP_OK) {
        status = one_line(&compact.constraints, "constraints", &request->needs, &texts[2], err);
    }
    if (status == ARCP_OK) {
        char made_key[5 + ARCP__ULID_SIZE];
        arcp_span key = options->idempotency_key;
        if (key.size == 0 && !session->given.no_auto_key) {
            memcpy(made_key, "auto_", 5);
            arcp__ulid_next(&session->id_source, session->now.wall_ns / ARCP_NS_PER_MS,
                            made_key + 5);
            key = arcp_span_make(made_key, sizeof(made_key));
        }
        request->can_repeat = key.size != 0;
        begin_trace(session, options, request);
        arcp__client_payload_submit(&compact, key, &request->payload);
    }
    for (size_t at = 0; at < 3; at++) {
        arcp_buf_fini(&texts[at]);
    }
    for (size_t row = 0; options->built != NULL && row < LEANING; row++) {
        bool leans = leaning[row].feature == ARCP_FEATURE_LEASE_EXPIRES_AT
                         ? arcp_lease_has_expiry(options->built)
                         : arcp_lease_names(options->built, arcp_span_cstr(leaning[row].member));
        request->needs |= leans ? ARCP_FEATURE_BIT(leaning[row].feature) : 0;
    }
    if (version.size != 0) {
        request->needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_AGENT_VERSIONS);
    }
    request->is_keyed = options->idempotency_key.size != 0;
    request->sink = options->result;
    request->outcome_only = options->outcome_only;
    request->job_user = options->user;
    return status;
}

/* ---- all of them ---- */

/* Checks the options and writes the request down. [arcp:6.6-1] [arcp:7.4-1] [arcp:7.6-1] */
static arcp_status prepare(arcp__client_session *session, arcp__client_request *request,
                           const arcp__client_ask *ask, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    arcp_span job_id = ask->job_id;
    switch (ask->kind) {
    case ARCP__CLIENT_ASK_SUBMIT:
        status =
            arcp__options_check(ask->submit, sizeof(*ask->submit), "ARCP_SUBMIT_OPTIONS_INIT", err);
        if (status == ARCP_OK) {
            status = prepare_submit(session, request, ask->submit, err);
        }
        break;
    case ARCP__CLIENT_ASK_SUBSCRIBE:
        status = arcp__options_check(ask->subscribe, sizeof(*ask->subscribe),
                                     "ARCP_SUBSCRIBE_OPTIONS_INIT", err);
        if (status != ARCP_OK) {
            break;
        }
        if (ask->subscribe->job_id.size == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "the job to subscribe to has no id");
        }
        job_id = ask->subscribe->job_id;
        request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE);
        request->sink = ask->subscribe->result;
        request->with_history = ask->subscribe->history;
        request->job_user = ask->subscribe->user;
        arcp__client_payload_subscribe(ask->subscribe, &request->payload);
        break;
    case ARCP__CLIENT_ASK_CANCEL:
        if (job_id.size == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "the job to cancel has no id");
        }
        arcp__client_payload_cancel(job_id, ask->reason, &request->payload);
        break;
    case ARCP__CLIENT_ASK_LIST:
        status = arcp__options_check(ask->list, sizeof(*ask->list), "ARCP_LIST_OPTIONS_INIT", err);
        if (status == ARCP_OK) {
            request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_LIST_JOBS);
            arcp__client_payload_list(ask->list, &request->payload);
        }
        break;
    case ARCP__CLIENT_ASK_PING:
        arcp__client_payload_ping(session, request->id, &request->payload);
        break;
    }
    if (job_id.size != 0) {
        request->job_id = arcp__copy_cstr(job_id.data, job_id.size);
    }
    bool lacks_memory = request->payload.failed || request->extensions.failed ||
                        (job_id.size != 0 && request->job_id == NULL);
    return status == ARCP_OK && lacks_memory ? no_memory(err) : status;
}

arcp_status arcp__client_session_ask(arcp__client_session *session, arcp_time now,
                                     const arcp__client_ask *ask, arcp__client_request **out,
                                     arcp_error *err)
{
    session->now = now;
    if (session->state == ARCP__SESSION_CLOSED || session->state == ARCP__SESSION_CLOSING) {
        const arcp_error *why = &session->failure.error;
        return why->status != ARCP_OK ? arcp_error_set(err, why->status, "%s", why->message)
                                      : arcp_error_set(err, ARCP_E_CLOSED, "the client is closed");
    }
    arcp__client_request *request = arcp__client_request_new(session, ask->kind);
    if (request == NULL) {
        return no_memory(err);
    }
    request->on_reply = ask->on_reply;
    request->user = ask->user;
    arcp_status status = prepare(session, request, ask, err);
    if (status != ARCP_OK) {
        arcp__client_request_free(session, request);
        return status;
    }
    if (out != NULL) {
        *out = request;
    }
    arcp__client_requests_flush(session);
    return ARCP_OK;
}
