#include "core/otlp.h"

#include <assert.h>
#include <stdio.h>

#include "json/json.h"
#include "json/json_put.h"

/* Flags of a span. The low byte has W3C's trace flags, of which 1 is "sampled". */
#define FLAG_SAMPLED       0x001u
#define FLAG_REMOTE_KNOWN  0x100u
#define FLAG_PARENT_REMOTE 0x200u

static void write_value(arcp_json_writer *writer, arcp_span text)
{
    arcp_json_begin_object(writer);
    arcp__put_string(writer, "stringValue", text);
    arcp_json_end_object(writer);
}

static void write_attributes(arcp_json_writer *writer, const arcp__otlp_attribute *attributes,
                             size_t count)
{
    arcp__put_array(writer, "attributes");
    for (size_t i = 0; i < count; i++) {
        const arcp__otlp_attribute *attribute = &attributes[i];
        if (attribute->texts == NULL ? attribute->text.size == 0 : attribute->text_count == 0) {
            continue;
        }
        arcp_json_begin_object(writer);
        arcp__put_string(writer, "key", arcp_span_cstr(attribute->name));
        arcp_json_name(writer, "value");
        if (attribute->texts == NULL) {
            write_value(writer, attribute->text);
        } else {
            arcp_json_begin_object(writer);
            arcp__put_object(writer, "arrayValue");
            arcp__put_array(writer, "values");
            for (size_t j = 0; j < attribute->text_count; j++) {
                write_value(writer, attribute->texts[j]);
            }
            arcp_json_end_array(writer);
            arcp_json_end_object(writer);
            arcp_json_end_object(writer);
        }
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

/* Many JSON readers cannot represent nanoseconds exactly as numbers, so they are written as
 * text. */
static void write_instant(arcp_json_writer *writer, const char *name, int64_t wall_ns)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%lld", wall_ns < 0 ? 0LL : (long long)wall_ns);
    arcp__put_string(writer, name, arcp_span_cstr(digits));
}

void arcp__otlp_span_format(const arcp__otlp_span *span, arcp_buf *out)
{
    assert(span->trace_id.size == 32 && span->span_id.size == 16);
    assert(span->parent_id.size == 0 || span->parent_id.size == 16);
    const unsigned flags =
        FLAG_SAMPLED | FLAG_REMOTE_KNOWN | (span->parent_is_remote ? FLAG_PARENT_REMOTE : 0);
    const int64_t end_ns =
        span->end_wall_ns < span->start_wall_ns ? span->start_wall_ns : span->end_wall_ns;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "traceId", span->trace_id);
    arcp__put_string(&writer, "spanId", span->span_id);
    arcp__put_text(&writer, "parentSpanId", span->parent_id);
    arcp__put_text(&writer, "traceState", span->tracestate);
    arcp__put_u64(&writer, "flags", flags);
    arcp__put_string(&writer, "name", arcp_span_cstr(span->name));
    arcp__put_u64(&writer, "kind", (uint64_t)span->kind);
    write_instant(&writer, "startTimeUnixNano", span->start_wall_ns);
    write_instant(&writer, "endTimeUnixNano", end_ns);
    write_attributes(&writer, span->attributes, span->attribute_count);
    arcp__put_object(&writer, "status");
    if (span->status != ARCP__OTLP_UNSET) {
        arcp__put_u64(&writer, "code", (uint64_t)span->status);
    }
    if (span->status == ARCP__OTLP_ERROR && span->status_message != NULL) {
        arcp__put_string(&writer, "message", arcp_span_cstr(span->status_message));
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
}

void arcp__otlp_request_begin(const arcp__otlp_attribute *resource, size_t count,
                              const char *scope_version, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"resourceSpans\":[{\"resource\":");
    arcp_json_writer writer = arcp__put_begin(out);
    write_attributes(&writer, resource, count);
    arcp_json_end_object(&writer);
    arcp_buf_append_cstr(out, ",\"scopeSpans\":[{\"scope\":");
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    arcp__put_string(&writer, "name", ARCP_SPAN_LITERAL("arcp"));
    arcp__put_string(&writer, "version", arcp_span_cstr(scope_version));
    arcp_json_end_object(&writer);
    arcp_buf_append_cstr(out, ",\"spans\":[");
}

void arcp__otlp_request_end(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "]}]}]}");
}
