#include "arcp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define WORD_COLUMNS   9
#define TEXT_BYTES_MAX 2000
#define JSON_BYTES_MAX 160

/* ---- the frame of a line ---- */

static void begin_line(const arcp__line_style *style, arcp_span ts, const char *word, int color,
                       arcp_buf *out)
{
    if (style->has_times && ts.size != 0) {
        arcp__append_safe(out, ts, 40);
        arcp_buf_append_byte(out, ' ');
    }
    for (unsigned depth = 0; depth < style->depth && depth < 16; depth++) {
        arcp_buf_append_cstr(out, "  ");
    }
    const bool colored = style->has_color && color != ARCP__COLOR_NONE;
    if (colored) {
        arcp_buf_append_format(out, "\033[%dm", color);
    }
    arcp__append_safe(out, arcp_span_cstr(word), 64);
    if (colored) {
        arcp_buf_append_cstr(out, "\033[0m");
    }
    for (size_t columns = strlen(word); columns < WORD_COLUMNS; columns++) {
        arcp_buf_append_byte(out, ' ');
    }
    arcp_buf_append_byte(out, ' ');
}

static void append_text(arcp_buf *out, arcp_span text)
{
    arcp__append_safe(out, text, TEXT_BYTES_MAX);
}

static void append_json(arcp_buf *out, arcp_span json)
{
    arcp__append_safe(out, json, JSON_BYTES_MAX);
}

/* Appends a text, with a blank before it unless there is one. */
static void append_next(arcp_buf *out, arcp_span text)
{
    if (text.size != 0) {
        if (out->size != 0 && out->data[out->size - 1] != ' ') {
            arcp_buf_append_byte(out, ' ');
        }
        append_text(out, text);
    }
}

void arcp__plain_line(const arcp__line_style *style, const char *word, int color, arcp_span text,
                      arcp_buf *out)
{
    begin_line(style, arcp_span_make(NULL, 0), word, color, out);
    append_text(out, text);
}

/* ---- the kinds ---- */

typedef struct line {
    const arcp__line_style *style;
    const arcp__shown_event *event;
    const arcp_event_body *body;
    arcp_buf *out;
} line;

static void begin(const line *l, const char *word, int color)
{
    begin_line(l->style, l->event->ts, word, color, l->out);
}

static bool is_level(arcp_span level, const char *word)
{
    return level.size == strlen(word) && strncasecmp(level.data, word, level.size) == 0;
}

/* Appends "CODE: message" of an error object. */
static void append_error(arcp_buf *out, arcp_span error)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf room = arcp_buf_init();
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    if (arcp_json_scan(&json, error, &limits, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        const arcp_json_ref code =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("code"));
        const arcp_json_ref text =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("message"));
        append_next(out, arcp_json_string(&json, code, &room));
        arcp_buf_append_cstr(out, ": ");
        arcp_buf_clear(&room);
        append_text(out, arcp_json_string(&json, text, &room));
    } else {
        append_json(out, error);
    }
    arcp_buf_fini(&room);
    arcp__json_fini(&json);
}

static void tool_result_line(const line *l)
{
    if (l->body->tool_result.error.size != 0) {
        begin(l, "refused", ARCP__COLOR_RED);
        append_error(l->out, l->body->tool_result.error);
    } else {
        begin(l, "returned", ARCP__COLOR_CYAN);
        append_json(l->out, l->body->tool_result.result);
    }
}

static void log_line(const line *l)
{
    const arcp_span level = l->body->log.level;
    if (is_level(level, "error") || is_level(level, "critical") || is_level(level, "fatal")) {
        begin(l, "error", ARCP__COLOR_RED);
    } else if (is_level(level, "warn") || is_level(level, "warning")) {
        begin(l, "warning", ARCP__COLOR_YELLOW);
    } else if (is_level(level, "debug") || is_level(level, "trace")) {
        begin(l, "debug", ARCP__COLOR_DIM);
    } else {
        begin(l, "log", ARCP__COLOR_NONE);
    }
    append_text(l->out, l->body->log.message);
}

/* ---- what a sandbox allows and denied ---- */

/* Whether a line of the lease in the event's `lines` has another verdict than exact. */
static bool has_inexact_line(const arcp_json *json)
{
    const arcp_json_ref lines = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lines"));
    if (!arcp_json_is(json, lines, ARCP_JSON_ARRAY)) {
        return true; /* they did not fit the event */
    }
    for (arcp_json_ref row = arcp_json_first(json, lines); row != ARCP_JSON_ABSENT;
         row = arcp_json_next(json, lines, row)) {
        const arcp_json_ref verdict = arcp_json_member(json, row, ARCP_SPAN_LITERAL("verdict"));
        if (!arcp_json_string_equals(json, verdict, ARCP_SPAN_LITERAL("exact"))) {
            return true;
        }
    }
    return false;
}

/* Appends the member, with `before` in front of it, unless it is missing. */
static bool append_member(const line *l, const arcp_json *json, const char *name,
                          const char *before)
{
    arcp_buf room = arcp_buf_init();
    const arcp_span text =
        arcp_json_string(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &room);
    if (text.size != 0) {
        arcp_buf_append_cstr(l->out, before);
        append_text(l->out, text);
    }
    arcp_buf_fini(&room);
    return text.size != 0;
}

/* `fs.read /home/you/.ssh/id_ed25519 (python3, broker)`; the text of the summary, which names no
 * operation. */
static void denied_line(const line *l, const arcp_json *json)
{
    begin(l, "denied", ARCP__COLOR_YELLOW);
    if (!append_member(l, json, "capability", "")) {
        append_text(l->out, l->body->status.message);
        return;
    }
    (void)append_member(l, json, "target", " ");
    const bool has_program = append_member(l, json, "program", " (");
    const bool has_layer = append_member(l, json, "layer", has_program ? ", " : " (");
    arcp_buf_append_cstr(l->out, has_program || has_layer ? ")" : "");
}

/* False: nothing to show. */
static bool status_line(const line *l)
{
    const bool is_denied = arcp_span_equal_cstr(l->body->status.phase, "denied");
    if (!is_denied && !arcp_span_equal_cstr(l->body->status.phase, "enforcement")) {
        begin(l, "status", ARCP__COLOR_BLUE);
        append_text(l->out, l->body->status.phase);
        append_next(l->out, l->body->status.credential_id); /* never its value */
        append_next(l->out, l->body->status.message);
        return true;
    }
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    bool is_shown = arcp_json_scan(&json, l->event->json, &limits, NULL) == ARCP_OK;
    if (is_shown && is_denied) {
        denied_line(l, &json);
    } else if (is_shown) {
        is_shown = has_inexact_line(&json);
        if (is_shown) {
            begin(l, "enforced", ARCP__COLOR_YELLOW);
            append_text(l->out, l->body->status.message);
            (void)append_member(l, &json, "level", " at level ");
        }
    }
    arcp__json_fini(&json);
    return is_shown;
}

static uint64_t count_of(const arcp_json *json, arcp_json_ref labels, const char *name)
{
    uint64_t count = 0;
    (void)!arcp_json_u64(json, arcp_json_member(json, labels, arcp_span_cstr(name)), &count);
    return count;
}

static void append_label(const line *l, const arcp_json *json, arcp_json_ref labels,
                         const char *name)
{
    arcp_buf room = arcp_buf_init();
    append_next(l->out, arcp_json_string(json, arcp_json_member(json, labels, arcp_span_cstr(name)),
                                         &room));
    arcp_buf_fini(&room);
}

/* `gpt-4o-mini 0.000123 USD, 1200+34 tokens, 0.8 s`: a call that the runtime made and charged.
 * False: the metric is an agent's own. */
static bool model_line(const line *l)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    if (!arcp_span_equal_cstr(l->body->metric.name, "cost.inference") ||
        arcp_json_scan(&json, l->event->json, &limits, NULL) != ARCP_OK) {
        return false;
    }
    const arcp_json_ref labels =
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("dimensions"));
    const bool is_gateways =
        arcp_json_string_equals(&json, arcp_json_member(&json, labels, ARCP_SPAN_LITERAL("source")),
                                ARCP_SPAN_LITERAL("gateway"));
    if (is_gateways) {
        const uint64_t took_ms = count_of(&json, labels, "duration_ms");
        begin(l, "model", ARCP__COLOR_CYAN);
        append_label(l, &json, labels, "model");
        append_next(l->out, l->body->metric.value);
        append_next(l->out, l->body->metric.unit);
        arcp_buf_append_format(
            l->out, ", %" PRIu64 "+%" PRIu64 " tokens, %" PRIu64 ".%" PRIu64 " s",
            count_of(&json, labels, "input_tokens"), count_of(&json, labels, "output_tokens"),
            took_ms / 1000, took_ms % 1000 / 100);
    }
    arcp__json_fini(&json);
    return is_gateways;
}

static void metric_line(const line *l)
{
    if (model_line(l)) {
        return;
    }
    if (arcp_span_equal_cstr(l->body->metric.name, "cost.budget.remaining") &&
        l->body->metric.unit.size != 0) {
        begin(l, "budget", ARCP__COLOR_MAGENTA);
        append_text(l->out, l->body->metric.unit);
        append_next(l->out, l->body->metric.value);
        arcp_job_budget budget;
        for (size_t i = 0; l->event->job != NULL && arcp_job_budget_at(l->event->job, i, &budget);
             i++) {
            if (arcp_span_equal_cstr(l->body->metric.unit, budget.currency) &&
                budget.initial[0] != '\0') {
                arcp_buf_append_format(l->out, " of %s", budget.initial);
            }
        }
        return;
    }
    arcp_decimal amount;
    begin(l, "metric", ARCP__COLOR_DIM);
    append_text(l->out, l->body->metric.name);
    if (arcp_span_starts_with(l->body->metric.name, ARCP_SPAN_LITERAL("cost.")) &&
        arcp_decimal_parse_spend(l->body->metric.value, &amount, NULL) == ARCP_OK) {
        char text[ARCP_DECIMAL_TEXT_MAX]; /* without an exponent, as budgets have it */
        append_next(l->out, arcp_span_make(text, arcp_decimal_format(amount, text)));
    } else {
        append_next(l->out, l->body->metric.value);
    }
    append_next(l->out, l->body->metric.unit);
}

static void other_line(const line *l)
{
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", (int)l->event->kind_text.size,
                   l->event->kind_text.size == 0 ? "" : l->event->kind_text.data);
    begin(l, word[0] == '\0' ? "event" : word, ARCP__COLOR_DIM);
    append_json(l->out, l->event->json);
}

bool arcp__event_line(const arcp__line_style *style, const arcp_client_event *event, arcp_buf *out)
{
    const arcp__shown_event shown = {.ts = event->ts,
                                     .kind_text = event->kind_text,
                                     .json = event->body,
                                     .body = arcp_client_event_body(event),
                                     .job = event->job};
    return event->kind != ARCP_EVENT_RESULT_CHUNK && arcp__shown_line(style, &shown, out);
}

bool arcp__shown_line(const arcp__line_style *style, const arcp__shown_event *event, arcp_buf *out)
{
    const arcp_event_body *body = event->body;
    const line l = {style, event, body, out};
    switch (body->kind) {
    case ARCP_EVENT_LOG:
        log_line(&l);
        break;
    case ARCP_EVENT_THOUGHT:
        begin(&l, "thought", ARCP__COLOR_DIM);
        append_text(out, body->thought.text);
        break;
    case ARCP_EVENT_TOOL_CALL:
        begin(&l, "call", ARCP__COLOR_CYAN);
        append_text(out, body->tool_call.tool);
        if (body->tool_call.args.size > 2) {
            arcp_buf_append_byte(out, ' ');
            append_json(out, body->tool_call.args);
        }
        break;
    case ARCP_EVENT_TOOL_RESULT:
        tool_result_line(&l);
        break;
    case ARCP_EVENT_STATUS:
        return status_line(&l);
    case ARCP_EVENT_METRIC:
        metric_line(&l);
        break;
    case ARCP_EVENT_ARTIFACT_REF:
        begin(&l, "artifact", ARCP__COLOR_GREEN);
        append_text(out, body->artifact_ref.uri);
        append_next(out, body->artifact_ref.content_type);
        append_next(out, body->artifact_ref.byte_size);
        arcp_buf_append_cstr(out, body->artifact_ref.byte_size.size != 0 ? " bytes" : "");
        break;
    case ARCP_EVENT_DELEGATE:
        begin(&l, "delegate", ARCP__COLOR_BLUE);
        append_text(out, body->delegate.agent);
        append_next(out, body->delegate.child_job_id);
        break;
    case ARCP_EVENT_PROGRESS:
        begin(&l, "progress", ARCP__COLOR_GREEN);
        append_text(out, body->progress.current);
        arcp_buf_append_cstr(out, body->progress.total.size != 0 ? "/" : "");
        append_text(out, body->progress.total);
        append_next(out, body->progress.units);
        append_next(out, body->progress.message);
        break;
    case ARCP_EVENT_RESULT_CHUNK:
    case ARCP_EVENT_VENDOR:
    case ARCP_EVENT_UNKNOWN:
    case ARCP_EVENT_COUNT:
        other_line(&l);
        break;
    }
    return true;
}
