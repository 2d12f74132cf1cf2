/* What the operator is told of a job: a line when it starts, one when it ends, and what goes wrong
 * in between, all with the same fields; and how it ended, for the audit log. */
#include "engine/job_log.h"
#include "engine/parts.h"
#include "json/json_put.h"

#include <stdio.h>

/* An agent may spend in any number of currencies, which may have any name. Those beyond the limits
 * are left out; `cost` of an audit line, which is text there, is never cut within its JSON. */
#define COSTS_MAX       8u
#define COSTS_BYTES_MAX 1024u

/* ---- what it cost ---- */

void arcp__job_cost_add(arcp__job *job, arcp_span currency, arcp_decimal amount)
{
    arcp__job_live *live = job->live;
    arcp__job_cost *cost = live->costs;
    while (cost != NULL && !arcp_span_equal_cstr(currency, cost->currency)) {
        cost = cost->next;
    }
    if (cost == NULL && live->cost_count < COSTS_MAX && currency.size <= ARCP__CURRENCY_BYTES_MAX &&
        memchr(currency.data, '\0', currency.size) == NULL) {
        cost = arcp__alloc(sizeof(*cost) + currency.size + 1);
        if (cost == NULL) {
            return; /* of a figure for people; budgets have their own counters */
        }
        memcpy(cost->currency, currency.data, currency.size);
        cost->currency[currency.size] = '\0';
        cost->amount = (arcp_decimal)ARCP_DECIMAL_ZERO;
        LL_APPEND(live->costs, cost);
        live->cost_count++;
    }
    if (cost != NULL) {
        (void)!arcp_decimal_add(cost->amount, amount, &cost->amount);
    }
}

void arcp__job_costs_free(arcp__job_live *live)
{
    while (live->costs != NULL) {
        arcp__job_cost *cost = live->costs;
        live->costs = cost->next;
        arcp__free(cost);
    }
}

/* {"USD":"0.9"}; nothing without costs. */
static void write_costs(const arcp__job *job, arcp_buf *out)
{
    if (job->live->costs == NULL) {
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    for (const arcp__job_cost *cost = job->live->costs; cost != NULL; cost = cost->next) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        const size_t before = out->size;
        arcp__put_string(&writer, cost->currency,
                         arcp_span_make(amount, arcp_decimal_format(cost->amount, amount)));
        if (out->size >= COSTS_BYTES_MAX) { /* and the brace */
            out->size = before;
            break;
        }
    }
    arcp_json_end_object(&writer);
}

/* ---- lines of the log ---- */

static void open_fields(const arcp__job *job, arcp_json_writer *writer, arcp_buf *out)
{
    arcp_json_writer_init(writer, out);
    arcp_json_begin_object(writer);
    arcp__write_text(writer, "job_id", job->id);
    arcp__write_text(writer, "agent", job->agent_text);
    arcp__write_text(writer, "principal", job->principal->name);
    arcp__write_text(writer, "session_id", job->session_id);
    arcp__write_text(writer, "parent_job_id", job->parent_id);
    arcp__write_text(writer, "trace_id", job->trace_id);
}

void arcp__job_fields(const arcp__job *job, arcp_buf *out)
{
    arcp_json_writer writer;
    open_fields(job, &writer, out);
    arcp_json_end_object(&writer);
}

void arcp__job_log(arcp__engine *engine, arcp__log_level level, const arcp__job *job,
                   const char *message)
{
    arcp_buf fields = ARCP_BUF_INIT;
    if (!engine->options.has_no_log) {
        arcp__job_fields(job, &fields);
        arcp__effect_log_fields(engine->log, level, message, &fields);
    }
}

static uint64_t duration_ms(const arcp__job *job)
{
    int64_t lasted_ns = job->ended_wall_ns - job->created_wall_ns;
    return lasted_ns < 0 ? 0 : (uint64_t)(lasted_ns / ARCP_NS_PER_MS);
}

void arcp__job_log_end(arcp__engine *engine, const arcp__job *job)
{
    arcp_buf fields = ARCP_BUF_INIT;
    arcp_buf costs = ARCP_BUF_INIT;
    arcp_json_writer writer;
    char duration[24];
    if (engine->options.has_no_log) {
        return;
    }
    const char *status = arcp_job_status_name(job->status);
    write_costs(job, &costs);
    open_fields(job, &writer, &fields);
    arcp__write_text(&writer, "status", status);
    arcp__write_text(&writer, "code",
                     job->status == ARCP_JOB_SUCCESS ? NULL : arcp_status_wire_code(job->end_code));
    arcp__put_u64(&writer, "duration_ms", duration_ms(job));
    if (costs.size != 0) {
        arcp__put_raw(&writer, "cost", arcp_buf_span(&costs));
    }
    arcp_json_end_object(&writer);
    fields.failed = fields.failed || costs.failed;
    arcp__effect_log_fields(engine->log, ARCP__LOG_INFO, "job ended", &fields);
    (void)snprintf(duration, sizeof(duration), "%llu", (unsigned long long)duration_ms(job));
    arcp__audit(engine->log, &(arcp__audit_line){
                                 .event = ARCP__AUDIT_END,
                                 .decision = status,
                                 .who = arcp__job_who(job),
                                 .code = job->status == ARCP_JOB_SUCCESS ? ARCP_OK : job->end_code,
                                 .more = {{"duration_ms", arcp_span_cstr(duration)},
                                          {"cost", arcp_buf_span(&costs)}}});
    arcp_buf_fini(&costs);
}
