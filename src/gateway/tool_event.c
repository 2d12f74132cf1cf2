/* What the log of a job has of its calls to tools. */
#include "base/utf8.h"
#include "core/event_body.h"
#include "gateway/tool_parts.h"
#include "json/json_put.h"

#define SHOWN_BYTES 4096 /* of the arguments, and of the result */

/* A value that may be cut: JSON if it is short, else an object with the beginning of its text. */
static void put_value(arcp_json_writer *writer, const char *name, arcp_span json)
{
    if (json.size <= SHOWN_BYTES) {
        arcp__put_raw(writer, name, json);
        return;
    }
    size_t size = SHOWN_BYTES;
    while (size > 0 && ((unsigned char)json.data[size] & 0xC0) == 0x80) {
        size--;
    }
    arcp__put_object(writer, name);
    arcp__put_string(writer, "text", arcp_span_first(json, size));
    arcp__put_u64(writer, "bytes", json.size);
    arcp_json_end_object(writer);
}

/* `ended`: for the span of the call; NULL: none is made. */
static void emit(arcp__tool_call *c, arcp_event_kind kind, arcp_json_writer *writer,
                 const arcp__job_call *ended)
{
    arcp_json_end_object(writer);
    if (!writer->out->failed) {
        const arcp__job_message message = {.kind = kind,
                                           .kind_text = arcp_span_cstr(arcp_event_kind_name(kind)),
                                           .body = arcp_buf_span(writer->out),
                                           .call = ended};
        arcp__gateway_job_message(c->call->job, &message);
    }
    arcp_buf_fini(writer->out);
}

void arcp__tool_say_call(arcp__tool_call *c, arcp__tool_log log)
{
    arcp_buf body = arcp_buf_init();
    arcp_buf args = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_string(&writer, "tool", arcp_buf_span(&c->target));
    arcp__put_cstr(&writer, "call_id", c->call->id);
    if (log != ARCP__TOOL_LOG_NONE && c->params.size != 0) {
        arcp_buf_append_byte(&args, '{');
        arcp_buf_append(&args, arcp_buf_span(&c->params));
        arcp_buf_append_byte(&args, '}');
        put_value(&writer, "args", arcp_buf_span(&args));
    } else if (log != ARCP__TOOL_LOG_NONE && c->post.arguments != ARCP_JSON_ABSENT) {
        arcp_json_compact(&c->post.json, c->post.arguments, &args);
        put_value(&writer, "args", arcp_buf_span(&args));
    }
    emit(c, ARCP_EVENT_TOOL_CALL, &writer, NULL);
    arcp_buf_fini(&args);
    c->has_said_call = true;
}

void arcp__tool_say_result(arcp__tool_call *c, arcp__tool_log log, arcp_span result,
                           const char *code, const char *text)
{
    arcp_buf body = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "call_id", c->call->id);
    if (result.size == 0) {
        arcp__put_object(&writer, "error");
        arcp__put_cstr(&writer, "code", code);
        arcp__put_cstr(&writer, "message", text);
        arcp_json_end_object(&writer);
    } else if (log == ARCP__TOOL_LOG_FULL) {
        put_value(&writer, "result", result);
    } else {
        arcp__put_object(&writer, "result");
        arcp__put_u64(&writer, "bytes", result.size);
        arcp_json_end_object(&writer);
    }
    const arcp__job_call ended = {.name = "arcp.tool",
                                  .id = arcp_span_cstr(c->call->id),
                                  .target = arcp_buf_span(&c->target),
                                  .server = arcp_span_cstr(c->server_name),
                                  .error = arcp_span_cstr(result.size == 0 ? code : ""),
                                  .span_id = arcp_span_cstr(c->span_id),
                                  .start_wall_ns = c->sent_at.wall_ns,
                                  .end_wall_ns = arcp__gateway_now(c->service->gateway).wall_ns};
    emit(c, ARCP_EVENT_TOOL_RESULT, &writer, c->span_id[0] == '\0' ? NULL : &ended);
}

void arcp__tool_say_cost(arcp__tool_call *c, const arcp_budget_report *reports, size_t count)
{
    char value[ARCP_DECIMAL_TEXT_MAX];
    arcp_buf body = arcp_buf_init();
    const size_t size = arcp_decimal_format(c->price->amount, value);
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "name", "cost.tool");
    arcp__put_raw(&writer, "value", arcp_span_make(value, size));
    arcp__put_string(&writer, "unit", c->price->currency);
    arcp__put_object(&writer, "dimensions");
    arcp__put_string(&writer, "tool", arcp_buf_span(&c->target));
    arcp__put_cstr(&writer, "call_id", c->call->id);
    arcp__put_cstr(&writer, "source", "gateway");
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    const arcp__job_message message = {.kind = ARCP_EVENT_METRIC,
                                       .kind_text = ARCP_SPAN_LITERAL("metric"),
                                       .body = arcp_buf_span(&body),
                                       .unit = c->price->currency,
                                       .amount = c->price->amount,
                                       .is_spent = true,
                                       .reports = reports,
                                       .report_count = count};
    arcp__gateway_job_message(c->call->job, &message);
    arcp_buf_fini(&body);
}

void arcp__tool_say_log(arcp__gateway_job *job, const char *level, const char *text)
{
    arcp_buf body = arcp_buf_init();
    arcp__event_write_log(arcp_span_cstr(level), arcp_span_cstr(text), &body);
    if (!body.failed) {
        arcp__gateway_job_emit(job, ARCP_EVENT_LOG, arcp_buf_span(&body));
    }
    arcp_buf_fini(&body);
}
