/* What jobs have spent, as the store has it: a small row per running job that spends, beside
 * its own, written at most once a batch; when the job ends it goes into the job's row. So a
 * restart finds every counter as the last durable metric left it. */
#include "engine/parts.h"

#include "json/json_put.h"

static const char row_suffix[] = "/spent";

bool arcp__budget_row_key(arcp_span key, arcp_span *job_id)
{
    const size_t size = sizeof(row_suffix) - 1;
    if (key.size <= size ||
        !arcp_span_equal_cstr(arcp_span_from(key, key.size - size), row_suffix)) {
        return false;
    }
    *job_id = arcp_span_first(key, key.size - size);
    return true;
}

static arcp_span row_key(const arcp__job *job, char out[ARCP__ID_SIZE + sizeof(row_suffix)])
{
    const size_t size = strlen(job->id);
    memcpy(out, job->id, size);
    memcpy(out + size, row_suffix, sizeof(row_suffix));
    return arcp_span_cstr(out);
}

void arcp__job_take_budget(arcp__job *job, arcp_budget *budget)
{
    if (budget != NULL && arcp_budget_count(budget) != 0) {
        job->budget = budget;
    } else {
        arcp_budget_unref(budget);
    }
}

void arcp__budget_write_spent(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = job->budget;
    if (budget == NULL) {
        return;
    }
    arcp__put_object(writer, "spent");
    for (size_t at = 0; at < arcp_budget_count(budget); at++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(arcp_budget_spent(budget, at), amount);
        arcp_json_name_span(writer, arcp_budget_currency(budget, at));
        arcp_json_write_cstr(writer, amount);
    }
    arcp_json_end_object(writer);
}

/* Whether a node from `from` up to, but not including, `end` counts the currency. */
static bool is_counted_below(const arcp_budget *from, const arcp_budget *end, arcp_span currency)
{
    for (const arcp_budget *node = from; node != end; node = arcp_budget_parent(node)) {
        for (size_t at = 0; at < arcp_budget_count(node); at++) {
            if (arcp_span_equal(arcp_budget_currency(node, at), currency)) {
                return true;
            }
        }
    }
    return false;
}

void arcp__budget_write_available(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = arcp_authority_budget(job->live->authority);
    bool any = false;
    for (const arcp_budget *node = budget; node != NULL; node = arcp_budget_parent(node)) {
        for (size_t at = 0; at < arcp_budget_count(node); at++) {
            arcp_span currency = arcp_budget_currency(node, at);
            arcp_decimal left;
            char amount[ARCP_DECIMAL_TEXT_MAX];
            if (is_counted_below(budget, node, currency) ||
                !arcp_budget_available(budget, currency, &left)) {
                continue;
            }
            if (!any) {
                arcp__put_object(writer, "budget");
                any = true;
            }
            arcp_json_name_span(writer, currency);
            arcp_json_write_raw(writer, arcp_span_make(amount, arcp_decimal_format(left, amount)));
        }
    }
    if (any) {
        arcp_json_end_object(writer);
    }
}

void arcp__budget_changed(arcp__engine *engine, arcp__job *job)
{
    if (job->in_spenders || arcp__job_has_ended(job) || job->budget == NULL) {
        return;
    }
    job->in_spenders = true;
    job->next_spender = engine->spenders;
    engine->spenders = job;
    arcp__job_pin(job);
}

static void store_row(arcp__engine *engine, arcp__job *job)
{
    if (!arcp__batch_keeps_rows(engine->log)) {
        return;
    }
    char key[ARCP__ID_SIZE + sizeof(row_suffix)];
    arcp_buf row = arcp__context_take_buf(&engine->context);
    arcp_json_writer writer = arcp__put_begin(&row);
    arcp__budget_write_spent(job, &writer);
    arcp_json_end_object(&writer);
    arcp__batch_put(engine->log, ARCP_STORE_JOBS, row_key(job, key), arcp_buf_span(&row));
    job->has_spent_row = true;
    arcp__context_give_buf(&engine->context, &row);
}

void arcp__budgets_store(arcp__engine *engine)
{
    while (engine->spenders != NULL) {
        arcp__job *job = engine->spenders;
        if (!arcp__job_has_ended(job) && !engine->context.closing) {
            store_row(engine, job);
        }
        engine->spenders = job->next_spender;
        job->in_spenders = false;
        arcp__job_unpin(job);
    }
}

void arcp__budget_delete_row(arcp__engine *engine, const arcp__job *job)
{
    if (job->has_spent_row) {
        char key[ARCP__ID_SIZE + sizeof(row_suffix)];
        arcp__batch_delete(engine->log, ARCP_STORE_JOBS, row_key(job, key));
    }
}
