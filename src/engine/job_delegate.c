/* Delegation (§10): an agent hands a part of its lease to a child job.
 *
 * The check that the user's report found missing elsewhere happens here, on the only path
 * to a child: agent.delegate must cover the agent, and the child's lease is derived from
 * what the parent holds at this moment, or the delegation is refused with a witness. The
 * child then runs under that lease like any other job. */
#include "engine/parts.h"

#include <arcp/lease_subset.h>

#include <assert.h>

typedef struct delegation {
    arcp_span agent;
    arcp_span delegate_id;
    arcp_span input; /* compact JSON */
    bool wait;
} delegation;

static void link_child(arcp__job *parent, arcp__job *child)
{
    child->parent = parent;
    arcp__job_pin(parent);
    child->next_child = parent->children;
    parent->children = child;
    parent->live_children++;
}

void arcp__job_leave_parent(arcp__engine *engine, arcp__job *job)
{
    arcp__job *parent = job->parent;
    if (parent == NULL) {
        return;
    }
    for (arcp__job **at = &parent->children; *at != NULL; at = &(*at)->next_child) {
        if (*at == job) {
            *at = job->next_child;
            break;
        }
    }
    if (!job->ended) {
        parent->live_children--;
    }
    job->parent = NULL;
    job->next_child = NULL;
    arcp__job_unpin(engine, parent);
}

static arcp_status over_limit(const char *limit, arcp_buf *details, arcp_error *err)
{
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return arcp_error_set(err, ARCP_E_LEASE_SUBSET_VIOLATION, "the delegation is over %s", limit);
}

/* agent.delegate covers the resolved agent; expiry and budgets come first, as everywhere. */
static arcp_status ask_gate(arcp__engine *engine, arcp__job *parent, const arcp__agent *agent,
                            const arcp__agent_version *version, arcp_buf *details, arcp_error *err)
{
    arcp_target_scratch scratch;
    arcp_decision decision;
    if (arcp_authorize_delegate(parent->authority, engine->now, arcp_span_cstr(agent->name),
                                arcp_span_cstr(version->version), &scratch, &decision)) {
        return ARCP_OK;
    }
    arcp_buf message = ARCP_BUF_INIT;
    arcp_decision_format_message(&decision, &message);
    arcp_decision_format_details(parent->authority, &decision, details);
    (void)arcp_error_set(err, decision.code, "%.*s", (int)message.size,
                         message.size == 0 ? "" : message.data);
    arcp_buf_fini(&message);
    arcp__job_denied(engine, parent, &decision);
    return err->status;
}

static arcp_status read_request(arcp__engine *engine, const arcp_json *json, arcp_json_ref body,
                                arcp_lease **out, arcp_error *err)
{
    arcp_lease_limits limits = {(size_t)engine->settings.limits_lease_patterns,
                                (size_t)engine->settings.limits_lease_bytes,
                                (size_t)engine->settings.limits_pattern_bytes,
                                (size_t)engine->settings.limits_pattern_wildcards};
    arcp_json_ref request = arcp_json_member(json, body, ARCP_SPAN_LITERAL("lease_request"));
    arcp_json_ref constraints =
        arcp_json_member(json, body, ARCP_SPAN_LITERAL("lease_constraints"));
    arcp_status status = arcp_lease_from_json(json, request, constraints, &limits, out, err);
    if (status == ARCP_OK && arcp_lease_has_expiry(*out) &&
        arcp_lease_expires_wall_ns(*out) <= engine->now.wall_ns) {
        arcp_lease_unref(*out);
        *out = NULL;
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "lease_constraints.expires_at is not in the future");
    }
    return status;
}

/* What is left of the parent's time, rounded up; 0 when it has no deadline. */
static uint64_t runtime_left(const arcp__engine *engine, const arcp__job *parent)
{
    if (parent->runtime_timer.place == 0) {
        return 0;
    }
    int64_t left = parent->runtime_timer.at_ns - engine->now.mono_ns;
    return left <= 0 ? 1 : (uint64_t)((left + ARCP_NS_PER_SEC - 1) / ARCP_NS_PER_SEC);
}

static void emit_delegate(arcp__engine *engine, arcp__job *parent, const arcp__job *child,
                          const delegation *wanted, const arcp_json *json, arcp_json_ref body)
{
    arcp_buf event = ARCP_BUF_INIT;
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &event);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "delegate_id");
    arcp_json_write_string(&writer, wanted->delegate_id);
    arcp_json_name(&writer, "child_job_id");
    arcp_json_write_cstr(&writer, child->id);
    arcp_json_name(&writer, "agent");
    arcp_json_write_cstr(&writer, child->agent_text);
    arcp_json_name(&writer, "input");
    arcp_json_write_raw(&writer, wanted->input);
    arcp_json_name(&writer, "lease");
    arcp_lease_format(child->lease, &text);
    arcp_json_write_raw(&writer, arcp_buf_span(&text));
    static const char *const echoed[] = {"lease_request", "lease_constraints"};
    for (size_t at = 0; at < 2; at++) {
        arcp_json_ref ref = arcp_json_member(json, body, arcp_span_cstr(echoed[at]));
        arcp_buf_clear(&text);
        if (!arcp_json_is_missing(json, ref)) {
            arcp_json_compact(json, ref, &text);
            arcp_json_name(&writer, echoed[at]);
            arcp_json_write_raw(&writer, arcp_buf_span(&text));
        }
    }
    arcp_json_end_object(&writer);
    if (event.failed || text.failed) {
        arcp__engine_no_memory(engine);
    } else {
        arcp__job_emit_event(engine, parent, ARCP_EVENT_DELEGATE, ARCP_SPAN_LITERAL("delegate"),
                             arcp_buf_span(&event));
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&event);
}

/* job.accepted for the child, on the parent's session, behind any submit that is still
 * being answered (clients bind accepted frames by order). */
static void announce(arcp__engine *engine, arcp__session *session, const arcp__job *child)
{
    if (session->profile->hides_children) {
        return;
    }
    char id[ARCP__ID_SIZE];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf frame = ARCP_BUF_INIT;
    arcp__engine_make_id(engine, "msg_", id);
    arcp__job_format_accepted(engine, child, session, &payload);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(id),
                                                 .session_id = arcp_span_cstr(session->id),
                                                 .trace_id = arcp_span_cstr(child->trace_id),
                                                 .job_id = arcp_span_cstr(child->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__session_send(engine, session, &frame, true);
}

static arcp_status check_limits(const arcp__engine *engine, const arcp__job *parent,
                                arcp_buf *details, arcp_error *err)
{
    if (parent->depth >= engine->settings.limits_delegation_depth) {
        return over_limit("limits.delegation_depth", details, err);
    }
    if (parent->live_children >= engine->settings.limits_children_per_job) {
        return over_limit("limits.children_per_job", details, err);
    }
    if (parent->principal->running_jobs >= engine->settings.limits_jobs_per_principal) {
        arcp_buf_append_cstr(details, "{\"limit\":\"limits.jobs_per_principal\"}");
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              "too many running jobs (limits.jobs_per_principal)");
    }
    if (parent->owner == NULL) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              "the session that the job ran on is gone");
    }
    return ARCP_OK;
}

/* From a request to a child that exists and starts when it is durable. */
static arcp_status make_child(arcp__engine *engine, arcp__job *parent, const arcp_json *json,
                              arcp_json_ref body, const delegation *wanted, arcp__job **out,
                              arcp_buf *details, arcp_error *err)
{
    const arcp__agent *agent = NULL;
    arcp__job_plan plan = {.principal = parent->principal,
                           .parent = parent,
                           .features = parent->features,
                           .input = wanted->input,
                           .delegate_id = wanted->delegate_id};
    arcp_buf notes = ARCP_BUF_INIT;
    arcp_lease *request = NULL;
    arcp_lease *derived = NULL;
    arcp_status status = arcp__agent_resolve(engine, wanted->agent, &agent, &plan.agent, err);
    if (status == ARCP_OK) {
        status = ask_gate(engine, parent, agent, plan.agent, details, err);
    }
    if (status == ARCP_OK) {
        status = check_limits(engine, parent, details, err);
    }
    if (status == ARCP_OK) {
        status = read_request(engine, json, body, &request, err);
    }
    if (status == ARCP_OK) {
        status = arcp_lease_derive(parent->authority, request, &derived, details, err);
        arcp_lease_unref(request);
    }
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_lease *lease = derived;
    plan.session = parent->owner->session;
    plan.trace_id = arcp_span_make(parent->trace_id, 32);
    plan.traceparent = arcp_span_cstr(parent->traceparent);
    plan.tracestate = arcp_span_cstr(parent->tracestate);
    plan.max_runtime_sec = runtime_left(engine, parent);
    status = arcp__policy_apply(engine, &plan, &lease, &notes, details, err);
    plan.lease = lease;
    arcp__job *child = status == ARCP_OK ? arcp__job_create(engine, &plan, err) : NULL;
    arcp_lease_unref(lease);
    if (child != NULL) {
        arcp__policy_audit(engine, child, &notes);
        link_child(parent, child);
        *out = child;
    }
    arcp_buf_fini(&notes);
    return child == NULL ? err->status : ARCP_OK;
}

static void read_delegation(arcp__engine *engine, const arcp_json *json, arcp_json_ref body,
                            char fresh_id[ARCP__ID_SIZE], arcp_buf *input, delegation *out)
{
    *out = (delegation){0};
    out->agent = arcp_json_string(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("agent")),
                                  &engine->scratch);
    out->delegate_id = arcp_span_first(
        arcp_json_string(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("delegate_id")),
                         &engine->scratch),
        256);
    if (out->delegate_id.size == 0) {
        arcp__engine_make_id(engine, "del_", fresh_id);
        out->delegate_id = arcp_span_cstr(fresh_id);
    }
    arcp_json_compact(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("input")), input);
    out->input = input->size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(input);
    out->wait =
        arcp_json_is(json, arcp_json_member(json, body, ARCP_SPAN_LITERAL("wait")), ARCP_JSON_TRUE);
}

arcp_status arcp__job_delegate(arcp__engine *engine, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *reply,
                               arcp_buf *details, arcp_error *err)
{
    arcp_buf input = ARCP_BUF_INIT;
    arcp_buf checked = ARCP_BUF_INIT;
    char fresh_id[ARCP__ID_SIZE];
    delegation wanted;
    arcp__event_facts facts;
    arcp__job *child = NULL;
    arcp_status status = arcp__event_check(json, ARCP_SPAN_LITERAL("delegate"), body,
                                           &engine->scratch, &checked, &facts, err);
    arcp_buf_fini(&checked);
    if (status != ARCP_OK) {
        return status;
    }
    read_delegation(engine, json, body, fresh_id, &input, &wanted);
    status = make_child(engine, parent, json, body, &wanted, &child, details, err);
    arcp__effect_audit(engine, "delegate", "principal", parent->principal->name, "parent_job_id",
                       parent->id, "job_id", child == NULL ? "" : child->id, "result",
                       status == ARCP_OK ? "allowed" : arcp_status_wire_code(status), "trace_id",
                       parent->trace_id, NULL);
    if (status != ARCP_OK) {
        arcp__job_emit_denial(engine, parent, wanted.delegate_id, err, arcp_buf_span(details));
        arcp_buf_fini(&input);
        return status;
    }
    assert(child != NULL);
    announce(engine, parent->owner->session, child);
    emit_delegate(engine, parent, child, &wanted, json, body);
    if (wanted.wait && reply_to.size != 0) {
        child->wait_reply = arcp__copy_cstr(reply_to.data, reply_to.size);
        if (child->wait_reply == NULL) {
            arcp__engine_no_memory(engine);
        }
    } else {
        arcp_buf_append_format(reply, "{\"job_id\":\"%s\"}", child->id);
    }
    arcp__job_start(engine, child);
    arcp_buf_fini(&input);
    return ARCP_OK;
}

/* ---- ends ---- */

/* The waiting parent's answer: {job_id, final_status, result? | error?}, from the child's
 * terminal payload. */
static void answer_wait(arcp__engine *engine, arcp__job *parent, const arcp__job *child,
                        arcp_span terminal)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_writer writer;
    if (arcp_json_scan(&json, terminal, &limits, NULL) != ARCP_OK) {
        arcp__engine_no_memory(engine);
        arcp_json_fini(&json);
        return;
    }
    arcp_json_writer_init(&writer, &payload);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "job_id");
    arcp_json_write_cstr(&writer, child->id);
    static const char *const copied[] = {"final_status", "result", "result_id", "result_size",
                                         "summary"};
    for (size_t at = 0; at < sizeof(copied) / sizeof(copied[0]); at++) {
        arcp_json_ref ref = arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(copied[at]));
        if (ref != ARCP_JSON_ABSENT) {
            arcp_json_name(&writer, copied[at]);
            arcp_json_write_raw(&writer, arcp_json_raw(&json, ref));
        }
    }
    if (arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("code")) != ARCP_JSON_ABSENT) {
        static const char *const members[] = {"code", "message", "retryable", "details"};
        arcp_json_name(&writer, "error");
        arcp_json_begin_object(&writer);
        for (size_t at = 0; at < sizeof(members) / sizeof(members[0]); at++) {
            arcp_json_ref ref =
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(members[at]));
            if (ref != ARCP_JSON_ABSENT) {
                arcp_json_name(&writer, members[at]);
                arcp_json_write_raw(&writer, arcp_json_raw(&json, ref));
            }
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    if (payload.failed) {
        arcp__engine_no_memory(engine);
    } else {
        arcp__agent_reply(engine, parent, arcp_span_cstr(child->wait_reply),
                          arcp_buf_span(&payload));
    }
    arcp_buf_fini(&payload);
    arcp_json_fini(&json);
}

void arcp__job_child_ended(arcp__engine *engine, arcp__job *parent, arcp__job *child,
                           arcp_span terminal)
{
    parent->live_children--;
    if (child->wait_reply != NULL && !parent->ended) {
        answer_wait(engine, parent, child, terminal);
    }
}

/* When a parent ends, its children end as CANCELLED. */
void arcp__job_end_children(arcp__engine *engine, arcp__job *job)
{
    for (arcp__job *child = job->children; child != NULL; child = child->next_child) {
        if (!child->ended) {
            arcp__job_fail_with(engine, child, ARCP_E_CANCELLED, "the parent job has ended");
        }
    }
}
