/* What calls through the gateways of `arcp run` have led to: a line for each, and their sum. */
#include <stdio.h>
#include <string.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "json/json_put.h"

/* ---- one call ---- */

static arcp_span member(const arcp_json *json, const char *name, arcp_buf *room)
{
    const arcp_json_ref at = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    return arcp_json_is(json, at, ARCP_JSON_STRING) ? arcp_json_string(json, at, room)
           : at == ARCP_JSON_ABSENT                 ? arcp_span_make(NULL, 0)
                                                    : arcp_json_raw(json, at);
}

/* The members that lines show. */
static arcp_event_body read_body(arcp_event_kind kind, const arcp_json *json, arcp_buf *room)
{
    arcp_event_body body = {.kind = kind};
    if (kind == ARCP_EVENT_METRIC) {
        body.metric = (arcp_metric_body){.name = member(json, "name", &room[0]),
                                         .value = member(json, "value", &room[1]),
                                         .unit = member(json, "unit", &room[2])};
    } else if (kind == ARCP_EVENT_TOOL_CALL) {
        body.tool_call = (arcp_tool_call_body){.tool = member(json, "tool", &room[0]),
                                               .args = member(json, "args", &room[1])};
    } else if (kind == ARCP_EVENT_TOOL_RESULT) {
        body.tool_result = (arcp_tool_result_body){.error = member(json, "error", &room[0])};
    } else if (kind == ARCP_EVENT_LOG) {
        body.log = (arcp_log_body){.level = member(json, "level", &room[0]),
                                   .message = member(json, "message", &room[1])};
    }
    return body;
}

static void say(const arcp__run_report *report, const arcp__shown_event *event)
{
    arcp__program *program = report->run->program;
    const arcp__line_style style = arcp__program_style(program, 0);
    arcp_buf line = arcp_buf_init();
    /* That a tool returned is not worth a line. */
    const bool is_shown =
        event->body->kind != ARCP_EVENT_TOOL_RESULT || event->body->tool_result.error.size != 0;
    if (is_shown && !program->is_quiet && arcp__shown_line(&style, event, &line)) {
        arcp__screen_line(&program->screen, arcp_buf_span(&line));
    }
    arcp_buf_fini(&line);
}

static void write_event(arcp__run_report *report, const arcp__job_message *message)
{
    arcp_buf line = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&line);
    if (report->file < 0) {
        return;
    }
    arcp__put_cstr(&writer, "type", "event");
    arcp__put_string(&writer, "kind", message->kind_text);
    arcp__put_raw(&writer, "body", message->body);
    arcp_json_end_object(&writer);
    arcp__run_report_write(report, &line);
}

/* ---- sums ---- */

static void add_cost(arcp__run_report *report, arcp_span currency, arcp_decimal amount)
{
    size_t i = 0;
    while (i < report->cost_count && !arcp_span_equal_cstr(currency, report->costs[i].currency)) {
        i++;
    }
    arcp__run_cost *cost = &report->costs[i];
    if (i == ARCP__RUN_COSTS_MAX || currency.size >= sizeof cost->currency) {
        return; /* there are fewer currencies, and they are shorter */
    }
    if (i == report->cost_count) {
        (void)snprintf(cost->currency, sizeof cost->currency, "%.*s", (int)currency.size,
                       currency.data);
        report->cost_count++;
    }
    (void)!arcp_decimal_add(cost->amount, amount, &cost->amount);
}

void arcp__run_report_message(arcp__run_report *report, const arcp__job_message *message)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    if (message->unit.size != 0) {
        add_cost(report, message->unit, message->amount);
    }
    if (message->body.size != 0 && arcp_json_scan(&json, message->body, NULL, NULL) == ARCP_OK) {
        const arcp_event_body body = read_body(message->kind, &json, room);
        const arcp__shown_event event = {
            .kind_text = message->kind_text, .json = message->body, .body = &body};
        report->tool_calls += message->kind == ARCP_EVENT_TOOL_CALL;
        report->model_calls += message->kind == ARCP_EVENT_METRIC &&
                               arcp_span_equal_cstr(body.metric.name, "cost.inference");
        say(report, &event);
        write_event(report, message);
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
    arcp__json_fini(&json);
}

/* ---- the end ---- */

/* The whole budget of the lease in a currency; false: it has none. */
static bool budget_of(const arcp_lease *lease, const char *currency, arcp_decimal *out)
{
    arcp_budget *budget = NULL;
    bool has_one = false;
    if (arcp_budget_new(lease, NULL, &budget, NULL) != ARCP_OK) {
        return false;
    }
    for (size_t i = 0; i < arcp_budget_count(budget); i++) {
        if (arcp_span_equal_cstr(arcp_budget_currency(budget, i), currency)) {
            *out = arcp_budget_initial(budget, i);
            has_one = true;
        }
    }
    arcp_budget_unref(budget);
    return has_one;
}

static void append_count(arcp_buf *text, uint64_t count, const char *what)
{
    if (count != 0) {
        arcp_buf_append_format(text, "%s%llu %s call%s", text->size == 0 ? "" : ", ",
                               (unsigned long long)count, what, count == 1 ? "" : "s");
    }
}

void arcp__run_report_calls(const arcp__run_report *report)
{
    arcp_buf text = arcp_buf_init();
    append_count(&text, report->model_calls, "model");
    append_count(&text, report->tool_calls, "tool");
    for (size_t i = 0; i < report->cost_count; i++) {
        const arcp__run_cost *cost = &report->costs[i];
        char spent[ARCP_DECIMAL_TEXT_MAX];
        char whole[ARCP_DECIMAL_TEXT_MAX];
        arcp_decimal budget = ARCP_DECIMAL_ZERO;
        (void)arcp_decimal_format(cost->amount, spent);
        arcp_buf_append_format(&text, "%s%s", i == 0 ? "; spent " : ", ", spent);
        if (budget_of(report->run->lease, cost->currency, &budget)) {
            (void)arcp_decimal_format(budget, whole);
            arcp_buf_append_format(&text, " of %s", whole);
        }
        arcp_buf_append_format(&text, " %s", cost->currency);
    }
    if (text.size != 0) {
        arcp__program_say(report->run->program, "%.*s", (int)text.size, text.data);
    }
    arcp_buf_fini(&text);
}

void arcp__run_report_put_calls(const arcp__run_report *report, arcp_json_writer *writer)
{
    if (report->run->gateways == NULL) {
        return;
    }
    arcp__put_u64(writer, "model_calls", report->model_calls);
    arcp__put_u64(writer, "tool_calls", report->tool_calls);
    arcp__put_object(writer, "spent");
    for (size_t i = 0; i < report->cost_count; i++) {
        char spent[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(report->costs[i].amount, spent);
        arcp__put_cstr(writer, report->costs[i].currency, spent);
    }
    arcp_json_end_object(writer);
}
