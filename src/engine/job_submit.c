/* job.submit (§7.1, §7.2): from a request to a job, or to a refusal.
 *
 * The idempotency key is looked up before every check that depends on time or registry, so
 * that a retry gets its job back although a default version changed or an expiry passed. A
 * refused submit leaves nothing behind, not its key either. */
#include "engine/parts.h"

#include <arcp/lease_subset.h>

#include "core/trace.h"

/* ---- the job.accepted payload ---- */

static void write_accepted(const arcp__job *job, arcp_json_writer *writer)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_begin_object(writer);
    arcp_json_name(writer, "job_id");
    arcp_json_write_cstr(writer, job->id);
    arcp_json_name(writer, "agent");
    arcp_json_write_cstr(writer, job->agent_text);
    arcp_json_name(writer, "lease");
    arcp_lease_format(job->lease, &text);
    arcp_json_write_raw(writer, arcp_buf_span(&text));
    if (arcp_lease_has_expiry(job->lease)) {
        arcp_buf_clear(&text);
        arcp_json_name(writer, "lease_constraints");
        arcp_lease_format_constraints(job->lease, &text);
        arcp_json_write_raw(writer, arcp_buf_span(&text));
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp_buf_fini(&text);
    if ((job->features & ARCP_FEATURE_BIT(ARCP_FEATURE_COST_BUDGET)) != 0) {
        arcp__job_write_budget(job, false, false, writer);
    }
    arcp__write_timestamp(writer, "accepted_at", job->created_wall_ns);
    arcp_json_name(writer, "trace_id");
    arcp_json_write_cstr(writer, job->trace_id);
    if (job->parent_id[0] != '\0') {
        arcp_json_name(writer, "parent_job_id");
        arcp_json_write_cstr(writer, job->parent_id);
        arcp_json_name(writer, "delegate_id");
        arcp_json_write_cstr(writer, job->delegate_id);
    }
    arcp_json_end_object(writer);
}

/* The payload in the form of the session's peer profile. */
/* {"USD": 5} as {"USD": "USD:5"}. */
static void write_budget_texts(arcp__engine *engine, const arcp_json *json, arcp_json_ref budget,
                               arcp_json_writer *writer)
{
    arcp_json_name(writer, "budget");
    arcp_json_begin_object(writer);
    for (arcp_json_ref name = arcp_json_first(json, budget); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, budget, name)) {
        arcp_span currency = arcp_json_string(json, name, &engine->scratch);
        arcp_buf text = ARCP_BUF_INIT;
        arcp_buf_append(&text, currency);
        arcp_buf_append_byte(&text, ':');
        arcp_buf_append(&text, arcp_json_raw(json, name + 1));
        arcp_json_name_span(writer, currency);
        arcp_json_write_string(writer, arcp_buf_span(&text));
        writer->out->failed = writer->out->failed || text.failed;
        arcp_buf_fini(&text);
    }
    arcp_json_end_object(writer);
}

void arcp__accepted_format(arcp__engine *engine, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out)
{
    if (!profile->omits_lease && !profile->budget_as_text) {
        arcp_buf_append(out, accepted);
        return;
    }
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    if (arcp_json_scan(&json, accepted, &limits, NULL) != ARCP_OK) {
        arcp_json_fini(&json);
        out->failed = true; /* it is JSON of ours: only memory can be missing */
        return;
    }
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
        arcp_span text = arcp_json_string(&json, name, &engine->scratch);
        if (profile->omits_lease && arcp_span_equal_cstr(text, "lease")) {
            continue;
        }
        if (profile->budget_as_text && arcp_span_equal_cstr(text, "budget")) {
            write_budget_texts(engine, &json, name + 1, &writer);
            continue;
        }
        arcp_json_name_span(&writer, text);
        arcp_json_write_raw(&writer, arcp_json_raw(&json, name + 1));
    }
    arcp_json_end_object(&writer);
    arcp_json_fini(&json);
}

void arcp__job_format_accepted(arcp__engine *engine, const arcp__job *job,
                               const arcp__session *session, arcp_buf *out)
{
    arcp__accepted_format(engine, arcp_span_cstr(job->accepted), session->profile, out);
}

/* ---- making a job ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static bool make_cwd(const arcp__engine *engine, const arcp__job_plan *plan, arcp__job *job)
{
    if (plan->agent->cwd[0] != '\0' || engine->options.work_directory.size == 0) {
        return copy_text(&job->cwd, arcp_span_cstr(plan->agent->cwd));
    }
    arcp_buf path = ARCP_BUF_INIT;
    arcp_buf_append(&path, engine->options.work_directory);
    arcp_buf_append_byte(&path, '/');
    arcp_buf_append_cstr(&path, job->id);
    job->cwd = arcp_buf_take_cstr(&path);
    arcp_buf_fini(&path);
    job->owns_cwd = true;
    return job->cwd != NULL;
}

static arcp_status make_authority(arcp__engine *engine, const arcp__job_plan *plan, arcp__job *job,
                                  arcp_error *err)
{
    arcp_budget *above =
        plan->parent == NULL ? NULL : arcp_authority_budget(plan->parent->authority);
    arcp_budget *budget = NULL;
    arcp_status status = arcp_budget_new(plan->lease, above, &budget, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.budget = budget;
    options.now = engine->now;
    options.expiry_grace_ns = (int64_t)engine->settings.lease_expiry_grace_ms * ARCP_NS_PER_MS;
    options.cwd = arcp_span_cstr(job->cwd);
    options.model_use_required = engine->settings.model_use_required == ARCP_CHOICE_TRUE;
    options.parent = plan->parent == NULL ? NULL : plan->parent->authority;
    arcp_authority *authority = NULL;
    status = arcp_authority_new(plan->lease, &options, &authority, err);
    arcp_budget_unref(budget);
    job->authority = authority;
    return status;
}

static bool copy_plan(const arcp__job_plan *plan, arcp__job *job)
{
    job->host = plan->agent->host;
    job->features = plan->features;
    job->max_runtime_sec = plan->max_runtime_sec;
    job->lease = arcp_lease_ref(plan->lease);
    memcpy(job->session_id, plan->session->id, sizeof(job->session_id));
    memcpy(job->trace_id, plan->trace_id.data, ARCP__TRACE_ID_SIZE);
    if (plan->parent != NULL) {
        memcpy(job->parent_id, plan->parent->id, sizeof(job->parent_id));
        job->depth = plan->parent->depth + 1;
    }
    return copy_text(&job->agent_text, arcp_span_cstr(plan->agent->text)) &&
           copy_text(&job->input, plan->input) && copy_text(&job->delegate_id, plan->delegate_id) &&
           copy_text(&job->traceparent, plan->traceparent) &&
           copy_text(&job->tracestate, plan->tracestate);
}

static bool format_accepted(arcp__job *job)
{
    arcp_buf accepted = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &accepted);
    write_accepted(job, &writer);
    job->accepted = arcp_buf_take_cstr(&accepted);
    arcp_buf_fini(&accepted);
    return job->accepted != NULL;
}

arcp__job *arcp__job_create(arcp__engine *engine, const arcp__job_plan *plan, arcp_error *err)
{
    arcp__job *job = arcp__job_new(engine, plan->principal);
    if (job == NULL) {
        (void)arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
        return NULL;
    }
    arcp_status status = ARCP_OK;
    if (!copy_plan(plan, job) || !make_cwd(engine, plan, job)) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
    }
    if (status == ARCP_OK) {
        status = make_authority(engine, plan, job, err);
    }
    if (status == ARCP_OK && !format_accepted(job)) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
    }
    arcp__observation *observation =
        status == ARCP_OK ? arcp__observation_add(engine, plan->session, job) : NULL;
    if (observation == NULL) {
        if (status == ARCP_OK) {
            (void)arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
        }
        arcp__job_free(engine, job);
        return NULL;
    }
    observation->may_cancel = true;
    observation->is_live = true;
    job->owner = observation;
    plan->session->live_jobs++;
    arcp__job_note_head(job);
    arcp__job_store(engine, job);
    return job;
}

/* ---- checks ---- */

/* What a request says as canonical JSON, hashed: agent as submitted, input, lease_request,
 * lease_constraints, max_runtime_sec. */
static bool fingerprint(arcp__engine *engine, arcp_json_ref payload, uint8_t out[32])
{
    static const char *const members[] = {"agent", "input", "lease_request", "lease_constraints",
                                          "max_runtime_sec"};
    arcp_buf text = ARCP_BUF_INIT;
    for (size_t at = 0; at < sizeof(members) / sizeof(members[0]); at++) {
        arcp_json_ref ref = arcp_json_member(&engine->json, payload, arcp_span_cstr(members[at]));
        if (arcp_json_canonical(&engine->json, ref, &text, NULL) != ARCP_OK) {
            break;
        }
        arcp_buf_append_byte(&text, '\n');
    }
    bool done = !text.failed;
    if (done) {
        arcp__sha256(arcp_buf_span(&text), out);
    } else {
        arcp__engine_no_memory(engine);
    }
    arcp_buf_fini(&text);
    return done;
}

static void refuse(arcp__engine *engine, arcp__request *request, const arcp_error *error,
                   const arcp_buf *details)
{
    arcp__request_refuse(engine, request, error, arcp_span_make(NULL, 0), arcp_buf_span(details));
}

static void refuse_with(arcp__engine *engine, arcp__request *request, const arcp_error *error,
                        const char *member, const char *value)
{
    arcp_buf details = ARCP_BUF_INIT;
    if (member != NULL) {
        arcp_buf_append_format(&details, "{\"%s\":\"%s\"}", member, value);
    }
    refuse(engine, request, error, &details);
    arcp_buf_fini(&details);
}

/* The same answer for the same key; a job that is still kept is attached with history, so
 * that its end arrives at the asking session too. */
static void answer_duplicate(arcp__engine *engine, arcp__request *request,
                             const arcp__idempotency *entry)
{
    arcp_span job_id = arcp_span_cstr(entry->job_id);
    arcp__job *job = arcp__job_find(engine, job_id);
    arcp__observation *observation =
        job == NULL ? NULL : arcp__observation_find(request->session, job);
    if (job != NULL && observation == NULL) {
        observation = arcp__observation_add(engine, request->session, job);
        if (observation == NULL) {
            return;
        }
        arcp__mail_catch_up(engine, observation);
    }
    if (observation != NULL && !observation->may_cancel) {
        observation->may_cancel = true;
        arcp__observation_store(engine, observation);
    }
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__accepted_format(engine, arcp_buf_span(&entry->accepted), request->session->profile,
                          &payload);
    if (payload.failed) {
        arcp__engine_no_memory(engine);
    } else {
        arcp__request_answer(engine, request, "job.accepted", job_id,
                             job == NULL ? arcp_span_make(NULL, 0) : arcp_span_cstr(job->trace_id),
                             arcp_buf_span(&payload), true);
    }
    arcp_buf_fini(&payload);
}

/* True when the key was seen: the request is answered or refused. */
static bool handled_by_key(arcp__engine *engine, arcp__request *request, arcp_span key,
                           const uint8_t print[32])
{
    const arcp__idempotency *entry =
        arcp__idempotency_find(engine, request->session->principal, key);
    if (entry == NULL) {
        return false;
    }
    if (memcmp(entry->fingerprint, print, 32) == 0) {
        answer_duplicate(engine, request, entry);
        return true;
    }
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_DUPLICATE_KEY,
                         "idempotency_key was used for other parameters");
    refuse_with(engine, request, &error, "job_id", entry->job_id);
    return true;
}

/* A request may only use what was negotiated (§6.2). */
static arcp_status check_features(const arcp__session *session, arcp_span agent,
                                  const arcp_lease *lease, arcp_error *err)
{
    const struct {
        bool used;
        arcp_feature feature;
        const char *what;
    } uses[] = {
        {memchr(agent.data, '@', agent.size) != NULL, ARCP_FEATURE_AGENT_VERSIONS,
         "an agent version"},
        {arcp_lease_has_expiry(lease), ARCP_FEATURE_LEASE_EXPIRES_AT, "expires_at"},
        {arcp_lease_names(lease, ARCP_SPAN_LITERAL("cost.budget")), ARCP_FEATURE_COST_BUDGET,
         "cost.budget"},
        {arcp_lease_names(lease, ARCP_SPAN_LITERAL("model.use")), ARCP_FEATURE_MODEL_USE,
         "model.use"},
    };
    for (size_t at = 0; at < sizeof(uses) / sizeof(uses[0]); at++) {
        if (uses[at].used && !arcp__session_has_feature(session, uses[at].feature)) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "%s needs the feature \"%s\", which was not negotiated",
                                  uses[at].what, arcp_feature_name(uses[at].feature));
        }
    }
    return ARCP_OK;
}

static arcp_status check_caps(const arcp__engine *engine, const arcp__session *session,
                              arcp_buf *details, arcp_error *err)
{
    const char *limit = NULL;
    if (session->live_jobs >= engine->settings.limits_jobs_per_session) {
        limit = "limits.jobs_per_session";
    } else if (session->principal->running_jobs >= engine->settings.limits_jobs_per_principal) {
        limit = "limits.jobs_per_principal";
    }
    if (limit == NULL) {
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "too many running jobs (%s)", limit);
}

static arcp_status read_lease(arcp__engine *engine, arcp_json_ref payload, arcp_lease **out,
                              arcp_error *err)
{
    const arcp_json *json = &engine->json;
    arcp_lease_limits limits = {(size_t)engine->settings.limits_lease_patterns,
                                (size_t)engine->settings.limits_lease_bytes,
                                (size_t)engine->settings.limits_pattern_bytes,
                                (size_t)engine->settings.limits_pattern_wildcards};
    arcp_json_ref lease = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("lease_request"));
    arcp_json_ref constraints =
        arcp_json_member(json, payload, ARCP_SPAN_LITERAL("lease_constraints"));
    arcp_status status = arcp_lease_from_json(json, lease, constraints, &limits, out, err);
    if (status == ARCP_OK && arcp_lease_has_expiry(*out) &&
        arcp_lease_expires_wall_ns(*out) <= engine->now.wall_ns) {
        arcp_lease_unref(*out);
        *out = NULL;
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "lease_constraints.expires_at is not in the future");
    }
    return status;
}

/* ---- trace context (§11) ---- */

typedef struct trace_context {
    char trace_id[ARCP__TRACE_ID_SIZE];
    arcp_span traceparent;
    arcp_span tracestate;
} trace_context;

static void read_trace(arcp__engine *engine, const arcp__envelope *envelope, trace_context *out)
{
    const arcp_json *json = &engine->json;
    *out = (trace_context){.traceparent = {NULL, 0}};
    arcp_json_ref context = arcp_json_member(
        json, envelope->extensions, ARCP_SPAN_LITERAL("x-vendor.opentelemetry.tracecontext"));
    arcp_span parent = arcp_json_string(
        json, arcp_json_member(json, context, ARCP_SPAN_LITERAL("traceparent")), &engine->scratch);
    if (!arcp__traceparent_is_valid(parent) && arcp__traceparent_is_valid(envelope->trace_id)) {
        parent = envelope->trace_id;
    }
    bool named = arcp__trace_id_parse(envelope->trace_id, out->trace_id);
    if (arcp__traceparent_is_valid(parent)) {
        char of_parent[ARCP__TRACE_ID_SIZE];
        (void)arcp__trace_id_parse(parent, of_parent);
        if (!named || memcmp(of_parent, out->trace_id, sizeof(of_parent)) == 0) {
            memcpy(out->trace_id, of_parent, sizeof(of_parent));
            named = true;
            out->traceparent = parent;
            out->tracestate = arcp_span_first(
                arcp_json_string(json,
                                 arcp_json_member(json, context, ARCP_SPAN_LITERAL("tracestate")),
                                 &engine->scratch),
                512);
        }
    }
    if (!named) {
        uint8_t bytes[16];
        engine->options.random(engine->options.random_user, bytes, sizeof(bytes));
        bytes[0] |= 1; /* never all zero */
        arcp__hex_format(bytes, sizeof(bytes), out->trace_id);
    }
}

/* ---- the request ---- */

static void accept(arcp__engine *engine, arcp__request *request, arcp__job *job, arcp_span key,
                   const uint8_t print[32])
{
    if (key.size != 0) {
        job->idempotency = arcp__idempotency_add(engine, job->principal, key, print, job->id,
                                                 arcp_span_cstr(job->accepted));
        if (job->idempotency != NULL) {
            arcp__idempotency_store(engine, job->idempotency);
        }
    }
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__job_format_accepted(engine, job, request->session, &payload);
    if (payload.failed) {
        arcp__engine_no_memory(engine);
    } else {
        arcp__request_answer(engine, request, "job.accepted", arcp_span_cstr(job->id),
                             arcp_span_cstr(job->trace_id), arcp_buf_span(&payload), true);
    }
    arcp_buf_fini(&payload);
    arcp__effect_audit(engine, "submit", "principal", job->principal->name, "job_id", job->id,
                       "agent", job->agent_text, "trace_id", job->trace_id, NULL);
    arcp__job_start(engine, job);
}

/* What can be said before anything is made. */
static arcp_status check_submit(arcp__engine *engine, const arcp__session *session,
                                arcp_json_ref payload, const arcp_lease *lease,
                                const arcp__agent_version **version, arcp_buf *details,
                                arcp_error *err)
{
    const arcp_json *json = &engine->json;
    const arcp__agent *agent = NULL;
    arcp_span name = arcp_json_string(
        json, arcp_json_member(json, payload, ARCP_SPAN_LITERAL("agent")), &engine->scratch);
    arcp_status status = arcp__agent_resolve(engine, name, &agent, version, err);
    if (status == ARCP_OK) {
        status = check_features(session, name, lease, err);
    }
    if (status == ARCP_OK) {
        status = check_caps(engine, session, details, err);
    }
    if (status == ARCP_OK && engine->stopping) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    return status;
}

static void submit_lease(arcp__engine *engine, arcp__request *request, arcp_json_ref payload,
                         const arcp__envelope *envelope, const arcp_lease **lease, arcp_span key,
                         const uint8_t print[32])
{
    const arcp_json *json = &engine->json;
    arcp__session *session = request->session;
    arcp_error error = {0};
    arcp_buf input = ARCP_BUF_INIT;
    arcp_buf notes = ARCP_BUF_INIT;
    arcp_buf details = ARCP_BUF_INIT;
    trace_context trace;
    arcp__job *job = NULL;
    arcp__job_plan plan = {
        .principal = session->principal, .session = session, .features = session->features};
    arcp_status status =
        check_submit(engine, session, payload, *lease, &plan.agent, &details, &error);
    if (status == ARCP_OK) {
        read_trace(engine, envelope, &trace);
        arcp_json_ref ref = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("input"));
        arcp_json_compact(json, ref, &input);
        plan.input = input.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&input);
        plan.trace_id = arcp_span_make(trace.trace_id, ARCP__TRACE_ID_SIZE);
        plan.traceparent = trace.traceparent;
        plan.tracestate = trace.tracestate;
        (void)arcp_json_u64(json,
                            arcp_json_member(json, payload, ARCP_SPAN_LITERAL("max_runtime_sec")),
                            &plan.max_runtime_sec);
        status = arcp__policy_apply(engine, &plan, lease, &notes, &details, &error);
    }
    if (status == ARCP_OK) {
        plan.lease = *lease;
        job = arcp__job_create(engine, &plan, &error);
    }
    if (job == NULL) {
        refuse(engine, request, &error, &details);
    } else {
        arcp__policy_audit(engine, job, &notes);
        accept(engine, request, job, key, print);
    }
    arcp_buf_fini(&details);
    arcp_buf_fini(&notes);
    arcp_buf_fini(&input);
}

void arcp__job_submit(arcp__engine *engine, arcp__request *request, arcp_json_ref payload,
                      const arcp__envelope *envelope)
{
    uint8_t print[32] = {0};
    arcp_error error = {0};
    arcp_span key = arcp_json_string(
        &engine->json,
        arcp_json_member(&engine->json, payload, ARCP_SPAN_LITERAL("idempotency_key")),
        &engine->scratch);
    if (key.size > 256) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "payload.idempotency_key has %zu bytes, may have 256", key.size);
        refuse_with(engine, request, &error, NULL, NULL);
        return;
    }
    if (key.size != 0) {
        if (!fingerprint(engine, payload, print) || handled_by_key(engine, request, key, print)) {
            return;
        }
    }
    arcp_lease *parsed = NULL;
    if (read_lease(engine, payload, &parsed, &error) != ARCP_OK) {
        refuse_with(engine, request, &error, NULL, NULL);
        return;
    }
    const arcp_lease *lease = parsed;
    submit_lease(engine, request, payload, envelope, &lease, key, print);
    arcp_lease_unref(lease);
}
