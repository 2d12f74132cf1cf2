/* What an answer cost: charged to the budgets, and said as a metric. */
#include "gateway/model_parts.h"

#include "base/hash.h"
#include "core/job_port.h"
#include "gateway/model_counts.h"
#include "json/json_put.h"

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
    return i < service->distrusted_count;
}

/* The answer cost more than was held. */
static void distrust(model_call *m)
{
    model_service *service = m->service;
    const arcp__model_found *found = &m->found[m->at];
    arcp_buf body = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp__model_count_over_hold(service->counts);
    if (!arcp__model_is_distrusted(service, found) && service->distrusted_count < DISTRUSTED_MAX) {
        service->distrusted[service->distrusted_count++] = hash_of(found);
    }
    arcp_buf_append_format(
        &text,
        "call %s to the model %.*s cost more than was held for it: twice as much "
        "is held for its calls from now on",
        m->call->id, (int)(found->model.size < 80 ? found->model.size : 80), found->model.data);
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "level", "error");
    arcp__put_string(&writer, "message", arcp_buf_span(&text));
    arcp_json_end_object(&writer);
    if (!body.failed && !text.failed) {
        arcp__gateway_job_emit(m->call->job, ARCP_EVENT_LOG, arcp_buf_span(&body));
    }
    arcp_buf_fini(&body);
    arcp_buf_fini(&text);
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

void arcp__model_settle(model_call *m)
{
    arcp_decimal costs[ARCP__LLM_CURRENCIES_MAX];
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp_buf body = arcp_buf_init();
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
    if (m->hold.state == ARCP__LLM_HOLD_HELD) {
        count = arcp__llm_hold_settle(m->service->lines, &m->hold, costs, reports,
                                      ARCP__JOB_PORT_REPORTS_MAX, arcp__model_now_ms(m->service));
    }
    write_metric(m, &cost, &body);
    const arcp__job_message message = {.kind = ARCP_EVENT_METRIC,
                                       .kind_text = ARCP_SPAN_LITERAL("metric"),
                                       .body = arcp_buf_span(&body),
                                       .unit = arcp__model_currency(m->config),
                                       .amount = cost.total,
                                       .is_spent = demands != 0,
                                       .reports = reports,
                                       .report_count = count};
    if (!body.failed) {
        arcp__gateway_job_message(m->call->job, &message);
    }
    arcp__model_count_settled(m->service->counts, &cost);
    if (is_over) {
        distrust(m);
    }
    arcp_buf_fini(&body);
}

void arcp__model_release(model_call *m)
{
    arcp__llm_hold_cancel(m->service->lines, &m->hold, arcp__model_now_ms(m->service));
}
