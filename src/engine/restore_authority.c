/* After a restart: what jobs hold and had spent. Their authorities are made when all rows
 * are there, parents before children. */
#include "engine/parts.h"

#define DEPTH_MAX 256u /* of delegation */

/* What a job had spent: from its row, or from the one beside it. */
struct arcp__spent_row {
    arcp__spent_row *next;
    char job_id[ARCP__ID_SIZE];
    bool is_own_row; /* it was beside: to be deleted when the job ends */
    size_t size;
    char text[]; /* {"USD":"1.5"} */
};

arcp_status arcp__budget_keep_row(arcp__engine *engine, const arcp_json *row, arcp_json_ref spent,
                                  arcp_span job_id, bool is_own_row, arcp_error *err)
{
    if (!arcp_json_is(row, spent, ARCP_JSON_OBJECT) || job_id.size >= ARCP__ID_SIZE) {
        return ARCP_OK; /* without counters, or of no job that could have been restored */
    }
    arcp_span text = arcp_json_raw(row, spent);
    arcp__spent_row *kept = arcp__alloc(sizeof(*kept) + text.size);
    if (kept == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    memcpy(kept->job_id, job_id.data, job_id.size);
    kept->is_own_row = is_own_row;
    kept->size = text.size;
    memcpy(kept->text, text.data, text.size);
    kept->next = engine->spent_rows;
    engine->spent_rows = kept;
    return ARCP_OK;
}

/* A job's authority under its parent's: ids grow with time, so that no damaged row makes a
 * circle. */
static void restore_authority(arcp__engine *engine, arcp__job *job, unsigned depth)
{
    arcp__job *parent = arcp__job_find(engine, arcp_span_cstr(job->parent_id));
    if (job->live->lease == NULL || job->live->authority != NULL) {
        return;
    }
    if (parent != NULL && (strcmp(parent->id, job->id) >= 0 || depth == DEPTH_MAX)) {
        parent = NULL;
    }
    if (parent != NULL) {
        restore_authority(engine, parent, depth + 1);
    }
    const arcp_authority *above = parent == NULL ? NULL : parent->live->authority;
    arcp_budget *budget = NULL;
    arcp_authority *authority = NULL;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now = engine->context.now;
    options.expiry_grace_ns =
        (int64_t)engine->context.settings.lease_expiry_grace_ms * ARCP_NS_PER_MS;
    options.model_use_required = engine->context.settings.model_use_required == ARCP_CHOICE_TRUE;
    options.parent = above;
    arcp_status status = arcp_budget_new(
        job->live->lease, above == NULL ? NULL : arcp_authority_budget(above), &budget, NULL);
    if (status == ARCP_OK) {
        options.budget = budget;
        status = arcp_authority_new(job->live->lease, &options, &authority, NULL);
    }
    if (status != ARCP_OK) {
        arcp_budget_unref(budget);
        arcp__context_no_memory(&engine->context);
        return;
    }
    arcp__job_take_budget(job, budget);
    job->live->authority = authority;
    job->live->port.authority = authority;
    job->live->port.gates = arcp__audit_gates(engine->log);
}

static void restore_spent(arcp__engine *engine, const arcp__spent_row *row)
{
    arcp__job *job = arcp__job_find(engine, arcp_span_cstr(row->job_id));
    arcp_span text = arcp_span_make(row->text, row->size);
    arcp_json_limits limits = {8, 1000000, UINT32_MAX - 1};
    if (job == NULL || job->budget == NULL) {
        return;
    }
    if (arcp_json_scan(&engine->context.json, text, &limits, NULL) != ARCP_OK ||
        !arcp__context_prepare_scratch(&engine->context, text)) {
        arcp__context_no_memory(
            &engine->context); /* it is JSON: this wrote it from a scanned row */
        return;
    }
    job->has_spent_row = job->has_spent_row || row->is_own_row;
    arcp_budget *budget = job->budget;
    for (size_t at = 0; at < arcp_budget_count(budget); at++) {
        arcp_decimal spent;
        arcp_json_ref amount = arcp_json_member(&engine->context.json, ARCP_JSON_ROOT,
                                                arcp_budget_currency(budget, at));
        if (arcp_decimal_parse_spend(
                arcp_json_string(&engine->context.json, amount, &engine->context.scratch), &spent,
                NULL) == ARCP_OK) {
            arcp_budget_restore(budget, at, spent);
        }
    }
}

void arcp__authorities_restore(arcp__engine *engine)
{
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        restore_authority(engine, job, 0);
    }
    for (const arcp__spent_row *row = engine->spent_rows; row != NULL; row = row->next) {
        restore_spent(engine, row);
    }
    arcp__budget_free_rows(engine);
    for (arcp__job *job = engine->jobs; job != NULL; job = job->hh.next) {
        if (arcp__job_has_ended(job)) {
            arcp__job_release_live(engine, job);
        }
    }
}

void arcp__budget_free_rows(arcp__engine *engine)
{
    while (engine->spent_rows != NULL) {
        arcp__spent_row *row = engine->spent_rows;
        engine->spent_rows = row->next;
        arcp__free(row);
    }
}
