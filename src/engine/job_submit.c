/* job.submit (§7.1, §7.2): from a request to a job, or to a refusal.
 *
 * The idempotency key is looked up before every check that depends on time or registry, so
 * that a retry gets its job back although a default version changed or an expiry passed. A
 * refused submit leaves nothing behind, not its key either. A job that gets a credential is
 * made when that was issued (admission.c). */
#include "engine/parts.h"

#include "core/trace.h"

#define KEY_BYTES_MAX 256u

/* ---- checks ---- */

/* What a request says as canonical JSON, hashed: agent as submitted, input, lease_request,
 * lease_constraints, max_runtime_sec. */
static bool fingerprint(arcp__engine *engine, const arcp__submit *asked, uint8_t out[32])
{
    const arcp_json_ref members[] = {asked->input, asked->lease_request, asked->lease_constraints,
                                     asked->max_runtime_sec};
    arcp_buf text = arcp__context_take_buf(&engine->context);
    arcp_json_quote(asked->agent, &text);
    arcp_buf_append_byte(&text, '\n');
    for (size_t at = 0; at < sizeof(members) / sizeof(members[0]); at++) {
        if (arcp_json_canonical(&engine->context.json, members[at], &text, NULL) != ARCP_OK) {
            break;
        }
        arcp_buf_append_byte(&text, '\n');
    }
    bool done = !text.failed;
    if (done) {
        arcp__context_sha256(&engine->context, arcp_buf_span(&text), out);
    } else {
        arcp__context_no_memory(&engine->context);
    }
    arcp__context_give_buf(&engine->context, &text);
    return done;
}

/* `trace_id` may be anything. */
static void refuse_asked(arcp__engine *engine, arcp__request *request, arcp_span agent,
                         arcp_span trace_id, const arcp_error *error, const arcp_buf *details)
{
    char trace[ARCP__TRACE_ID_SIZE];
    size_t trace_size = arcp__trace_id_parse(trace_id, trace) ? sizeof(trace) : 0;
    arcp_span more = arcp__details(details);
    arcp__audit(engine->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                    .decision = "denied",
                                    .who = arcp__session_who(request->session, NULL),
                                    .code = error->status,
                                    .reason = error->message,
                                    .more = {{"agent", agent},
                                             {"trace_id", arcp_span_make(trace, trace_size)},
                                             {"details", more}}});
    engine->metrics.submits_refused[error->status]++;
    arcp__request_refuse(engine, request, error, agent, more);
}

static void refuse(arcp__engine *engine, arcp__request *request, const arcp__message *in,
                   const arcp_error *error, const arcp_buf *details)
{
    refuse_asked(engine, request, in->submit.agent, in->envelope.trace_id, error, details);
}

static void refuse_with(arcp__engine *engine, arcp__request *request, const arcp__message *in,
                        const arcp_error *error, const char *member, const char *value)
{
    arcp_buf details = ARCP_BUF_INIT;
    if (member != NULL) {
        arcp_buf_append_format(&details, "{\"%s\":\"%s\"}", member, value);
    }
    refuse(engine, request, in, error, &details);
    arcp_buf_fini(&details);
}

/* Nobody is to wait for the end of a job that had it, and is not kept any more. */
static void format_lost_end(arcp__engine *engine, arcp_span job_id, arcp_buf *record)
{
    char id[ARCP__ID_SIZE];
    arcp_json_writer writer;
    arcp__context_make_id(&engine->context, "msg_", id);
    arcp_json_writer_init(&writer, record);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "id");
    arcp_json_write_cstr(&writer, id);
    arcp_json_name(&writer, "type");
    arcp_json_write_cstr(&writer, "job.error");
    arcp_json_name(&writer, "job_id");
    arcp_json_write_string(&writer, job_id);
    arcp_json_name(&writer, "payload");
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "final_status");
    arcp_json_write_cstr(&writer, "error");
    arcp__error_payload_members(
        &writer, ARCP_E_JOB_NOT_FOUND, arcp_span_cstr(arcp_status_wire_code(ARCP_E_JOB_NOT_FOUND)),
        ARCP_SPAN_LITERAL("the job of this key has ended; its end is not kept any more"), false,
        arcp_span_make(NULL, 0));
    arcp__write_timestamp(&writer, "completed_at", engine->context.now.wall_ns);
    arcp_json_name(&writer, "job_id");
    arcp_json_write_string(&writer, job_id);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
}

/* The same answer for the same key; a job that is still kept is attached with history, so
 * that its end arrives at the asking session too. [arcp:7.2-1] */
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
    } else if (job != NULL && request->session->profile->repeats_end) {
        arcp__mail_end(engine, observation);
    }
    if (observation != NULL && !observation->may_cancel) {
        observation->may_cancel = true;
        arcp__observation_store(engine, observation);
    }
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__accepted_format(engine, arcp__idempotency_accepted(entry), request->session->profile,
                          &payload);
    if (job == NULL) {
        format_lost_end(engine, job_id, &request->record);
    }
    arcp__context_check_text(&engine->context, &payload);
    arcp__context_check_text(&engine->context, &request->record);
    memcpy(request->revealed_job, entry->job_id, sizeof(entry->job_id));
    arcp__request_answer(engine, request, "job.accepted", job_id,
                         job == NULL ? arcp_span_make(NULL, 0) : arcp_span_cstr(job->trace_id),
                         arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
}

/* True when the key was seen: the request is answered or refused. [arcp:7.2-1] [arcp:7.2-2] */
static bool handled_by_key(arcp__engine *engine, arcp__request *request, const arcp__message *in,
                           const uint8_t print[32])
{
    const arcp_span key = in->submit.idempotency_key;
    const arcp__idempotency *entry =
        arcp__idempotency_find(engine, request->session->principal, key);
    if (entry == NULL) {
        return engine->context.failed;
    }
    if (memcmp(entry->fingerprint, print, 32) == 0) {
        answer_duplicate(engine, request, entry);
        const arcp__job *job = arcp__job_find(engine, arcp_span_cstr(entry->job_id));
        arcp__audit(engine->log,
                    &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                        .decision = "allowed",
                                        .who = arcp__session_who(request->session, job),
                                        .rule = "idempotency_key",
                                        .more = {{"idempotency_key", key}}});
        return true;
    }
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_DUPLICATE_KEY,
                         "idempotency_key was used for other parameters");
    refuse_with(engine, request, in, &error, "job_id", entry->job_id);
    return true;
}

/* A request may only use what was negotiated (§6.2). [arcp:6.2-4] */
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
    const char *what = "too many running jobs";
    size_t jobs = session->live_jobs + session->admissions - session->held_submits;
    if (jobs >= engine->context.settings.limits_jobs_per_session) {
        limit = "limits.jobs_per_session";
    } else if (session->principal->running_jobs >=
               engine->context.settings.limits_jobs_per_principal) {
        limit = "limits.jobs_per_principal";
    } else if (!arcp__principal_has_room(engine, session->principal)) {
        limit = "limits.principal_bytes";
        what = "the principal's running jobs have said too much";
    }
    if (limit == NULL) {
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "%s (%s)", what, limit);
}

/* ---- the request ---- */

static void accept(arcp__engine *engine, arcp__request *request, arcp__job *job, bool is_narrowed,
                   arcp_span key)
{
    arcp_buf payload = arcp__context_take_buf(&engine->context);
    arcp__job_format_accepted(engine, job, request->session, &payload);
    memcpy(request->revealed_job, job->id, sizeof(job->id));
    arcp__request_answer(engine, request, "job.accepted", arcp_span_cstr(job->id),
                         arcp_span_cstr(job->trace_id), arcp_buf_span(&payload));
    arcp__context_give_buf(&engine->context, &payload);
    arcp__audit(engine->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                    .decision = "allowed",
                                    .who = arcp__session_who(request->session, job),
                                    .rule = is_narrowed ? "lease_request, policy" : "lease_request",
                                    .lease = job->live->lease,
                                    .more = {{"idempotency_key", key}}});
    arcp__job_start(engine, job);
}

/* ---- making the job ---- */

/* A job that needs a credential has to wait for it: nothing of it is to be seen until then.
 * [arcp:9.8.2-1] */
static bool wait_for_credential(arcp__engine *engine, arcp__request *request,
                                const arcp__job_plan *plan, arcp_buf *notes, arcp_span key,
                                const uint8_t print[32])
{
    arcp_budget *budget = NULL;
    char trace_id[33] = "";
    memcpy(trace_id, plan->trace_id.data, 32);
    arcp__credential_wish wish = {.job_id = "",
                                  .session_id = plan->session->id,
                                  .principal = plan->principal->name,
                                  .trace_id = trace_id,
                                  .agent_name = plan->agent_name,
                                  .traceparent = arcp_span_cstr(plan->trace->traceparent),
                                  .lease = plan->lease};
    if (engine->options.credentials.terms == NULL ||
        arcp_budget_new(plan->lease, NULL, &budget, NULL) != ARCP_OK) {
        return false; /* what is wrong with a budget is said when the job is made */
    }
    wish.budget = budget;
    const arcp__credential_viewer viewer = arcp__session_viewer(plan->session);
    bool waits = arcp__credential_is_wanted(&engine->credentials, &viewer, &wish);
    if (waits) {
        arcp__admission *admission = arcp__admission_new(engine, plan, request, NULL);
        if (admission != NULL) {
            memcpy(admission->print, print, sizeof(admission->print));
            admission->notes = *notes;
            *notes = (arcp_buf)ARCP_BUF_INIT;
            admission->key = arcp__copy_cstr(key.data, key.size);
            wish.job_id = admission->job_id;
            if (admission->key == NULL) {
                arcp__context_no_memory(&engine->context);
            }
            arcp__credential_ask(&engine->credentials, &wish, &admission->credential);
        }
    }
    arcp_budget_unref(budget);
    return waits;
}

/* What can be said before anything is made. [arcp:7.1-1] */
static arcp_status check_submit(arcp__engine *engine, const arcp__session *session, arcp_span name,
                                const arcp_lease *lease, arcp__job_plan *plan, arcp_buf *details,
                                arcp_error *err)
{
    const arcp__agent *agent = NULL;
    arcp_status status = arcp__agent_resolve(engine, name, &agent, &plan->agent, err);
    if (status == ARCP_OK) {
        plan->agent_name = arcp_span_cstr(agent->name);
        status = check_features(session, name, lease, err);
    }
    if (status == ARCP_OK) {
        status = check_caps(engine, session, details, err);
    }
    if (status == ARCP_OK && plan->key.size != 0) {
        /* Before a credential is asked for; how long the answer is is not known yet. */
        status = arcp__idempotency_check(engine, session->principal, 0, details, err);
    }
    if (status == ARCP_OK && engine->context.stopping) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    return status == ARCP_OK ? arcp__audit_check(engine->log, err) : status;
}

static void submit_lease(arcp__engine *engine, arcp__request *request, const arcp__message *in,
                         const arcp_lease **lease, const uint8_t print[32])
{
    const arcp_json *json = &engine->context.json;
    const arcp__submit *asked = &in->submit;
    const arcp_span key = asked->idempotency_key;
    arcp__session *session = request->session;
    arcp_error error = {0};
    arcp_buf input = arcp__context_take_buf(&engine->context);
    arcp_buf notes = ARCP_BUF_INIT;
    arcp_buf details = ARCP_BUF_INIT;
    char trace_id[ARCP__TRACE_ID_SIZE];
    arcp__trace trace;
    arcp__job *job = NULL;
    arcp__job_plan plan = {.principal = session->principal,
                           .session = session,
                           .features = session->features,
                           .key = key,
                           .fingerprint = print,
                           .lease_work = {engine->context.settings.limits_lease_steps}};
    arcp_status status =
        check_submit(engine, session, asked->agent, *lease, &plan, &details, &error);
    if (status == ARCP_OK) {
        arcp__trace_read(engine, &in->envelope, trace_id, &trace, &plan.tracestate);
        arcp_json_compact(json, asked->input, &input);
        plan.input = input.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&input);
        plan.trace_id = arcp_span_make(trace_id, ARCP__TRACE_ID_SIZE);
        plan.trace = &trace;
        (void)arcp_json_u64(json, asked->max_runtime_sec, &plan.max_runtime_sec);
        status = arcp__policy_apply(engine, &plan, lease, &notes, &details, &error);
    }
    bool waits = false;
    if (status == ARCP_OK) {
        plan.lease = *lease;
        waits = wait_for_credential(engine, request, &plan, &notes, key, print);
        job = waits ? NULL : arcp__job_create(engine, &plan, &details, &error);
    }
    if (job == NULL && !waits) {
        refuse(engine, request, in, &error, &details);
    } else if (job != NULL) {
        arcp__policy_audit(engine, job, &notes);
        accept(engine, request, job, notes.size != 0, key);
    }
    arcp_buf_fini(&details);
    arcp_buf_fini(&notes);
    arcp__context_give_buf(&engine->context, &input);
}

/* What may have changed while it waited. */
static arcp_status check_admission(arcp__engine *engine, const arcp__admission *admission,
                                   const arcp__agent **agent, const arcp__agent_version **version,
                                   arcp_error *err)
{
    if (admission->error.status != ARCP_OK) {
        *err = admission->error;
        return err->status;
    }
    if (engine->context.stopping) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    if (arcp_lease_has_expiry(admission->lease) &&
        arcp_lease_expires_wall_ns(admission->lease) <= engine->context.now.wall_ns) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED,
                              "the lease expired while its credential was being provisioned");
    }
    arcp_status status = arcp__audit_check(engine->log, err);
    return status == ARCP_OK
               ? arcp__agent_resolve(engine, arcp_span_cstr(admission->agent), agent, version, err)
               : status;
}

void arcp__job_admit(arcp__engine *engine, arcp__admission *admission)
{
    const arcp__agent *agent = NULL;
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp__job *job = NULL;
    arcp__job_plan plan = {.principal = admission->principal,
                           .session = admission->session,
                           .features = admission->features,
                           .lease = admission->lease,
                           .agent_name = arcp_span_cstr(admission->agent_name),
                           .input = arcp_buf_span(&admission->input),
                           .key = arcp_span_cstr(admission->key),
                           .fingerprint = admission->print,
                           .trace_id = arcp_span_make(admission->trace_id, 32),
                           .trace = &admission->trace,
                           .tracestate = arcp_span_cstr(admission->tracestate),
                           .max_runtime_sec = admission->max_runtime_sec,
                           .admission = admission};
    if (check_admission(engine, admission, &agent, &plan.agent, &error) == ARCP_OK) {
        job = arcp__job_create(engine, &plan, &details, &error);
    }
    if (job == NULL) {
        arcp__span_refused(engine, admission, error.status);
        refuse_asked(engine, admission->request, arcp_span_cstr(admission->agent),
                     arcp_span_make(admission->trace_id, ARCP__TRACE_ID_SIZE), &error, &details);
    } else {
        arcp__policy_audit(engine, job, &admission->notes);
        arcp__credential_give(&admission->credential, &job->live->credential);
        accept(engine, admission->request, job, admission->notes.size != 0, plan.key);
    }
    arcp_buf_fini(&details);
    arcp__admission_free(engine, admission);
}

/* It waits for its turn; what waits is bounded like what runs. */
static void hold(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    if (request->session->held_submits < engine->context.settings.limits_jobs_per_session) {
        arcp__admission_hold(engine, request, in->submit.idempotency_key);
        return;
    }
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                         "too many submits wait for an answer (limits.jobs_per_session)");
    refuse_with(engine, request, in, &error, "limit", "limits.jobs_per_session");
}

/* What is answered from what there is needs none. */
static bool has_token(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    bool has = arcp__principal_may_submit(engine, request->session->principal, &details, &error) ==
               ARCP_OK;
    if (!has) {
        refuse(engine, request, in, &error, &details);
    }
    arcp_buf_fini(&details);
    return has;
}

void arcp__job_submit(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    uint8_t print[32] = {0};
    arcp_error error = {0};
    const arcp_span key = in->submit.idempotency_key;
    if (key.size > KEY_BYTES_MAX) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "payload.idempotency_key has %zu bytes, may have %u", key.size,
                             KEY_BYTES_MAX);
        refuse_with(engine, request, in, &error, NULL, NULL);
        return;
    }
    if (request->session->submits_first != request ||
        arcp__admission_has_key(request->session->principal, key)) {
        hold(engine, request, in);
        return;
    }
    if (key.size != 0) {
        if (!fingerprint(engine, &in->submit, print) ||
            handled_by_key(engine, request, in, print)) {
            return;
        }
    }
    if (!has_token(engine, request, in)) {
        return;
    }
    arcp_lease *parsed = NULL;
    if (arcp__job_read_lease(engine, &engine->context.json, in->submit.lease_request,
                             in->submit.lease_constraints, &parsed, &error) != ARCP_OK) {
        refuse_with(engine, request, in, &error, NULL, NULL);
        return;
    }
    const arcp_lease *lease = parsed;
    submit_lease(engine, request, in, &lease, print);
    arcp_lease_unref(lease);
}
