/* Holds of calls of jobs on workers, after a restart: the calls may have cost all of them. */
#include "job/job_state.h"
#include "job/purse.h"

/* The rows of the job's counters, and of those above it. */
static void store_spent(arcp__jobs *jobs, arcp__job *job)
{
    while (job != NULL && !arcp__job_has_ended(job)) {
        arcp__job_store_with_batch(jobs, job, ARCP__ROW_LIVE);
        job =
            job->parent_id[0] == '\0' ? NULL : arcp__job_find(jobs, arcp_span_cstr(job->parent_id));
    }
}

static void spend(arcp__jobs *jobs, const arcp__kept_hold *hold)
{
    arcp_json *json = &jobs->context->json;
    const arcp_json_limits limits = {8, 1000000, UINT32_MAX - 1};
    if (arcp_json_scan(json, hold->row, &limits, NULL) != ARCP_OK ||
        !arcp__context_prepare_scratch(jobs->context, hold->row)) {
        arcp__context_no_memory(jobs->context); /* it is valid JSON */
        return;
    }
    arcp_buf *scratch = &jobs->context->scratch;
    const arcp_json_ref amounts = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("held"));
    const arcp_span id = arcp_json_string(
        json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job")), scratch);
    const arcp_span purse = arcp_json_string(
        json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("purse")), scratch);
    arcp__job *job = arcp__job_find(jobs, id);
    job = job == NULL || arcp__job_has_ended(job) ? NULL : job;
    if (job != NULL) {
        arcp__budget_spend_all(jobs, arcp_authority_budget(job->live->authority), amounts);
        store_spent(jobs, job);
    }
    if (purse.size != 0) {
        arcp__purse_spend_hold(jobs, purse, hold->key, amounts, job);
    }
    arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, hold->key);
}

void arcp__holds_spend(arcp__jobs *jobs)
{
    while (jobs->kept_holds != NULL) {
        arcp__kept_hold *hold = jobs->kept_holds;
        LL_DELETE(jobs->kept_holds, hold);
        spend(jobs, hold);
        arcp__free(hold);
    }
}
