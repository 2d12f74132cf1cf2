/* Policy: ceilings that an operator sets for principals and agents, and the submit policy of a
 * program that embeds the runtime. Every matching row narrows a lease; none widens it (guide A;
 * docs/protocol.md, Authority). This holds for submits and delegations. */
#include "job/job_state.h"

#include "base/timestamp.h"
#include "core/lease_subset.h"
#include "core/name_glob.h"

struct arcp__policy_row {
    char *principal_glob, *agent_glob; /* owned */
    const arcp_lease *ceiling;         /* referenced, or NULL */
    bool leaves_others_open;
    uint64_t max_lifetime_sec;
    const arcp_lease *spend; /* referenced, or NULL */
};

arcp_status arcp__policy_add(arcp__jobs *jobs, const arcp__policy *policy, arcp_error *err)
{
    arcp__policy_row *rows =
        arcp__realloc_array(jobs->policies, jobs->policy_count + 1, sizeof *rows);
    if (rows != NULL) {
        jobs->policies = rows;
    }
    arcp__policy_row row = {
        .principal_glob = arcp__copy_cstr(policy->principal_glob.data, policy->principal_glob.size),
        .agent_glob = arcp__copy_cstr(policy->agent_glob.data, policy->agent_glob.size),
        .ceiling = policy->ceiling,
        .leaves_others_open = policy->leaves_others_open,
        .max_lifetime_sec = policy->max_lifetime_sec,
        .spend = policy->spend,
    };
    if (rows == NULL || row.principal_glob == NULL || row.agent_glob == NULL) {
        arcp__free(row.principal_glob);
        arcp__free(row.agent_glob);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (row.ceiling != NULL) {
        row.ceiling = arcp_lease_ref(row.ceiling);
    }
    if (row.spend != NULL) {
        row.spend = arcp_lease_ref(row.spend);
    }
    rows[jobs->policy_count++] = row;
    return ARCP_OK;
}

void arcp__policies_clear(arcp__jobs *jobs)
{
    for (size_t i = 0; i < jobs->policy_count; i++) {
        arcp__free(jobs->policies[i].principal_glob);
        arcp__free(jobs->policies[i].agent_glob);
        arcp_lease_unref(jobs->policies[i].ceiling);
        arcp_lease_unref(jobs->policies[i].spend);
    }
    arcp__free(jobs->policies);
    jobs->policies = NULL;
    jobs->policy_count = 0;
}

const arcp_lease *arcp__policy_spend(const arcp__jobs *jobs, const char *principal)
{
    for (size_t i = 0; i < jobs->policy_count; i++) {
        const arcp__policy_row *row = &jobs->policies[i];
        if (row->spend != NULL &&
            arcp__name_glob_matches(row->principal_glob, arcp_span_cstr(principal))) {
            return row->spend;
        }
    }
    return NULL;
}

/* Makes a ceiling that has only an expiry. */
static arcp_status lifetime_ceiling(const arcp__jobs *jobs, uint64_t seconds, arcp_lease **out,
                                    arcp_error *err)
{
    char text[ARCP__TIMESTAMP_SIZE + 1] = {0};
    int64_t until = 0;
    if (seconds > (uint64_t)(INT64_MAX / ARCP_NS_PER_SEC) ||
        __builtin_add_overflow(jobs->context->now.wall_ns, (int64_t)seconds * ARCP_NS_PER_SEC,
                               &until)) {
        until = INT64_MAX;
    }
    arcp__timestamp_format(until, text);
    arcp_lease_builder *builder = arcp_lease_builder_new();
    if (builder == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_lease_expires_at(builder, text);
    return arcp_lease_build(builder, out, err);
}

/* Narrows the order's lease by a ceiling of the row. What is removed goes to the notes, because the
 * audit line needs the job's id: rule NUL dropped NUL. */
static arcp_status narrow(const arcp__jobs *jobs, const arcp__policy_row *row,
                          const arcp__ceiling *ceiling, arcp__job_order *order, arcp_buf *notes,
                          arcp_error *err)
{
    arcp_lease *narrowed = NULL;
    arcp_buf dropped = arcp_buf_init();
    const arcp_status status = arcp__lease_narrow(order->lease, ceiling, &narrowed, &dropped, err);
    if (status == ARCP_OK && dropped.size > 2) {
        arcp_buf_append_format(notes, "policy[%zu]: principal %s, agent %s",
                               (size_t)(row - jobs->policies), row->principal_glob,
                               row->agent_glob);
        arcp_buf_append_byte(notes, '\0');
        arcp_buf_append(notes, arcp_buf_span(&dropped));
        arcp_buf_append_byte(notes, '\0');
    }
    if (status == ARCP_OK) {
        arcp_lease_unref(order->lease);
        order->lease = narrowed;
    }
    arcp_buf_fini(&dropped);
    return status;
}

/* ---- the program's own policy ---- */

/* Takes the lease that the program returned if it is within the lease it was given; budgets, expiry
 * and models that it left out stay limited. */
static arcp_status take_answer(arcp__jobs *jobs, const arcp_lease *answered, arcp__job_order *order,
                               arcp_error *err)
{
    const arcp__subset_parent asked = {.lease = order->lease, .work = &order->lease_work};
    const arcp__ceiling ceiling = {.lease = order->lease, .work = &order->lease_work};
    arcp_lease *narrowed = NULL;
    arcp_error why = {0};
    arcp_status status = arcp__subset_assert(answered, asked, NULL, &why);
    if (status == ARCP_OK) {
        status = arcp__lease_narrow(answered, &ceiling, &narrowed, NULL, &why);
    }
    if (status == ARCP_E_LIMIT) {
        return arcp_error_copy(err, &why);
    }
    if (status != ARCP_OK) {
        arcp__effect_log(jobs->log, ARCP__LOG_ERROR,
                         "the submit policy returned a lease that is not within the one it was "
                         "given: %s",
                         why.message);
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the runtime's submit policy failed");
    }
    arcp_lease_unref(order->lease);
    order->lease = narrowed;
    return ARCP_OK;
}

static arcp_status ask_program(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *details,
                               arcp_error *err)
{
    const arcp_submit_request request = {
        .struct_size = sizeof request,
        .principal = arcp_span_cstr(order->principal->name),
        .agent = arcp_span_cstr(order->agent->text),
        .input = order->input,
        .trace_id = order->trace_id,
        .parent_job_id = arcp_span_cstr(order->parent == NULL ? "" : order->parent->id),
        .lease = order->lease,
        .max_runtime_sec = order->max_runtime_sec,
    };
    const arcp_lease *answered = NULL;
    arcp_error refusal = {.details = details};
    arcp_status status =
        jobs->submit_policy(jobs->submit_policy_user, &request, &answered, &refusal);
    if (status == ARCP_OK) {
        arcp_buf_clear(details);
    }
    if (status == ARCP_OK && answered != NULL) {
        status = take_answer(jobs, answered, order, err);
    } else if (status != ARCP_OK) {
        const bool has_code =
            arcp_status_is_wire_code(arcp_span_cstr(arcp_status_wire_code(status)));
        (void)arcp_error_copy(err, &refusal);
        if (refusal.status != status || !has_code || refusal.message[0] == '\0') {
            (void)arcp_error_set(err, has_code ? status : ARCP_E_INTERNAL_ERROR, "%s",
                                 refusal.message[0] == '\0'
                                     ? "refused by the runtime's submit policy"
                                     : refusal.message);
        }
        status = err->status;
    }
    arcp_lease_unref(answered);
    return status;
}

arcp_status arcp__lease_too_complex(arcp_buf *details, arcp_error *err)
{
    arcp_buf_clear(details);
    arcp_buf_append_cstr(details, "{\"reason\":\"TOO_COMPLEX\"}");
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                          "checking the lease exceeds limits.lease_steps: request fewer or simpler "
                          "patterns");
}

/* [arcp:LA-1] */
arcp_status arcp__policy_narrow(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *notes,
                                arcp_buf *details, arcp_error *err)
{
    arcp_span agent = arcp_span_cstr(order->agent->text);
    const char *at_sign = memchr(agent.data, '@', agent.size);
    if (at_sign != NULL) {
        agent.size = (size_t)(at_sign - agent.data);
    }
    arcp__lease_work *work = &order->lease_work;
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < jobs->policy_count && status == ARCP_OK; i++) {
        const arcp__policy_row *row = &jobs->policies[i];
        if (!arcp__name_glob_matches(row->principal_glob, arcp_span_cstr(order->principal->name)) ||
            !arcp__name_glob_matches(row->agent_glob, agent)) {
            continue;
        }
        if (row->ceiling != NULL) {
            /* A lease that does not name model.use may stand for every model. */
            const arcp__ceiling ceiling = {
                .lease = row->ceiling,
                .absent_is_open = row->leaves_others_open,
                .closes_models = !row->leaves_others_open &&
                                 jobs->context->settings.model_use_required != ARCP__CHOICE_TRUE,
                .work = work};
            status = narrow(jobs, row, &ceiling, order, notes, err);
        }
        arcp_lease *until = NULL;
        if (status == ARCP_OK && row->max_lifetime_sec != 0) {
            status = lifetime_ceiling(jobs, row->max_lifetime_sec, &until, err);
        }
        if (until != NULL) {
            const arcp__ceiling ceiling = {.lease = until, .absent_is_open = true, .work = work};
            status = narrow(jobs, row, &ceiling, order, notes, err);
            arcp_lease_unref(until);
        }
    }
    return status == ARCP_E_LIMIT ? arcp__lease_too_complex(details, err) : status;
}

arcp_status arcp__policy_apply(arcp__jobs *jobs, arcp__job_order *order, arcp_buf *notes,
                               arcp_buf *details, arcp_error *err)
{
    arcp_status status = arcp__policy_narrow(jobs, order, notes, details, err);
    if (status == ARCP_OK && jobs->submit_policy != NULL) {
        status = ask_program(jobs, order, details, err);
    }
    return status == ARCP_E_LIMIT ? arcp__lease_too_complex(details, err) : status;
}

void arcp__policy_audit(arcp__jobs *jobs, const arcp__job *job, const arcp_buf *notes)
{
    arcp__context_check_text(jobs->context, notes);
    if (notes->failed) {
        return; /* the last note may be truncated */
    }
    for (size_t offset = 0; offset < notes->size;) {
        const char *rule = notes->data + offset;
        const char *dropped = rule + strlen(rule) + 1;
        offset = (size_t)(dropped + strlen(dropped) + 1 - notes->data);
        arcp__audit(jobs->log, &(arcp__audit_line){.event = ARCP__AUDIT_NARROWING,
                                                   .decision = "narrowed",
                                                   .who = arcp__job_who(job),
                                                   .rule = rule,
                                                   .dropped = arcp_span_cstr(dropped)});
    }
}
