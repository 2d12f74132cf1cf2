/* The last line about a job that was followed: how it ended, how long it ran, and what it cost. */
#include "arcp/command.h"

#include <stdio.h>
#include <string.h>

#include "base/timestamp.h"

#define SUMMARY_MAX 200 /* bytes of the agent's summary that are shown */

static void add_cost(arcp__closing *closing, arcp_span currency, arcp_decimal amount)
{
    size_t i = 0;
    while (i < closing->cost_count && !arcp_span_equal_cstr(currency, closing->costs[i].currency)) {
        i++;
    }
    if (i == ARCP__CLOSING_COSTS_MAX || currency.size >= sizeof closing->costs[i].currency) {
        closing->has_more = true;
        return;
    }
    if (i == closing->cost_count) {
        memcpy(closing->costs[i].currency, currency.data, currency.size);
        closing->costs[i].currency[currency.size] = '\0';
        closing->cost_count++;
    }
    if (!arcp_decimal_add(closing->costs[i].amount, amount, &closing->costs[i].amount)) {
        closing->has_more = true;
    }
}

void arcp__closing_note(arcp__closing *closing, const arcp_client_event *event, bool is_ours)
{
    const arcp_event_body *body = arcp_client_event_body(event);
    arcp_decimal amount;
    if (is_ours && body->kind == ARCP_EVENT_STATUS && closing->started_at[0] == '\0' &&
        arcp_span_equal_cstr(body->status.phase, "running") &&
        event->ts.size < sizeof closing->started_at) {
        memcpy(closing->started_at, event->ts.data, event->ts.size);
        closing->started_at[event->ts.size] = '\0';
    }
    if (body->kind == ARCP_EVENT_METRIC && body->metric.unit.size != 0 &&
        arcp_span_starts_with(body->metric.name, ARCP_SPAN_LITERAL("cost.")) &&
        !arcp_span_starts_with(body->metric.name, ARCP_SPAN_LITERAL("cost.budget.")) &&
        arcp_decimal_parse_spend(body->metric.value, &amount, NULL) == ARCP_OK) {
        add_cost(closing, body->metric.unit, amount);
    }
}

/* Milliseconds from the start to the end; negative: one of the two is not known. */
static int64_t runtime_ms(const arcp__closing *closing, const arcp_outcome *outcome)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf room = arcp_buf_init();
    arcp__instant start, end;
    int64_t ms = -1;
    if (arcp_json_scan(&json, outcome->payload, &limits, NULL) == ARCP_OK &&
        arcp__timestamp_parse(arcp_span_cstr(closing->started_at), &start, NULL) == ARCP_OK &&
        arcp__timestamp_parse(arcp_json_string(&json,
                                               arcp_json_member(&json, ARCP_JSON_ROOT,
                                                                ARCP_SPAN_LITERAL("completed_at")),
                                               &room),
                              &end, NULL) == ARCP_OK) {
        ms = (end.wall_ns - start.wall_ns) / ARCP_NS_PER_MS;
    }
    arcp_buf_fini(&room);
    arcp__json_fini(&json);
    return ms;
}

void arcp__closing_append(const arcp__closing *closing, const arcp_outcome *outcome, arcp_buf *out)
{
    const int64_t ms = runtime_ms(closing, outcome);
    arcp_buf_append_cstr(out, arcp_job_status_name(outcome->final_status));
    if (ms >= 0 && ms < 60000) {
        arcp_buf_append_format(out, ", %lld.%lld s", (long long)(ms / 1000),
                               (long long)(ms % 1000 / 100));
    } else if (ms >= 0) {
        const long long seconds = ms / 1000;
        if (seconds >= 3600) {
            arcp_buf_append_format(out, ", %lld h %lld min", seconds / 3600, seconds / 60 % 60);
        } else {
            arcp_buf_append_format(out, ", %lld min %lld s", seconds / 60, seconds % 60);
        }
    }
    for (size_t i = 0; i < closing->cost_count; i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(closing->costs[i].amount, amount);
        arcp_buf_append_format(out, ", %s %s", closing->costs[i].currency, amount);
    }
    arcp_buf_append_cstr(out, closing->has_more ? ", and more costs" : "");
    if (outcome->summary.size != 0) {
        arcp_buf_append_cstr(out, ": ");
        arcp__append_safe(out, outcome->summary, SUMMARY_MAX);
    }
}
