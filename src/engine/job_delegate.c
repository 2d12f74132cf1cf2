/* Delegation (§10): an agent hands a part of its lease to a child job.
 *
 * The check that the user's report found missing elsewhere happens here, on the only path
 * to a child: agent.delegate must cover the agent, and the child's lease is derived from
 * what the parent holds at this moment, or the delegation is refused with a witness. The
 * child then runs under that lease like any other job. One that gets a credential of its own
 * is made when that was issued (admission.c). */
#include "engine/parts.h"

#include "core/lease_subset.h"

#define DELEGATE_ID_MAX 256u /* bytes; the rest is cut off */

typedef struct delegation {
    arcp_span agent;
    arcp_span delegate_id;
    arcp_span input; /* compact JSON */
    bool wait;
    const arcp_json *json; /* the request as it came */
    arcp_json_ref body, lease_request, lease_constraints;
} delegation;

static arcp_status read_delegation(const arcp_json *json, arcp_json_ref body, arcp_buf *scratch,
                                   arcp_buf *input, delegation *out, arcp_error *err)
{
    arcp__event_body asked;
    arcp__decoder decoder = {.json = json, .scratch = scratch, .where = "body"};
    arcp_status status = arcp__event_body_read(&decoder, ARCP_EVENT_DELEGATE, body, &asked, err);
    arcp_json_compact(json, asked.input, input);
    *out = (delegation){
        .agent = asked.agent,
        .delegate_id = arcp_span_first(asked.delegate_id, DELEGATE_ID_MAX),
        .input = input->size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(input),
        .wait = arcp_json_is(json, asked.wait, ARCP_JSON_TRUE),
        .json = json,
        .body = body,
        .lease_request = asked.lease_request,
        .lease_constraints = asked.lease_constraints,
    };
    return status;
}

static void link_child(arcp__job *parent, arcp__job *child)
{
    child->parent = parent;
    arcp__job_pin(parent);
    child->next_child = parent->children;
    parent->children = child;
    parent->live_children++;
}

void arcp__job_leave_parent(arcp__job *job)
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
    arcp__job_unpin(parent);
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
    if (arcp_authorize_delegate(parent->live->authority, engine->context.now,
                                arcp_span_cstr(agent->name), arcp_span_cstr(version->version),
                                &scratch, &decision)) {
        return ARCP_OK; /* recorded with the delegation */
    }
    arcp__decision_error(parent->live->authority, &decision, details, err);
    arcp__job_decided(engine, parent, &decision);
    return err->status;
}

/* What is left of the parent's time, rounded up; 0 when it has no deadline. */
static uint64_t runtime_left(const arcp__engine *engine, const arcp__job *parent)
{
    if (parent->live->runtime_timer.place == 0) {
        return 0;
    }
    int64_t left = parent->live->runtime_timer.at_ns - engine->context.now.mono_ns;
    return left <= 0 ? 1 : (uint64_t)((left + ARCP_NS_PER_SEC - 1) / ARCP_NS_PER_SEC);
}

static void emit_delegate(arcp__engine *engine, arcp__job *parent, const arcp__job *child,
                          const delegation *wanted)
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
    arcp_lease_format(child->live->lease, &text);
    arcp__write_formatted(&writer, &text);
    const struct {
        const char *name;
        arcp_json_ref ref;
    } echoed[] = {{"lease_request", wanted->lease_request},
                  {"lease_constraints", wanted->lease_constraints}};
    for (size_t at = 0; at < sizeof(echoed) / sizeof(echoed[0]); at++) {
        arcp_buf_clear(&text);
        if (!arcp_json_is_missing(wanted->json, echoed[at].ref)) {
            arcp_json_compact(wanted->json, echoed[at].ref, &text);
            arcp_json_name(&writer, echoed[at].name);
            arcp__write_formatted(&writer, &text);
        }
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(&engine->context, &event);
    arcp__context_check_text(&engine->context, &text);
    arcp__job_emit_event(engine, parent, ARCP_EVENT_DELEGATE, ARCP_SPAN_LITERAL("delegate"),
                         arcp_buf_span(&event));
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
    arcp__context_make_id(&engine->context, "msg_", id);
    arcp__job_format_accepted(engine, child, session, &payload);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(id),
                                                 .session_id = arcp_span_cstr(session->id),
                                                 .trace_id = arcp_span_cstr(child->trace_id),
                                                 .job_id = arcp_span_cstr(child->id)},
                          arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__session_send_in_order(engine, session, arcp_span_cstr(child->id), &frame);
}

static arcp_status check_limits(const arcp__engine *engine, const arcp__job *parent,
                                arcp_buf *details, arcp_error *err)
{
    if (parent->depth >= engine->context.settings.limits_delegation_depth) {
        return over_limit("limits.delegation_depth", details, err);
    }
    if (parent->live_children + parent->admissions >=
        engine->context.settings.limits_children_per_job) {
        return over_limit("limits.children_per_job", details, err);
    }
    if (parent->principal->running_jobs >= engine->context.settings.limits_jobs_per_principal) {
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

/* From a request to a plan; the caller unrefs *lease. [arcp:9.4-3] [arcp:9.8.2-12] [arcp:LA-13]
 * [arcp:DR-1] [arcp:DR-5] */
static arcp_status plan_child(arcp__engine *engine, arcp__job *parent, const delegation *wanted,
                              arcp__job_plan *plan, const arcp_lease **lease, arcp_buf *notes,
                              arcp_buf *details, arcp_error *err)
{
    const arcp__agent *agent = NULL;
    arcp_lease *request = NULL;
    arcp_lease *derived = NULL;
    arcp_status status = arcp__agent_resolve(engine, wanted->agent, &agent, &plan->agent, err);
    if (status == ARCP_OK) {
        plan->agent_name = arcp_span_cstr(agent->name);
        status = ask_gate(engine, parent, agent, plan->agent, details, err);
    }
    if (status == ARCP_OK) {
        status = check_limits(engine, parent, details, err);
    }
    if (status == ARCP_OK) {
        status = arcp__audit_check(engine->log, err);
    }
    if (status == ARCP_OK) {
        status = arcp__job_read_lease(engine, wanted->json, wanted->lease_request,
                                      wanted->lease_constraints, &request, err);
    }
    if (status == ARCP_OK) {
        status = arcp__lease_derive(parent->live->authority, request, &plan->lease_work, &derived,
                                    details, err);
        status = status == ARCP_E_LIMIT ? arcp__lease_too_complex(details, err) : status;
        arcp_lease_unref(request);
    }
    if (status != ARCP_OK) {
        return status;
    }
    plan->session = arcp__observation_of(parent->owner)->session;
    plan->parent = parent;
    plan->max_runtime_sec = runtime_left(engine, parent);
    *lease = derived;
    status = arcp__policy_apply(engine, plan, lease, notes, details, err);
    plan->lease = *lease;
    return status;
}

static arcp__job_plan plan_of(const arcp__job *parent, const arcp__trace *trace)
{
    return (arcp__job_plan){.principal = parent->principal,
                            .features = parent->features,
                            .trace_id = arcp_span_make(parent->trace_id, 32),
                            .trace = trace,
                            .tracestate = arcp_span_cstr(parent->live->tracestate)};
}

/* [arcp:DR-6] */
static arcp__job *create_child(arcp__engine *engine, arcp__job *parent, arcp__job_plan *plan,
                               arcp_error *err)
{
    plan->parent = parent;
    plan->max_runtime_sec = runtime_left(engine, parent);
    arcp__job *child = arcp__job_create(engine, plan, NULL, err); /* no key */
    if (child != NULL) {
        link_child(parent, child);
    }
    return child;
}

static void audit(arcp__engine *engine, const arcp__job *parent, const arcp__job *child,
                  const delegation *wanted, arcp_status status)
{
    bool made = child != NULL;
    arcp_span parent_id = arcp_span_cstr(parent->id);
    arcp__audit(engine->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_DELEGATION,
                                    .decision = made ? "allowed" : "denied",
                                    .who = arcp__job_who(made ? child : parent),
                                    .code = status,
                                    .rule = "agent.delegate, lease of the parent",
                                    .target = wanted->agent,
                                    .lease = made ? child->live->lease : NULL,
                                    .parent_lease = parent->live->lease,
                                    .more = {{"delegate_id", wanted->delegate_id},
                                             {made ? NULL : "parent_job_id", parent_id}}});
}

/* The child exists: everybody is told, and it starts when it is durable. */
static void begin(arcp__engine *engine, arcp__job *parent, arcp__job *child,
                  const delegation *wanted, arcp_span reply_to, arcp_buf *reply)
{
    audit(engine, parent, child, wanted, ARCP_OK);
    announce(engine, arcp__observation_of(parent->owner)->session, child);
    emit_delegate(engine, parent, child, wanted);
    if (wanted->wait && reply_to.size != 0) {
        child->live->wait_reply = arcp__copy_cstr(reply_to.data, reply_to.size);
        if (child->live->wait_reply == NULL) {
            arcp__context_no_memory(&engine->context);
        }
    } else {
        arcp_buf_append_format(reply, "{\"job_id\":\"%s\"}", child->id);
    }
    arcp__job_start(engine, child);
}

/* ---- children that have to wait: for a credential, or for the session's submits ---- */

static arcp__admission *admit_later(arcp__engine *engine, arcp__job *parent,
                                    const arcp__job_plan *plan, const delegation *wanted,
                                    arcp_span reply_to)
{
    arcp__admission *admission = arcp__admission_new(engine, plan, NULL, parent);
    arcp_buf text = ARCP_BUF_INIT;
    if (admission == NULL) {
        return NULL;
    }
    arcp_json_compact(wanted->json, wanted->body, &text);
    admission->wait = wanted->wait;
    admission->reply_to = arcp__copy_cstr(reply_to.data, reply_to.size);
    admission->body = arcp_buf_take_cstr(&text);
    arcp_buf_fini(&text);
    if (admission->reply_to == NULL || admission->body == NULL) {
        arcp__context_no_memory(&engine->context);
        arcp__admission_free(engine, admission);
        return NULL;
    }
    return admission;
}

/* True when the child is made later, or memory ran out. */
static bool has_to_wait(arcp__engine *engine, arcp__job *parent, const arcp__job_plan *plan,
                        arcp_buf *notes, const delegation *wanted, arcp_span reply_to)
{
    arcp_budget *budget = NULL;
    const arcp__session *session = plan->session;
    if (arcp_budget_new(plan->lease, arcp_authority_budget(parent->live->authority), &budget,
                        NULL) != ARCP_OK) {
        return false; /* what is wrong with it is said when the job is made */
    }
    arcp__credential_wish wish = {.job_id = "",
                                  .session_id = session->id,
                                  .principal = parent->principal->name,
                                  .trace_id = parent->trace_id,
                                  .agent_name = plan->agent_name,
                                  .traceparent = arcp_span_cstr(plan->trace->traceparent),
                                  .lease = plan->lease,
                                  .budget = budget};
    const arcp__credential_viewer viewer = arcp__session_viewer(session);
    bool needs_one = arcp__credential_is_wanted(&engine->credentials, &viewer, &wish);
    bool waits = needs_one || (session->submits_first != NULL && !session->profile->hides_children);
    arcp__admission *admission = waits ? admit_later(engine, parent, plan, wanted, reply_to) : NULL;
    if (admission != NULL) {
        admission->notes = *notes;
        *notes = (arcp_buf)ARCP_BUF_INIT;
    }
    if (admission != NULL && needs_one) {
        wish.job_id = admission->job_id;
        arcp__credential_ask(&engine->credentials, &wish, &admission->credential);
    } else if (admission != NULL) {
        arcp__admission_provisioned(engine, admission, NULL);
    }
    arcp_budget_unref(budget);
    return waits;
}

static void refuse_child(arcp__engine *engine, arcp__job *parent, const arcp__admission *admission,
                         const arcp_error *error)
{
    arcp_span none = {NULL, 0};
    delegation wanted = {.agent = arcp_span_cstr(admission->agent),
                         .delegate_id = arcp_span_cstr(admission->delegate_id)};
    audit(engine, parent, NULL, &wanted, error->status);
    arcp__id_set_remove(&parent->live->delegate_ids, wanted.delegate_id);
    arcp__span_refused(engine, admission, error->status);
    arcp__job_emit_denial(engine, parent, wanted.delegate_id, error, none);
    if (admission->reply_to[0] != '\0') {
        arcp__agent_reply_error(engine, parent, arcp_span_cstr(admission->reply_to), error, none);
    }
}

/* What may have changed while it waited. */
static arcp_status check_admission(arcp__engine *engine, const arcp__admission *admission,
                                   arcp__job_plan *plan, arcp_error *err)
{
    const arcp__agent *agent = NULL;
    const arcp__job *parent = admission->parent;
    if (admission->error.status != ARCP_OK) {
        *err = admission->error;
        return err->status;
    }
    if (engine->context.stopping || parent->owner == NULL) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              engine->context.stopping ? "the runtime is stopping"
                                                       : "the session that the job ran on is gone");
    }
    if (arcp_authority_is_expired(parent->live->authority, engine->context.now)) {
        return arcp_error_set(err, ARCP_E_LEASE_EXPIRED, "the job's lease has expired");
    }
    arcp_status status = arcp__audit_check(engine->log, err);
    return status == ARCP_OK ? arcp__agent_resolve(engine, arcp_span_cstr(admission->agent), &agent,
                                                   &plan->agent, err)
                             : status;
}

void arcp__job_admit_child(arcp__engine *engine, arcp__admission *admission)
{
    arcp__job *parent = admission->parent;
    arcp_error error = {0};
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    arcp_buf reply = ARCP_BUF_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_buf input = ARCP_BUF_INIT;
    arcp__job *child = NULL;
    if (parent->ended) {
        arcp__admission_free(engine, admission);
        return;
    }
    arcp__job_plan plan = plan_of(parent, &admission->trace);
    delegation wanted;
    plan.session = admission->session;
    plan.lease = admission->lease;
    plan.input = arcp_buf_span(&admission->input);
    plan.delegate_id = arcp_span_cstr(admission->delegate_id);
    plan.admission = admission;
    if (check_admission(engine, admission, &plan, &error) == ARCP_OK &&
        arcp_json_scan(&json, arcp_span_cstr(admission->body), &limits, &error) == ARCP_OK &&
        read_delegation(&json, ARCP_JSON_ROOT, &scratch, &input, &wanted, &error) == ARCP_OK) {
        wanted.agent = arcp_span_cstr(admission->agent);
        wanted.delegate_id = plan.delegate_id; /* one that was made */
        child = create_child(engine, parent, &plan, &error);
    }
    if (child == NULL) {
        refuse_child(engine, parent, admission, &error);
    } else {
        arcp__credential_give(&admission->credential, &child->live->credential);
        arcp__policy_audit(engine, child, &admission->notes);
        begin(engine, parent, child, &wanted, arcp_span_cstr(admission->reply_to), &reply);
        if (reply.size != 0) {
            arcp__agent_reply(engine, parent, arcp_span_cstr(admission->reply_to),
                              arcp_buf_span(&reply));
        }
    }
    arcp_buf_fini(&reply);
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&input);
    arcp_json_fini(&json);
    arcp__admission_free(engine, admission);
    if (error.status != ARCP_OK) {
        arcp__job_after_denial(engine, parent, error.status);
    }
}

/* [arcp:10-1] */
arcp_status arcp__job_delegate(arcp__engine *engine, arcp__job *parent, const arcp_json *json,
                               arcp_json_ref body, arcp_span reply_to, arcp_buf *reply,
                               arcp_buf *details, arcp_error *err)
{
    arcp_buf input = ARCP_BUF_INIT;
    char fresh_id[ARCP__ID_SIZE];
    delegation wanted;
    const arcp_lease *lease = NULL;
    arcp_buf notes = ARCP_BUF_INIT;
    arcp_status status =
        read_delegation(json, body, &engine->context.scratch, &input, &wanted, err);
    if (status != ARCP_OK) {
        arcp_buf_fini(&input);
        return status;
    }
    if (wanted.delegate_id.size == 0) {
        arcp__context_make_id(&engine->context, "del_", fresh_id);
        wanted.delegate_id = arcp_span_cstr(fresh_id);
    }
    if (arcp__id_set_has(&parent->live->delegate_ids, wanted.delegate_id)) {
        arcp_buf_fini(&input);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "delegate_id \"%.*s\" names another child of this job already",
                              (int)wanted.delegate_id.size, wanted.delegate_id.data);
    }
    arcp__trace trace;
    arcp__trace_of_child(engine, parent, &trace);
    arcp__job_plan plan = plan_of(parent, &trace);
    plan.lease_work.left = engine->context.settings.limits_lease_steps;
    plan.input = wanted.input;
    plan.delegate_id = wanted.delegate_id;
    status = plan_child(engine, parent, &wanted, &plan, &lease, &notes, details, err);
    if (status == ARCP_OK && !has_to_wait(engine, parent, &plan, &notes, &wanted, reply_to)) {
        arcp__job *child = create_child(engine, parent, &plan, err);
        if (child != NULL) {
            arcp__policy_audit(engine, child, &notes);
            begin(engine, parent, child, &wanted, reply_to, reply);
        } else {
            status = err->status;
        }
    }
    arcp_lease_unref(lease);
    if (status != ARCP_OK) {
        audit(engine, parent, NULL, &wanted, status);
        arcp__job_emit_denial(engine, parent, wanted.delegate_id, err, arcp__details(details));
    } else if (!arcp__id_set_add(&parent->live->delegate_ids, wanted.delegate_id)) {
        arcp__context_no_memory(&engine->context);
    }
    arcp_buf_fini(&notes);
    arcp_buf_fini(&input);
    return status;
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
        arcp__context_no_memory(&engine->context); /* it is JSON: the runtime wrote it */
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
    arcp__context_check_text(&engine->context, &payload);
    arcp__agent_reply(engine, parent, arcp_span_cstr(child->live->wait_reply),
                      arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
    arcp_json_fini(&json);
}

void arcp__job_child_ended(arcp__engine *engine, arcp__job *parent, arcp__job *child,
                           arcp_span terminal)
{
    parent->live_children--;
    if (child->live->wait_reply != NULL && !parent->ended) {
        answer_wait(engine, parent, child, terminal);
    }
}

/* When a parent ends, its children end as CANCELLED. [arcp:9.8.2-13] */
void arcp__job_end_children(arcp__engine *engine, arcp__job *job)
{
    for (arcp__job *child = job->children; child != NULL; child = child->next_child) {
        if (!child->ended) {
            arcp__job_fail_with(engine, child, ARCP_E_CANCELLED, "the parent job has ended");
        }
    }
}
