/* From an order to a job, or to the reason why there is none: of submits (§7.1, §7.2), and of all
 * orders that had to wait.
 *
 * The idempotency key is looked up before every check that depends on time or registry, so that a
 * retry gets its job back although a default version changed or an expiry passed. A refused order
 * leaves nothing behind, not its key either. A job that gets a credential is made when that was
 * issued (admission.c). */
#include "engine/parts.h"

/* A request may only use what was negotiated (§6.2). [arcp:6.2-4] */
static arcp_status check_features(const arcp__job_order *order, arcp_error *err)
{
    const arcp_span agent = order->asked_agent;
    const struct {
        bool used;
        arcp_feature feature;
        const char *what;
    } uses[] = {
        {memchr(agent.data, '@', agent.size) != NULL, ARCP_FEATURE_AGENT_VERSIONS,
         "an agent version"},
        {arcp_lease_has_expiry(order->lease), ARCP_FEATURE_LEASE_EXPIRES_AT, "expires_at"},
        {arcp_lease_names(order->lease, ARCP_SPAN_LITERAL("cost.budget")), ARCP_FEATURE_COST_BUDGET,
         "cost.budget"},
        {arcp_lease_names(order->lease, ARCP_SPAN_LITERAL("model.use")), ARCP_FEATURE_MODEL_USE,
         "model.use"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        if (uses[i].used && (order->features & ARCP_FEATURE_BIT(uses[i].feature)) == 0) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "%s needs the feature \"%s\", which was not negotiated",
                                  uses[i].what, arcp_feature_name(uses[i].feature));
        }
    }
    return ARCP_OK;
}

static arcp_status check_caps(const arcp__engine *engine, const arcp__job_order *order,
                              arcp_buf *details, arcp_error *err)
{
    const arcp_settings *settings = &engine->context.settings;
    const arcp__submitter *submitter = order->submitter;
    const char *limit = NULL;
    const char *what = "too many running jobs";
    if (submitter->live_jobs + submitter->admission_count >= settings->limits_jobs_per_session) {
        limit = "limits.jobs_per_session";
    } else if (order->principal->running_jobs >= settings->limits_jobs_per_principal) {
        limit = "limits.jobs_per_principal";
    } else if (!arcp__principal_has_room(engine, order->principal)) {
        limit = "limits.principal_bytes";
        what = "the principal's running jobs have said too much";
    }
    if (limit == NULL) {
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "%s (%s)", what, limit);
}

/* What can be said before anything is made. [arcp:7.1-1] */
static arcp_status check(arcp__engine *engine, arcp__job_order *order, arcp_buf *details,
                         arcp_error *err)
{
    const arcp__agent *agent = NULL;
    arcp_status status =
        arcp__agent_resolve(engine, order->asked_agent, &agent, &order->agent, err);
    if (status == ARCP_OK) {
        order->agent_name = arcp_span_cstr(agent->name);
        status = check_features(order, err);
    }
    if (status == ARCP_OK) {
        status = check_caps(engine, order, details, err);
    }
    if (status == ARCP_OK && order->key.size != 0) {
        /* Before a credential is asked for; how long the answer is is not known yet. */
        status = arcp__idempotency_check(engine, order->principal, 0, details, err);
    }
    if (status == ARCP_OK && engine->context.stopping) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    return status == ARCP_OK ? arcp__audit_check(engine->log, err) : status;
}

/* [arcp:7.2-1] [arcp:7.2-2] */
arcp__job_outcome arcp__job_submit(arcp__engine *engine, arcp__job_order *order,
                                   arcp__job_answer *answer, arcp_error *err)
{
    if (order->key.size != 0) {
        const arcp__idempotency *entry =
            arcp__idempotency_find(engine, order->principal, order->key);
        if (entry != NULL && memcmp(entry->fingerprint, order->fingerprint, 32) == 0) {
            answer->entry = entry;
            return ARCP__JOB_SAME_KEY;
        }
        if (entry != NULL) {
            arcp_buf_append_format(&answer->details, "{\"job_id\":\"%s\"}", entry->job_id);
            (void)arcp_error_set(err, ARCP_E_DUPLICATE_KEY,
                                 "idempotency_key was used for other parameters");
            return ARCP__JOB_REFUSED;
        }
    }
    arcp_lease *lease = NULL;
    if (arcp__principal_may_submit(engine, order->principal, &answer->details, err) != ARCP_OK ||
        arcp__job_read_lease(engine, order->json, order->lease_request, order->lease_constraints,
                             &lease, err) != ARCP_OK) {
        return ARCP__JOB_REFUSED;
    }
    order->lease = lease;
    order->lease_work.left = engine->context.settings.limits_lease_steps;
    arcp__job_outcome outcome = ARCP__JOB_REFUSED;
    arcp_buf input = arcp__context_take_buf(&engine->context);
    arcp_buf notes = ARCP_BUF_INIT;
    arcp_status status = check(engine, order, &answer->details, err);
    if (status == ARCP_OK) {
        arcp_json_compact(order->json, order->asked_input, &input);
        order->input = input.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&input);
        status = arcp__policy_apply(engine, order, &notes, &answer->details, err);
    }
    if (status == ARCP_OK &&
        arcp__admission_is_needed(engine, order, false, &notes, &answer->admission)) {
        outcome = ARCP__JOB_WAITS;
    } else if (status == ARCP_OK) {
        answer->job = arcp__job_create(engine, order, &answer->details, err);
        if (answer->job != NULL) {
            outcome = ARCP__JOB_MADE;
            answer->is_narrowed = notes.size != 0;
            arcp__policy_audit(engine, answer->job, &notes);
        }
    }
    arcp_lease_unref(order->lease);
    arcp_buf_fini(&notes);
    arcp__context_give_buf(&engine->context, &input);
    return outcome;
}

/* What may have changed while it waited. */
static arcp_status check_again(arcp__engine *engine, const arcp__admission *admission,
                               arcp__job_order *order, arcp_error *err)
{
    const arcp__agent *agent = NULL;
    const arcp__job *parent = admission->parent;
    if (admission->error.status != ARCP_OK) {
        *err = admission->error;
        return err->status;
    }
    if (engine->context.stopping) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    if (parent != NULL && arcp_authority_is_expired(parent->live->authority, engine->context.now)) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED, "the job's lease has expired");
    }
    if (parent == NULL && arcp_lease_has_expiry(admission->lease) &&
        arcp_lease_expires_wall_ns(admission->lease) <= engine->context.now.wall_ns) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED,
                              "the lease expired while its credential was being provisioned");
    }
    arcp_status status = arcp__audit_check(engine->log, err);
    return status == ARCP_OK
               ? arcp__agent_resolve(engine, order->asked_agent, &agent, &order->agent, err)
               : status;
}

arcp__job_outcome arcp__job_admit(arcp__engine *engine, arcp__admission *admission,
                                  arcp__job_order *order, arcp__job_answer *answer, arcp_error *err)
{
    if (check_again(engine, admission, order, err) == ARCP_OK) {
        answer->job = arcp__job_create(engine, order, &answer->details, err);
    }
    if (answer->job == NULL) {
        arcp__span_refused(engine, admission, err->status);
        return ARCP__JOB_REFUSED;
    }
    arcp__credential_give(&admission->credential, &answer->job->live->credential);
    answer->is_narrowed = admission->notes.size != 0;
    arcp__policy_audit(engine, answer->job, &admission->notes);
    return ARCP__JOB_MADE;
}
