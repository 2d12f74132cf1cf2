/* Making a job: what a submit (job_submit.c) and a delegation (job_delegate.c) share, from an
 * order to a job with its authority, its job.accepted payload, its stream and its row. */
#include "engine/parts.h"

#include <stdio.h>

#include "core/trace.h"
#include "json/json_put.h"

#define ACCEPTED_BYTES 256u /* most have less */

/* ---- the lease that is asked for ---- */

/* [arcp:9.5-3] [arcp:LB-7] */
arcp_status arcp__job_read_lease(const arcp__engine *engine, const arcp_json *json,
                                 arcp_json_ref lease, arcp_json_ref constraints, arcp_lease **out,
                                 arcp_error *err)
{
    const arcp_settings *settings = &engine->context.settings;
    const arcp_lease_limits limits = {
        .patterns_max = (size_t)settings->limits_lease_patterns,
        .bytes_max = (size_t)settings->limits_lease_bytes,
        .pattern_bytes_max = (size_t)settings->limits_pattern_bytes,
        .pattern_wildcards_max = (size_t)settings->limits_pattern_wildcards,
    };
    arcp_status status = arcp_lease_from_json(json, lease, constraints, &limits, out, err);
    if (status == ARCP_OK && arcp_lease_has_expiry(*out) &&
        arcp_lease_expires_wall_ns(*out) <= engine->context.now.wall_ns) {
        arcp_lease_unref(*out);
        *out = NULL;
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "lease_constraints.expires_at is not in the future");
    }
    return status;
}

/* ---- the job.accepted payload ---- */

/* Where it came to stand. */
static arcp__piece write_piece(arcp_json_writer *writer, arcp_buf *text)
{
    arcp__write_formatted(writer, text);
    const size_t end = writer->out->size;
    return (arcp__piece){.at = (uint32_t)(end - text->size), .size = (uint32_t)text->size};
}

/* [arcp:7.1-2] [arcp:7.5-8] [arcp:LA-10] */
static void write_accepted(arcp__engine *engine, arcp__job *job, arcp_json_writer *writer)
{
    const arcp_lease *lease = job->live->lease;
    arcp_buf text = arcp__context_take_buf(&engine->context);
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
    arcp__context_give_buf(&engine->context, &text);
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

/* ---- making a job ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

/* What is empty stays NULL. */
static bool copy_any(char **to, arcp_span text)
{
    return text.size == 0 || copy_text(to, text);
}

static bool make_cwd(const arcp__engine *engine, const arcp__job_order *order, arcp__job *job)
{
    if (order->agent->cwd[0] != '\0' || engine->options.work_directory.size == 0) {
        return copy_any(&job->live->cwd, arcp_span_cstr(order->agent->cwd));
    }
    arcp_buf path = ARCP_BUF_INIT;
    arcp_buf_append(&path, engine->options.work_directory);
    arcp_buf_append_byte(&path, '/');
    arcp_buf_append_cstr(&path, job->id);
    job->live->cwd = arcp_buf_take_cstr(&path);
    arcp_buf_fini(&path);
    job->live->owns_cwd = true;
    return job->live->cwd != NULL;
}

static arcp_status make_authority(arcp__engine *engine, const arcp__job_order *order,
                                  arcp__job *job, arcp_error *err)
{
    arcp_budget *above =
        order->parent == NULL ? NULL : arcp_authority_budget(order->parent->live->authority);
    arcp_budget *budget = NULL;
    arcp_status status = arcp_budget_new(order->lease, above, &budget, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.budget = budget;
    options.now = engine->context.now;
    options.expiry_grace_ns =
        (int64_t)engine->context.settings.lease_expiry_grace_ms * ARCP_NS_PER_MS;
    options.cwd = arcp_span_cstr(job->live->cwd);
    options.model_use_required = engine->context.settings.model_use_required == ARCP_CHOICE_TRUE;
    options.parent = order->parent == NULL ? NULL : order->parent->live->authority;
    arcp_authority *authority = NULL;
    status = arcp_authority_new(order->lease, &options, &authority, err);
    job->live->authority = authority;
    job->live->port.authority = authority;
    job->live->port.gates = arcp__audit_gates(engine->log);
    job->live->credential =
        (arcp__credential_slot){.owner = job, .lease = order->lease, .budget = budget};
    arcp__job_take_budget(job, budget);
    return status;
}

static bool copy_order(const arcp__job_order *order, arcp__job *job)
{
    job->live->host = order->agent->host;
    job->features = order->features;
    job->live->max_runtime_sec = order->max_runtime_sec;
    job->live->lease = arcp_lease_ref(order->lease);
    (void)snprintf(job->session_id, sizeof job->session_id, "%s", order->submitter->session_id);
    memcpy(job->trace_id, order->trace_id.data, ARCP__TRACE_ID_SIZE);
    job->live->trace = *order->trace;
    if (order->parent != NULL) {
        memcpy(job->parent_id, order->parent->id, sizeof(job->parent_id));
        job->depth = order->parent->depth + 1;
    }
    return copy_text(&job->agent_text, arcp_span_cstr(order->agent->text)) &&
           copy_text(&job->live->input, order->input) &&
           copy_any(&job->live->delegate_id, order->delegate_id) &&
           copy_any(&job->live->tracestate, order->tracestate);
}

static bool format_accepted(arcp__engine *engine, arcp__job *job)
{
    arcp_buf accepted = arcp__context_take_buf(&engine->context);
    arcp_json_writer writer;
    (void)arcp_buf_reserve(&accepted, ACCEPTED_BYTES);
    arcp_json_writer_init(&writer, &accepted);
    write_accepted(engine, job, &writer);
    /* A copy has no more bytes than it needs: jobs are kept long after they ended. */
    job->accepted = accepted.failed ? NULL : arcp__copy_cstr(accepted.data, accepted.size);
    arcp__context_give_buf(&engine->context, &accepted);
    return job->accepted != NULL;
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
}

/* Everything that the order says, in a job that has only its id and its stream. */
static arcp_status fill(arcp__engine *engine, const arcp__job_order *order, arcp__job *job,
                        arcp_buf *details, arcp_error *err)
{
    if (!copy_order(order, job) || !make_cwd(engine, order, job)) {
        return no_memory(err);
    }
    arcp_status status = make_authority(engine, order, job, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!format_accepted(engine, job)) {
        return no_memory(err);
    }
    const size_t accepted_size = arcp_span_cstr(job->accepted).size;
    if (!arcp__frame_fits_job(&engine->context, accepted_size)) {
        if (details != NULL) {
            arcp_buf_append(details, ARCP__FRAME_LIMIT);
        }
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "job.accepted is too large for one frame (limits.frame_bytes)");
    }
    if (order->key.size != 0) {
        status = arcp__idempotency_check(engine, order->principal, accepted_size, details, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp__job_note_head(job);
    if (order->key.size != 0) {
        arcp__idempotency_add(engine, job, order->key, order->fingerprint);
    }
    arcp__job_store(engine, job);
    arcp__metrics_job_began(engine, job);
    return ARCP_OK;
}

arcp__job *arcp__job_create(arcp__engine *engine, const arcp__job_order *order, arcp_buf *details,
                            arcp_error *err)
{
    arcp__job *job = arcp__job_new(engine, order->principal, order->admission);
    if (job == NULL) {
        (void)no_memory(err);
        return NULL;
    }
    if (fill(engine, order, job, details, err) != ARCP_OK) {
        arcp__job_free(engine, job);
        return NULL;
    }
    return job;
}
