/* Delegation (§10): an agent gives a part of its lease to a child job.
 *
 * Every child is checked here: agent.delegate must cover the agent, and the child's lease must be
 * derivable from what the parent holds at this moment, else the delegation is refused with a
 * witness. The child then runs under that lease like any other job. A child that gets its own
 * credential is made when that was issued (admission.c). */
#include "job/job_state.h"

#include <stdio.h>

#include "core/lease_subset.h"

#define DELEGATE_ID_MAX 256u /* bytes; the rest is cut off */

/* Reads the delegate body into the order. */
static arcp_status read_body(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                             arcp__job_order *order, arcp_error *err)
{
    arcp__event_body asked;
    arcp__decoder decoder = {.json = json, .scratch = scratch, .where = "body"};
    const arcp_status status =
        arcp__event_body_read(&decoder, ARCP_EVENT_DELEGATE, body, &asked, err);
    order->requested_agent = asked.agent;
    order->json = json;
    order->requested_input = asked.input;
    order->lease_request = asked.lease_request;
    order->lease_constraints = asked.lease_constraints;
    order->body = body;
    order->delegate_id = arcp_span_first(asked.delegate_id, DELEGATE_ID_MAX);
    order->waits_for_end = arcp_json_is(json, asked.wait, ARCP_JSON_TRUE);
    return status;
}

static arcp_status over_limit(const char *limit, arcp_buf *details, arcp_error *err)
{
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return arcp_error_set(err, ARCP_E_LEASE_SUBSET_VIOLATION, "the delegation exceeds %s", limit);
}

/* The seconds left until the parent's deadline, rounded up; 0 when it has none. */
static uint64_t runtime_left(const arcp__jobs *jobs, const arcp__job *parent)
{
    if (parent->live->runtime_timer.place == 0) {
        return 0;
    }
    const int64_t left = parent->live->runtime_timer.at_ns - jobs->context->now.mono_ns;
    return left <= 0 ? 1 : (uint64_t)((left + ARCP_NS_PER_SEC - 1) / ARCP_NS_PER_SEC);
}

/* Checks the order and narrows its lease to what is allowed; the caller unrefs order->lease.
 * [arcp:9.4-3] [arcp:9.8.2-12] [arcp:LA-13] [arcp:DR-1] [arcp:DR-5] */
static arcp_status check(arcp__jobs *jobs, arcp__job *parent, arcp__job_order *order,
                         arcp_buf *notes, arcp_buf *details, arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp_authority *authority = parent->live->authority;
    arcp_status status = arcp__agent_resolve(jobs, order->requested_agent, &order->agent, err);
    if (status != ARCP_OK) {
        return status;
    }
    order->agent_name = arcp_span_cstr(order->agent->name);
    /* agent.delegate must cover the resolved agent; expiry and budgets are checked first, as for
     * every operation. A grant is audited with the delegation. */
    arcp_target_scratch scratch;
    arcp_decision decision;
    if (!arcp_authorize_delegate(authority, jobs->context->now, order->agent_name,
                                 arcp_span_cstr(order->agent->version), &scratch, &decision)) {
        arcp__decision_error(authority, &decision, details, err);
        arcp__job_record_decision(jobs, parent, &decision);
        return err->status;
    }
    if (parent->depth >= settings->limits_delegation_depth) {
        return over_limit("limits.delegation_depth", details, err);
    }
    if (parent->live_children + parent->admissions >= settings->limits_children_per_job) {
        return over_limit("limits.children_per_job", details, err);
    }
    if (parent->principal->running_jobs >= settings->limits_jobs_per_principal) {
        arcp_buf_append_cstr(details, "{\"limit\":\"limits.jobs_per_principal\"}");
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              "too many running jobs (limits.jobs_per_principal)");
    }
    if (parent->submitter == NULL) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the job's session has ended");
    }
    status = arcp__job_check_place(jobs, order, details, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_lease *request = NULL;
    arcp_lease *derived = NULL;
    status = arcp__audit_check(jobs->log, err);
    if (status == ARCP_OK) {
        status = arcp__job_read_lease(jobs, order, &request, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__lease_derive(authority, request, &order->lease_work, &derived, details, err);
    arcp_lease_unref(request);
    order->lease = derived;
    if (status != ARCP_OK) {
        return status == ARCP_E_LIMIT ? arcp__lease_too_complex(details, err) : status;
    }
    return arcp__policy_apply(jobs, order, notes, details, err);
}

static void audit(arcp__jobs *jobs, const arcp__job *parent, const arcp__job *child,
                  const arcp__job_order *order, arcp_status status)
{
    const bool made = child != NULL;
    const arcp_span parent_id = arcp_span_cstr(parent->id);
    arcp__audit(jobs->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_DELEGATION,
                                    .decision = made ? "allowed" : "denied",
                                    .who = arcp__job_who(made ? child : parent),
                                    .code = status,
                                    .rule = "agent.delegate, lease of the parent",
                                    .target = order->requested_agent,
                                    .lease = made ? child->live->lease : NULL,
                                    .parent_lease = parent->live->lease,
                                    .more = {{"delegate_id", order->delegate_id},
                                             {made ? NULL : "parent_job_id", parent_id}}});
}

static void emit_delegate(arcp__jobs *jobs, arcp__job *parent, const arcp__job *child,
                          const arcp__job_order *order)
{
    arcp_buf event = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&event);
    arcp__put_string(&writer, "delegate_id", order->delegate_id);
    arcp__put_cstr(&writer, "child_job_id", child->id);
    arcp__put_cstr(&writer, "agent", child->agent_text);
    arcp__put_raw(&writer, "input", order->input);
    arcp_json_name(&writer, "lease");
    arcp_lease_format(child->live->lease, &text);
    arcp__write_formatted(&writer, &text);
    const struct {
        const char *name;
        arcp_json_ref ref;
    } echoed[] = {{"lease_request", order->lease_request},
                  {"lease_constraints", order->lease_constraints}};
    for (size_t i = 0; i < sizeof echoed / sizeof echoed[0]; i++) {
        arcp_buf_clear(&text);
        if (!arcp_json_is_missing(order->json, echoed[i].ref)) {
            arcp_json_compact(order->json, echoed[i].ref, &text);
            arcp_json_name(&writer, echoed[i].name);
            arcp__write_formatted(&writer, &text);
        }
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &event);
    arcp__context_check_text(jobs->context, &text);
    arcp__job_emit_event(jobs, parent, ARCP_FEATURE_NONE, ARCP_SPAN_LITERAL("delegate"),
                         arcp_buf_span(&event));
    arcp_buf_fini(&text);
    arcp_buf_fini(&event);
}

/* Announces the new child and starts it; both take effect when it is durable. [arcp:DR-6] */
static void begin(arcp__jobs *jobs, arcp__job *parent, arcp__job *child,
                  const arcp__job_order *order)
{
    child->parent = parent;
    arcp__job_pin(parent);
    LL_PREPEND2(parent->children, child, next_child);
    parent->live_children++;
    parent->facts.children++;
    arcp__job_changed(jobs, parent);
    audit(jobs, parent, child, order, ARCP_OK);
    parent->submitter->ops->child(jobs->user, parent->submitter, child);
    emit_delegate(jobs, parent, child, order);
    const bool waits = order->waits_for_end && order->reply_to.size != 0;
    if (waits) {
        child->live->wait_reply = arcp__copy_cstr(order->reply_to.data, order->reply_to.size);
        child->live->wait_item = arcp__item_of(parent);
        if (child->live->wait_reply == NULL) {
            arcp__context_no_memory(jobs->context);
        }
        if (child->live->wait_item != 0) { /* the parent may outlive a restart */
            arcp__job_store_with_batch(jobs, child, ARCP__ROW_LIVE);
        }
        arcp__place_lend(&jobs->placement, &parent->live->place);
    }
    arcp__job_start(jobs, child);
    if (!waits) {
        char reply[ARCP__ID_SIZE + 16];
        (void)snprintf(reply, sizeof reply, "{\"job_id\":\"%s\"}", child->id);
        arcp__agent_reply(jobs, parent, order->reply_to, arcp_span_cstr(reply));
    }
}

void arcp__job_admit_child(arcp__jobs *jobs, arcp__admission *admission)
{
    arcp__job_order order = admission->order;
    arcp__job *parent = order.parent;
    arcp__job_answer answer = {0};
    arcp_error error = {0};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    const uint64_t item = admission->item;
    arcp__item_reopen(jobs, parent, item);
    if (arcp_json_scan(&json, admission->body, &limits, &error) == ARCP_OK &&
        read_body(&json, ARCP_JSON_ROOT, &scratch, &order, &error) == ARCP_OK) {
        order.requested_agent = admission->order.requested_agent;
        order.delegate_id = admission->order.delegate_id;
        order.max_runtime_sec = runtime_left(jobs, parent);
        (void)arcp__job_admit(jobs, admission, &order, &answer, &error);
    }
    if (answer.job != NULL) {
        begin(jobs, parent, answer.job, &order);
    } else {
        audit(jobs, parent, NULL, &order, error.status);
        arcp__id_set_remove(&parent->live->delegate_ids, order.delegate_id);
        const arcp_span details = arcp__details(&answer.details);
        arcp__job_emit_denial(jobs, parent, order.delegate_id, &error, details);
        if (order.reply_to.size != 0) {
            arcp__agent_reply_error(jobs, parent, order.reply_to, &error, details);
        }
    }
    arcp_buf_fini(&answer.details);
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
    arcp__job_pin(parent);
    arcp__admission_free(jobs, admission);
    if (error.status != ARCP_OK) {
        arcp__job_after_denial(jobs, parent, error.status);
    }
    arcp__item_done(jobs, parent, item);
    arcp__job_unpin(parent);
}

/* [arcp:10-1] */
arcp_status arcp__job_delegate(arcp__jobs *jobs, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *details,
                               arcp_error *err)
{
    char fresh_id[ARCP__ID_SIZE];
    arcp__trace trace;
    arcp__job_order order = {.submitter = parent->submitter,
                             .principal = parent->principal,
                             .features = parent->features,
                             .max_runtime_sec = runtime_left(jobs, parent),
                             .trace_id = arcp_span_make(parent->trace_id, ARCP__TRACE_ID_SIZE),
                             .trace = &trace,
                             .tracestate = arcp_span_cstr(parent->live->tracestate),
                             .parent = parent,
                             .reply_to = reply_to,
                             .lease_work = {jobs->context->settings.limits_lease_steps}};
    arcp_status status = read_body(json, body, &jobs->context->scratch, &order, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (order.delegate_id.size == 0) {
        arcp__context_make_id(jobs->context, "del_", fresh_id);
        order.delegate_id = arcp_span_cstr(fresh_id);
    }
    if (arcp__id_set_has(&parent->live->delegate_ids, order.delegate_id)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "delegate_id \"%.*s\" names another child of this job already",
                              (int)order.delegate_id.size, order.delegate_id.data);
    }
    arcp_buf input = arcp_buf_init();
    arcp_buf notes = arcp_buf_init();
    arcp__trace_of_child(jobs, parent, &trace);
    arcp_json_compact(json, order.requested_input, &input);
    arcp__context_check_text(jobs->context, &input);
    order.input = input.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&input);
    arcp__admission *admission = NULL;
    status = check(jobs, parent, &order, &notes, details, err);
    if (status == ARCP_OK &&
        !arcp__admission_is_needed(jobs, &order, order.submitter->delays_children, &notes,
                                   &admission)) {
        arcp__job *child = arcp__job_create(jobs, &order, details, err);
        if (child != NULL) {
            arcp__policy_audit(jobs, child, &notes);
            begin(jobs, parent, child, &order);
        } else {
            status = err->status;
        }
    }
    arcp_lease_unref(order.lease);
    if (status != ARCP_OK) {
        audit(jobs, parent, NULL, &order, status);
        arcp__job_emit_denial(jobs, parent, order.delegate_id, err, arcp__details(details));
    } else if (!arcp__id_set_add(&parent->live->delegate_ids, order.delegate_id)) {
        arcp__context_no_memory(jobs->context);
    }
    arcp_buf_fini(&notes);
    arcp_buf_fini(&input);
    return status;
}
