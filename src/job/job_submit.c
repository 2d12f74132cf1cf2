/* Makes a job of an order, or refuses it: for submits (§7.1, §7.2), and for all orders that had to
 * wait.
 *
 * The idempotency key is looked up before every check that depends on the time or the registered
 * agents, so that a retry gets its job even after a default version changed or an expiry passed. A
 * refused order leaves nothing behind, not even its key. A job that gets a credential is made when
 * that was issued (admission.c). */
#include "job/job_state.h"

#include <stdio.h>

#define ACCEPTED_BYTES 256u /* enough for most */

/* ---- the requested lease ---- */

/* [arcp:9.5-3] [arcp:LB-7] */
arcp_status arcp__job_read_lease(const arcp__jobs *jobs, const arcp__job_order *order,
                                 arcp_lease **out, arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp_lease_limits limits = {
        .struct_size = sizeof limits,
        .patterns_max = (size_t)settings->limits_lease_patterns,
        .bytes_max = (size_t)settings->limits_lease_bytes,
        .pattern_bytes_max = (size_t)settings->limits_pattern_bytes,
        .pattern_wildcards_max = (size_t)settings->limits_pattern_wildcards,
    };
    const arcp_status status = arcp_lease_from_json(order->json, order->lease_request,
                                                    order->lease_constraints, &limits, out, err);
    if (status == ARCP_OK && arcp_lease_has_expiry(*out) &&
        arcp_lease_expires_wall_ns(*out) <= jobs->context->now.wall_ns) {
        arcp_lease_unref(*out);
        *out = NULL;
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "lease_constraints.expires_at is not in the future");
    }
    return status;
}

/* ---- making a job ---- */

/* Writes the text and returns its position. */
static arcp__piece write_piece(arcp_json_writer *writer, arcp_buf *text)
{
    arcp__write_formatted(writer, text);
    const size_t end = writer->out->size;
    return (arcp__piece){.at = (uint32_t)(end - text->size), .size = (uint32_t)text->size};
}

/* [arcp:7.1-2] [arcp:7.5-8] [arcp:LA-10] */
static void write_accepted(arcp__jobs *jobs, arcp__job *job, arcp_json_writer *writer)
{
    const arcp_lease *lease = job->live->lease;
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "job_id", job->id);
    arcp__put_cstr(writer, "agent", job->agent_text);
    arcp_json_name(writer, "lease");
    arcp_lease_format(lease, &text);
    job->lease = write_piece(writer, &text);
    if (arcp_lease_has_expiry(lease)) {
        arcp_buf_clear(&text);
        arcp_json_name(writer, "lease_constraints");
        arcp_lease_format_constraints(lease, &text);
        job->constraints = write_piece(writer, &text);
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp__context_give_buf(jobs->context, &text);
    if ((job->features & ARCP_FEATURE_BIT(ARCP_FEATURE_COST_BUDGET)) != 0) {
        arcp__job_write_budget(job, false, false, writer);
    }
    arcp__write_timestamp(writer, "accepted_at", job->created_wall_ns);
    arcp__put_cstr(writer, "trace_id", job->trace_id);
    if (job->parent_id[0] != '\0') {
        arcp__put_cstr(writer, "parent_job_id", job->parent_id);
        arcp__put_cstr(writer, "delegate_id", job->live->delegate_id);
    }
    arcp_json_end_object(writer);
}

/* Copies a text; an empty one becomes NULL. */
static bool copy_any(char **to, arcp_span text)
{
    *to = text.size == 0 ? NULL : arcp__copy_cstr(text.data, text.size);
    return *to != NULL || text.size == 0;
}

/* Copies the order into the job. */
static bool copy_order(const arcp__job_order *order, arcp__job *job)
{
    arcp__job_live *live = job->live;
    job->features = order->features;
    live->max_runtime_sec = order->max_runtime_sec;
    live->lease = arcp_lease_ref(order->lease);
    (void)snprintf(job->session_id, sizeof job->session_id, "%s", order->submitter->session_id);
    memcpy(job->trace_id, order->trace_id.data, ARCP__TRACE_ID_SIZE);
    live->trace = *order->trace;
    if (order->parent != NULL) {
        memcpy(job->parent_id, order->parent->id, sizeof job->parent_id);
        job->depth = order->parent->depth + 1;
    }
    return copy_any(&job->agent_text, arcp_span_cstr(order->agent->text)) &&
           copy_any(&live->input, order->input) &&
           copy_any(&live->delegate_id, order->delegate_id) &&
           copy_any(&live->tracestate, order->tracestate);
}

/* Completes a job that has only its id and its stream. */
static arcp_status fill(arcp__jobs *jobs, const arcp__job_order *order, arcp__job *job,
                        arcp_buf *details, arcp_error *err)
{
    if (!copy_order(order, job)) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
    }
    arcp__job_site site;
    const arcp_span endpoint = order->admission == NULL
                                   ? arcp_span_make(NULL, 0)
                                   : arcp__credential_endpoint(&order->admission->credential);
    arcp_status status = arcp__job_find_site(jobs, order, job->id, endpoint, &site, details, err);
    if (status == ARCP_OK) {
        arcp__job_set_site(job, &site);
        arcp__job_place_on_worker(jobs, job, order->agent->worker);
        status = arcp__job_make_authority(jobs, job, order->parent, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp_buf accepted = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer;
    (void)arcp_buf_reserve(&accepted, ACCEPTED_BYTES);
    arcp_json_writer_init(&writer, &accepted);
    write_accepted(jobs, job, &writer);
    /* Copied to its exact size: jobs are kept long after they ended. */
    const size_t size = accepted.size;
    job->accepted = accepted.failed ? NULL : arcp__copy_cstr(accepted.data, size);
    arcp__context_give_buf(jobs->context, &accepted);
    if (job->accepted == NULL) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
    }
    if (!arcp__frame_fits_job(jobs->context, size)) {
        if (details != NULL) {
            arcp_buf_append(details, ARCP__FRAME_LIMIT);
        }
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "job.accepted is too large for one frame (limits.frame_bytes)");
    }
    if (order->key.size == 0) {
        return ARCP_OK;
    }
    status = arcp__idempotency_check(jobs, order->principal, size, details, err);
    if (status == ARCP_OK) {
        arcp__idempotency_add(jobs, job, order->key, order->fingerprint);
    }
    return status;
}

arcp__job *arcp__job_create(arcp__jobs *jobs, const arcp__job_order *order, arcp_buf *details,
                            arcp_error *err)
{
    const arcp__admission *admission = order->admission;
    arcp__job *job =
        arcp__job_new(jobs, order->principal,
                      admission == NULL ? (arcp_span){NULL, 0} : arcp_span_cstr(admission->job_id));
    if (job == NULL) {
        (void)arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
        return NULL;
    }
    const int64_t now_ns = jobs->context->now.wall_ns;
    job->created_wall_ns =
        admission == NULL ? now_ns - now_ns % ARCP_NS_PER_MS : admission->created_wall_ns;
    if (fill(jobs, order, job, details, err) != ARCP_OK) {
        arcp__job_drop(jobs, job);
        return NULL;
    }
    job->facts.expires_wall_ns = arcp_lease_expires_wall_ns(order->lease);
    arcp__job_format_head(job);
    if (jobs->log->options.keeps_rows) {
        arcp__batch_touch(jobs->log); /* arcp__job_start puts its row into this batch */
    }
    arcp__metrics_job_began(jobs, job);
    jobs->metrics.began_count++;
    arcp__job_changed(jobs, job);
    return job;
}

/* ---- submits ---- */

/* A request may only use what was negotiated (§6.2). [arcp:6.2-4] */
arcp_status arcp__job_check_features(const arcp__job_order *order, arcp_error *err)
{
    const arcp_span agent = order->requested_agent;
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

/* The checks before anything is made. [arcp:7.1-1] */
static arcp_status check(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *details,
                         arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp__submitter *submitter = order->submitter;
    arcp_status status = arcp__agent_resolve(jobs, order->requested_agent, &order->agent, err);
    if (status != ARCP_OK) {
        return status;
    }
    order->agent_name = arcp_span_cstr(order->agent->name);
    status = arcp__job_check_features(order, err);
    if (status != ARCP_OK) {
        return status;
    }
    const char *limit = NULL;
    const char *what = "too many running jobs";
    if (submitter->live_jobs + submitter->admission_count >= settings->limits_jobs_per_session) {
        limit = "limits.jobs_per_session";
    } else if (order->principal->running_jobs >= settings->limits_jobs_per_principal) {
        limit = "limits.jobs_per_principal";
    } else if (settings->limits_principal_bytes != 0 &&
               arcp__kept_at_least(jobs, order->principal) >= settings->limits_principal_bytes) {
        limit = "limits.principal_bytes";
        what = "the principal's running jobs have stored too much";
    }
    if (limit != NULL) {
        arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "%s (%s)", what, limit);
    }
    if (order->key.size != 0) {
        /* Checked before a credential is requested; the size of the response is not known yet. */
        status = arcp__idempotency_check(jobs, order->principal, 0, details, err);
    }
    if (status == ARCP_OK && jobs->context->stopping) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    return status == ARCP_OK ? arcp__audit_check(jobs->log, err) : status;
}

/* [arcp:7.2-1] [arcp:7.2-2] */
arcp__job_outcome arcp__job_submit(arcp__jobs *jobs, arcp__job_order *order,
                                   arcp__job_answer *answer, arcp_error *err)
{
    if (order->key.size != 0) {
        const arcp__idempotency *entry = arcp__idempotency_find(jobs, order->principal, order->key);
        if (entry != NULL && memcmp(entry->fingerprint, order->fingerprint, 32) == 0) {
            answer->job_id = entry->job_id;
            answer->accepted = arcp__idempotency_accepted(entry);
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
    if (arcp__principal_may_submit(jobs, order->principal, &answer->details, err) != ARCP_OK ||
        arcp__job_read_lease(jobs, order, &lease, err) != ARCP_OK) {
        return ARCP__JOB_REFUSED;
    }
    order->lease = lease;
    order->lease_work.left = jobs->context->settings.limits_lease_steps;
    arcp__job_outcome outcome = ARCP__JOB_REFUSED;
    arcp_buf input = arcp__context_take_buf(jobs->context);
    arcp_buf notes = arcp_buf_init();
    arcp_status status = check(jobs, order, &answer->details, err);
    if (status == ARCP_OK) {
        arcp_json_compact(order->json, order->requested_input, &input);
        order->input = input.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&input);
        status = arcp__job_check_place(jobs, order, &answer->details, err);
    }
    if (status == ARCP_OK) {
        status = arcp__policy_apply(jobs, order, &notes, &answer->details, err);
    }
    if (status == ARCP_OK &&
        arcp__admission_is_needed(jobs, order, false, &notes, &answer->admission)) {
        outcome = ARCP__JOB_WAITS;
    } else if (status == ARCP_OK) {
        answer->job = arcp__job_create(jobs, order, &answer->details, err);
        if (answer->job != NULL) {
            outcome = ARCP__JOB_MADE;
            answer->is_narrowed = notes.size != 0;
            arcp__policy_audit(jobs, answer->job, &notes);
        }
    }
    arcp_lease_unref(order->lease);
    arcp_buf_fini(&notes);
    arcp__context_give_buf(jobs->context, &input);
    return outcome;
}

/* Checks what may have changed while the order waited. */
static arcp_status check_again(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *details,
                               arcp_error *err)
{
    const arcp__job *parent = order->parent;
    if (order->admission->error.status != ARCP_OK) {
        arcp_buf_append(details, arcp_buf_span(&order->admission->details));
        return arcp_error_copy(err, &order->admission->error);
    }
    if (jobs->context->stopping) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
    }
    if (parent != NULL && arcp_authority_is_expired(parent->live->authority, jobs->context->now)) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED, "the job's lease has expired");
    }
    if (parent == NULL && arcp_lease_has_expiry(order->lease) &&
        arcp_lease_expires_wall_ns(order->lease) <= jobs->context->now.wall_ns) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED,
                              "the lease expired while its credential was being provisioned");
    }
    arcp_status status = arcp__audit_check(jobs->log, err);
    if (status == ARCP_OK) {
        status = arcp__agent_resolve(jobs, order->requested_agent, &order->agent, err);
    }
    return status == ARCP_OK ? arcp__job_check_place(jobs, order, details, err) : status;
}

arcp__job_outcome arcp__job_admit(arcp__jobs *jobs, arcp__admission *admission,
                                  arcp__job_order *order, arcp__job_answer *answer, arcp_error *err)
{
    if (check_again(jobs, order, &answer->details, err) == ARCP_OK) {
        answer->job = arcp__job_create(jobs, order, &answer->details, err);
    }
    if (answer->job == NULL) {
        arcp__span_refused(jobs, admission, err->status);
        return ARCP__JOB_REFUSED;
    }
    arcp__credential_move(&admission->credential, &answer->job->live->credential);
    answer->is_narrowed = admission->notes.size != 0;
    arcp__policy_audit(jobs, answer->job, &admission->notes);
    return ARCP__JOB_MADE;
}
