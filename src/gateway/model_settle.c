/* What an answer cost: charged to the budgets, and said as a metric. */
#include "gateway/model_parts.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/event_body.h"
#include "core/job_port.h"
#include "gateway/model_counts.h"
#include "json/json_put.h"

void arcp__model_log(const model_call *m, const char *level, const char *format, ...)
{
    char text[512];
    arcp_buf body = arcp_buf_init();
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp__event_write_log(arcp_span_cstr(level), arcp_span_cstr(text), &body);
    if (!body.failed) {
        arcp__gateway_job_emit(m->call->job, ARCP_EVENT_LOG, arcp_buf_span(&body));
    }
    arcp_buf_fini(&body);
}

/* ---- models whose bound was wrong once ---- */

static uint64_t hash_of(const arcp__model_found *found)
{
    return arcp__hash_bytes(found->model.data, found->model.size) ^
           (arcp__hash_bytes(found->provider->name.data, found->provider->name.size) << 1);
}

bool arcp__model_is_distrusted(const model_service *service, const arcp__model_found *found)
{
    const uint64_t hash = hash_of(found);
    size_t i = 0;
    while (i < service->distrusted_count && service->distrusted[i] != hash) {
        i++;
    }
    /* Without a place for one more, none is trusted. */
    return i < service->distrusted_count || i == DISTRUSTED_MAX;
}

/* The answer cost more than was held. */
static void distrust(model_call *m)
{
    model_service *service = m->service;
    const arcp__model_found *found = &m->found[m->at];
    arcp__model_count_over_hold(service->counts);
    if (!arcp__model_is_distrusted(service, found) && service->distrusted_count < DISTRUSTED_MAX) {
        service->distrusted[service->distrusted_count++] = hash_of(found);
    }
    arcp__model_log(m, "error",
                    "call %s to the model %.*s cost more than was held for it: twice as much is "
                    "held for its calls from now on",
                    m->call->id, (int)(found->model.size < 80 ? found->model.size : 80),
                    found->model.data);
}

/* ---- amounts ---- */

/* The cost in the currency of a demand; false: out of range. */
static bool cost_in(const model_call *m, arcp_span currency, const arcp__llm_cost *cost,
                    arcp_decimal *out)
{
    const arcp__model_exchange *exchanges = NULL;
    const size_t count = arcp__model_exchanges(m->config, &exchanges);
    const arcp_decimal unit = {1000000000000000000, 0};
    uint64_t tokens = 0;
    if (arcp_span_equal_cstr(currency, "tokens")) {
        return !__builtin_add_overflow(cost->input_tokens, cost->output_tokens, &tokens) &&
               arcp__llm_times(unit, tokens, out);
    }
    for (size_t i = 0; i < count; i++) {
        if (arcp_span_equal(currency, exchanges[i].currency)) {
            return arcp__llm_scale(cost->total, exchanges[i].rate, out);
        }
    }
    *out = cost->total;
    return true;
}

static void write_metric(const model_call *m, const arcp__llm_cost *cost, arcp_buf *out)
{
    char total[ARCP_DECIMAL_TEXT_MAX];
    const size_t size = arcp_decimal_format(cost->total, total);
    const int64_t took_ms =
        (arcp__gateway_now(m->service->gateway).mono_ns - m->began_at.mono_ns) / ARCP_NS_PER_MS;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "name", "cost.inference");
    arcp__put_raw(&writer, "value", arcp_span_make(total, size));
    arcp__put_string(&writer, "unit", arcp__model_currency(m->config));
    arcp__put_object(&writer, "dimensions");
    arcp__put_string(&writer, "model", m->found[m->at].model);
    arcp__put_string(&writer, "provider", m->found[m->at].provider->name);
    arcp__put_u64(&writer, "input_tokens", cost->input_tokens);
    arcp__put_u64(&writer, "output_tokens", cost->output_tokens);
    arcp__put_u64(&writer, "cached_tokens", cost->cached_tokens);
    arcp__put_cstr(&writer, "call_id", m->call->id);
    arcp__put_u64(&writer, "duration_ms", took_ms < 0 ? 0 : (uint64_t)took_ms);
    arcp__put_cstr(&writer, "source", "gateway");
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
}

/* What the answer cost. Without a byte of an answer nothing is known: all that was held. */
static arcp__llm_cost find_cost(model_call *m)
{
    arcp__llm_cost cost = {.input_tokens = m->sent.input_tokens,
                           .output_tokens = m->sent.output_tokens,
                           .total = m->sent.total};
    if (m->has_tap) {
        arcp__llm_tap_end(&m->tap);
        arcp__llm_settle(m->row, &m->asked.size, &m->found[m->at].provider->terms, &m->sent,
                         &m->tap, &cost);
    }
    return cost;
}

/* What the span of the request says. `error` is borrowed. */
static arcp__job_call describe(const model_call *m, arcp_span error)
{
    const arcp__model_found *found = &m->found[m->at];
    return (arcp__job_call){.name = "arcp.model",
                            .id = arcp_span_cstr(m->call->id),
                            .target = found->model,
                            .server = found->provider->name,
                            .error = error,
                            .span_id = arcp_span_cstr(m->span_id),
                            .start_wall_ns = m->sent_at.wall_ns,
                            .end_wall_ns = arcp__gateway_now(m->service->gateway).wall_ns};
}

/* What the call holds counts no more. */
static void uncount_hold(model_call *m)
{
    if (m->is_held_counted) {
        m->is_held_counted = false;
        arcp__model_count_unheld(m->service->counts, &m->hold);
    }
}

/* Sends the metric, with what follows from it for budgets and spans, to the runtime. */
static void say(model_call *m, const arcp__llm_cost *cost, const arcp_budget_report *reports,
                size_t count, bool is_spent)
{
    arcp_buf body = arcp_buf_init();
    const arcp__job_call call =
        describe(m, m->status == 0 ? ARCP_SPAN_LITERAL("lost") : arcp_span_make(NULL, 0));
    write_metric(m, cost, &body);
    const arcp__job_message message = {.kind = ARCP_EVENT_METRIC,
                                       .kind_text = ARCP_SPAN_LITERAL("metric"),
                                       .body = arcp_buf_span(&body),
                                       .unit = arcp__model_currency(m->config),
                                       .amount = cost->total,
                                       .is_spent = is_spent,
                                       .reports = reports,
                                       .report_count = count,
                                       .hold_id =
                                           arcp_span_cstr(m->has_hold_row ? m->call->id : ""),
                                       .charged_id = arcp_span_cstr(m->call->id),
                                       .call = m->span_id[0] == '\0' ? NULL : &call};
    if (!body.failed) {
        (void)arcp__gateway_job_message(m->call->job, &message);
    }
    m->has_hold_row = false;
    arcp_buf_fini(&body);
}

bool arcp__model_store_hold(model_call *m)
{
    arcp_buf held = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&held);
    for (size_t i = 0; i < m->hold.demand_count; i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(m->hold.held[i], amount);
        arcp_json_name_span(&writer, m->hold.demands[i].currency);
        arcp_json_write_cstr(&writer, amount);
    }
    arcp_json_end_object(&writer);
    const arcp__job_message message = {.hold_id = arcp_span_cstr(m->call->id),
                                       .held = arcp_buf_span(&held)};
    m->has_hold_row = !held.failed && arcp__gateway_job_message(m->call->job, &message);
    arcp_buf_fini(&held);
    return m->has_hold_row;
}

void arcp__model_settle(model_call *m)
{
    arcp_decimal costs[ARCP__LLM_CURRENCIES_MAX];
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    const arcp__llm_cost cost = find_cost(m);
    const size_t demands = m->hold.demand_count;
    bool is_over = false;
    for (size_t i = 0; i < demands; i++) {
        if (!cost_in(m, m->hold.demands[i].currency, &cost, &costs[i])) {
            costs[i] = m->hold.held[i];
        }
        is_over = is_over || arcp_decimal_compare(costs[i], m->hold.held[i]) > 0;
    }
    size_t count = 0;
    uncount_hold(m);
    if (m->hold.state == ARCP__LLM_HOLD_HELD) {
        count = arcp__llm_hold_settle(m->service->lines, &m->hold, costs, reports,
                                      ARCP__JOB_PORT_REPORTS_MAX, arcp__model_now_ms(m->service));
    }
    say(m, &cost, reports, count, demands != 0);
    arcp__model_count_settled(m->service->counts, m->found[m->at].provider->name,
                              arcp__model_currency(m->config), &cost);
    if (is_over) {
        distrust(m);
    }
    if (!cost.is_reported && demands != 0) {
        arcp__model_log(m, "warn",
                        "the answer to call %s did not report all of its usage: what is missing is "
                        "charged by what arrived, or by what was held",
                        m->call->id);
    }
}

void arcp__model_fail(model_call *m, const char *why)
{
    char status[16];
    (void)snprintf(status, sizeof status, "%u", m->status);
    const arcp__job_call call = describe(m, arcp_span_cstr(why == NULL ? status : why));
    const arcp__job_message message = {.call = &call};
    if (m->stage == MODEL_UPSTREAM && m->span_id[0] != '\0') {
        (void)arcp__gateway_job_message(m->call->job, &message);
    }
    arcp__model_release(m);
}

void arcp__model_release(model_call *m)
{
    uncount_hold(m);
    if (m->has_hold_row) {
        const arcp__job_message message = {.hold_id = arcp_span_cstr(m->call->id)};
        (void)arcp__gateway_job_message(m->call->job, &message);
        m->has_hold_row = false;
    }
    arcp__llm_hold_cancel(m->service->lines, &m->hold, arcp__model_now_ms(m->service));
}
