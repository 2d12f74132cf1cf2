/* The payload of job.submit. */
#include "base/options.h"
#include "client/client_job.h"
#include "core/agent_name.h"
#include "json/json_put.h"

/* Members of a lease or its constraints that need a feature (§6.2: a peer may use only negotiated
 * features). */
static const struct {
    const char *member;
    arcp_feature feature;
} dependent_members[] = {
    {"cost.budget", ARCP_FEATURE_COST_BUDGET},
    {"model.use", ARCP_FEATURE_MODEL_USE},
    {"expires_at", ARCP_FEATURE_LEASE_EXPIRES_AT},
};
#define DEPENDENT_MEMBERS (sizeof dependent_members / sizeof dependent_members[0])

/* Adds JSON given by the program, on one line. With `needs` it must be an object, and the features
 * that it needs are added. */
static arcp_status put_json(arcp_json_writer *writer, const char *name, arcp_span text,
                            const char *what, arcp_feature_set *needs, arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp_error why = {0};
    arcp_buf line = arcp_buf_init();
    if (text.size == 0) {
        return ARCP_OK;
    }
    arcp_status status = arcp_json_scan(&json, text, &limits, &why);
    if (status == ARCP_OK && needs != NULL &&
        !arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        status =
            arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, 0, "%s must be a JSON object", what);
    } else if (status != ARCP_OK) {
        status = arcp_error_set_at(err, status, why.offset, "%s: %s", what, why.message);
    } else {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &line);
        arcp__put_raw(writer, name, arcp_buf_span(&line));
        writer->out->failed = writer->out->failed || line.failed;
    }
    for (size_t row = 0; status == ARCP_OK && needs != NULL && row < DEPENDENT_MEMBERS; row++) {
        const arcp_json_ref ref =
            arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(dependent_members[row].member));
        *needs |=
            arcp_json_is_missing(&json, ref) ? 0 : ARCP_FEATURE_BIT(dependent_members[row].feature);
    }
    arcp_buf_fini(&line);
    arcp__json_fini(&json);
    return status;
}

static void put_built(arcp_json_writer *writer, const arcp_lease *built, arcp_feature_set *needs)
{
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(built, &text);
    arcp__put_raw(writer, "lease_request", arcp_buf_span(&text));
    if (arcp_lease_has_expiry(built)) {
        *needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_LEASE_EXPIRES_AT);
        arcp_buf_clear(&text);
        arcp_lease_format_constraints(built, &text);
        arcp__put_raw(writer, "lease_constraints", arcp_buf_span(&text));
    }
    for (size_t row = 0; row < DEPENDENT_MEMBERS; row++) {
        if (arcp_lease_names(built, arcp_span_cstr(dependent_members[row].member))) {
            *needs |= ARCP_FEATURE_BIT(dependent_members[row].feature);
        }
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp_buf_fini(&text);
}

arcp_status arcp__client_submit_prepare(arcp__client_session *session,
                                        arcp__client_request *request,
                                        const arcp_submit_options *given, arcp_error *err)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_submit_options", err);
    if (status != ARCP_OK) {
        return status;
    }
    static const arcp_span no_input = {"{}", 2};
    const arcp_span input = options.input.size == 0 ? no_input : options.input;
    arcp_span name = {NULL, 0};
    arcp_span version = {NULL, 0};
    status = arcp__agent_name_parse(options.agent, &name, &version, err);
    if (version.size != 0) {
        request->needs |= ARCP_FEATURE_BIT(ARCP_FEATURE_AGENT_VERSIONS);
    }
    arcp_json_writer writer = arcp__put_begin(&request->payload);
    arcp__put_text(&writer, "agent", options.agent);
    if (status == ARCP_OK) {
        status = put_json(&writer, "input", input, "input", NULL, err);
    }
    if (options.built != NULL) {
        put_built(&writer, options.built, &request->needs);
    } else if (status == ARCP_OK) {
        status = put_json(&writer, "lease_request", options.lease, "lease", &request->needs, err);
    }
    if (status == ARCP_OK && options.built == NULL) {
        status = put_json(&writer, "lease_constraints", options.constraints, "constraints",
                          &request->needs, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    char made_key[5 + ARCP__ULID_SIZE] = "auto_";
    arcp_span key = options.idempotency_key;
    request->is_keyed = key.size != 0;
    if (key.size == 0 && !session->given.no_auto_key) {
        arcp__ulid_next(&session->id_source, session->now.wall_ns / ARCP_NS_PER_MS, made_key + 5);
        key = arcp_span_make(made_key, sizeof made_key);
    }
    request->can_repeat = key.size != 0;
    arcp__put_text(&writer, "idempotency_key", key);
    if (options.max_runtime_sec != 0) {
        arcp__put_u64(&writer, "max_runtime_sec", options.max_runtime_sec);
    }
    arcp_json_end_object(&writer);
    request->sink = options.result;
    request->outcome_only = options.outcome_only;
    request->job_user = options.user;
    /* The trace of the job: the caller's or a new one. [arcp:11-1] */
    if (arcp__trace_id_parse(options.traceparent, request->trace_id)) {
        writer = arcp__put_begin(&request->extensions);
        arcp__put_object(&writer, "x-vendor.opentelemetry.tracecontext");
        arcp__put_string(&writer, "traceparent", options.traceparent);
        arcp__put_text(&writer, "tracestate", options.tracestate);
        arcp_json_end_object(&writer);
        arcp_json_end_object(&writer);
    } else {
        uint8_t bytes[ARCP__TRACE_ID_SIZE / 2];
        session->id_source.random(session->id_source.user, bytes, sizeof bytes);
        bytes[0] |= 1; /* never all zero */
        arcp__hex_format(bytes, sizeof bytes, request->trace_id);
    }
    return ARCP_OK;
}
