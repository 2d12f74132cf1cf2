#include <arcp/json.h>

#include <assert.h>

#include "base/utf8.h"

#define DEPTH_MAX 64u

void arcp_json_compact(const arcp_json *json, arcp_json_ref ref, arcp_buf *out)
{
    arcp_span raw = arcp_json_raw(json, ref);
    if (!json->has_space) {
        arcp_buf_append(out, raw);
        return;
    }
    size_t run = 0;
    bool in_string = false;
    for (size_t at = 0; at < raw.size; at++) {
        char byte = raw.data[at];
        if (in_string) {
            if (byte == '\\') {
                at++;
            } else if (byte == '"') {
                in_string = false;
            }
        } else if (byte == '"') {
            in_string = true;
        } else if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
            arcp_buf_append(out, arcp_span_make(raw.data + run, at - run));
            run = at + 1;
        }
    }
    arcp_buf_append(out, arcp_span_from(raw, run));
}

static void append_escape(unsigned char byte, arcp_buf *out)
{
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char text[6] = {'\\', (char)byte, 0, 0, 0, 0};
    size_t size = 2;
    if (byte < 0x20) {
        if (letters[byte] != 0) {
            text[1] = letters[byte];
        } else {
            memcpy(text, "\\u00", 4);
            text[4] = "0123456789abcdef"[byte >> 4];
            text[5] = "0123456789abcdef"[byte & 15];
            size = 6;
        }
    }
    arcp_buf_append(out, arcp_span_make(text, size));
}

/* Valid UTF-8, so only quotes, backslashes and control characters need work. */
static void append_valid(arcp_span text, arcp_buf *out)
{
    size_t run = 0;
    for (size_t at = 0; at < text.size; at++) {
        unsigned char byte = (unsigned char)text.data[at];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            arcp_buf_append(out, arcp_span_make(text.data + run, at - run));
            append_escape(byte, out);
            run = at + 1;
        }
    }
    arcp_buf_append(out, arcp_span_from(text, run));
}

void arcp_json_quote(arcp_span text, arcp_buf *out)
{
    arcp_buf_append_byte(out, '"');
    while (text.size != 0) {
        size_t valid = arcp__utf8_valid_prefix(text);
        append_valid(arcp_span_first(text, valid), out);
        text = arcp_span_from(text, valid);
        if (text.size != 0) {
            arcp_buf_append_cstr(out, "\xef\xbf\xbd");
            text = arcp_span_from(text, 1);
        }
    }
    arcp_buf_append_byte(out, '"');
}

void arcp_json_writer_init(arcp_json_writer *writer, arcp_buf *out)
{
    *writer = (arcp_json_writer){.out = out};
}

static void before_value(arcp_json_writer *writer)
{
    if (writer->after_name) {
        writer->after_name = false;
        return;
    }
    uint64_t bit = UINT64_C(1) << writer->depth;
    if (writer->depth > 0 && (writer->has_items & bit) != 0) {
        arcp_buf_append_byte(writer->out, ',');
    }
    writer->has_items |= bit;
}

static void begin(arcp_json_writer *writer, char bracket)
{
    before_value(writer);
    arcp_buf_append_byte(writer->out, bracket);
    writer->depth++;
    assert(writer->depth < DEPTH_MAX);
    writer->has_items &= ~(UINT64_C(1) << writer->depth);
}

static void end(arcp_json_writer *writer, char bracket)
{
    assert(writer->depth > 0);
    writer->depth--;
    arcp_buf_append_byte(writer->out, bracket);
}

void arcp_json_begin_object(arcp_json_writer *writer)
{
    begin(writer, '{');
}

void arcp_json_end_object(arcp_json_writer *writer)
{
    end(writer, '}');
}

void arcp_json_begin_array(arcp_json_writer *writer)
{
    begin(writer, '[');
}

void arcp_json_end_array(arcp_json_writer *writer)
{
    end(writer, ']');
}

void arcp_json_name(arcp_json_writer *writer, const char *name)
{
    arcp_json_name_span(writer, arcp_span_cstr(name));
}

void arcp_json_name_span(arcp_json_writer *writer, arcp_span name)
{
    before_value(writer);
    arcp_json_quote(name, writer->out);
    arcp_buf_append_byte(writer->out, ':');
    writer->after_name = true;
}

void arcp_json_write_string(arcp_json_writer *writer, arcp_span text)
{
    before_value(writer);
    arcp_json_quote(text, writer->out);
}

void arcp_json_write_cstr(arcp_json_writer *writer, const char *text)
{
    arcp_json_write_string(writer, arcp_span_cstr(text));
}

void arcp_json_write_u64(arcp_json_writer *writer, uint64_t value)
{
    before_value(writer);
    arcp_buf_append_u64(writer->out, value);
}

void arcp_json_write_i64(arcp_json_writer *writer, int64_t value)
{
    before_value(writer);
    arcp_buf_append_i64(writer->out, value);
}

void arcp_json_write_bool(arcp_json_writer *writer, bool value)
{
    arcp_json_write_raw(writer, arcp_span_cstr(value ? "true" : "false"));
}

void arcp_json_write_null(arcp_json_writer *writer)
{
    arcp_json_write_raw(writer, ARCP_SPAN_LITERAL("null"));
}

void arcp_json_write_raw(arcp_json_writer *writer, arcp_span json)
{
    before_value(writer);
    arcp_buf_append(writer->out, json);
}
