
#include <assert.h>

#include "base/utf8.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "json/json_plain.h"

#define DEPTH_MAX 64u

/* ---- without white space ---- */

static bool is_space(unsigned char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

void arcp_json_compact(const arcp_json *json, arcp_json_ref ref, arcp_buf *out)
{
    const arcp_span raw = arcp_json_raw(json, ref);
    if (!json->has_space || raw.size == 0) { /* an absent value is empty */
        arcp_buf_append(out, raw);
        return;
    }
    const unsigned char *cursor = (const unsigned char *)raw.data;
    const unsigned char *end = cursor + raw.size;
    const unsigned char *run = cursor;
    while (cursor < end) {
        if (*cursor == '"') {
            cursor = arcp__json_skip_plain(cursor + 1, end);
            while (*cursor != '"') {
                cursor = arcp__json_skip_plain(cursor + (*cursor == '\\' ? 2 : 1), end);
            }
            cursor++;
        } else if (!is_space(*cursor)) {
            cursor++;
        } else {
            arcp_buf_append(out, arcp_span_make((const char *)run, (size_t)(cursor - run)));
            do {
                cursor++;
            } while (cursor < end && is_space(*cursor));
            run = cursor;
        }
    }
    arcp_buf_append(out, arcp_span_make((const char *)run, (size_t)(end - run)));
}

/* ---- strings ---- */

void arcp__json_append_escaped(arcp_span text, arcp_buf *out)
{
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    static const char hex[] = "0123456789abcdef";
    if (text.size == 0) {
        return;
    }
    const unsigned char *cursor = (const unsigned char *)text.data;
    const unsigned char *end = cursor + text.size;
    const unsigned char *run = cursor;
    for (cursor = arcp__json_skip_plain(cursor, end); cursor < end;
         cursor = arcp__json_skip_plain(cursor, end)) {
        size_t character = 0;
        if (*cursor >= 0x80) {
            character = arcp__utf8_character_size(cursor, (size_t)(end - cursor));
            if (character != 0) {
                cursor += character;
                continue;
            }
        }
        arcp_buf_append(out, arcp_span_make((const char *)run, (size_t)(cursor - run)));
        if (*cursor >= 0x80) {
            arcp_buf_append(out, ARCP_SPAN_LITERAL("\xef\xbf\xbd"));
        } else {
            /* A byte below 0x20, a quote or a backslash. */
            const char letter = *cursor < 0x20 ? letters[*cursor] : (char)*cursor;
            const char escape[6] = {'\\', letter != 0 ? letter : 'u', '0',
                                    '0',  hex[*cursor >> 4],          hex[*cursor & 15]};
            arcp_buf_append(out, arcp_span_make(escape, letter != 0 ? 2 : 6));
        }
        run = ++cursor;
    }
    arcp_buf_append(out, arcp_span_make((const char *)run, (size_t)(end - run)));
}

/* Usually nothing needs an escape, and the buffer grows only here. `before` and `after` are written
 * around the quotes; NUL: nothing. */
static inline void append_quoted(char before, arcp_span text, char after, arcp_buf *out)
{
    if (text.size > SIZE_MAX - 4 || !arcp_buf_reserve(out, text.size + 4)) {
        out->failed = true;
        return;
    }
    char *to = out->data + out->size;
    if (before != '\0') {
        *to++ = before;
    }
    *to++ = '"';
    if (arcp__json_is_all_plain((const unsigned char *)text.data, text.size)) {
        if (text.size != 0) {
            memcpy(to, text.data, text.size);
        }
        to += text.size;
    } else {
        out->size = (size_t)(to - out->data);
        arcp__json_append_escaped(text, out);
        if (!arcp_buf_reserve(out, 2)) {
            return;
        }
        to = out->data + out->size;
    }
    *to++ = '"';
    if (after != '\0') {
        *to++ = after;
    }
    out->size = (size_t)(to - out->data);
}

void arcp_json_quote(arcp_span text, arcp_buf *out)
{
    append_quoted('\0', text, '\0', out);
}

/* ---- the writer ---- */

void arcp_json_writer_init(arcp_json_writer *writer, arcp_buf *out)
{
    *writer = (arcp_json_writer){.out = out};
}

/* The bit of the innermost open array or object. */
static uint64_t level_bit(const arcp_json_writer *writer)
{
    return UINT64_C(1) << (writer->depth - 1);
}

/* The separator before the next value or name; NUL: none. */
static inline char separator(arcp_json_writer *writer)
{
    if (writer->after_name) {
        writer->after_name = false;
        return '\0';
    }
    if (writer->depth == 0) {
        return '\0';
    }
    const uint64_t level = level_bit(writer);
    const bool is_first = (writer->has_items & level) == 0;
    writer->has_items |= level;
    return is_first ? '\0' : ',';
}

static void before_value(arcp_json_writer *writer)
{
    const char comma = separator(writer);
    if (comma != '\0') {
        arcp_buf_append_byte(writer->out, comma);
    }
}

static void begin(arcp_json_writer *writer, char bracket)
{
    before_value(writer);
    arcp_buf_append_byte(writer->out, bracket);
    assert(writer->depth < DEPTH_MAX);
    writer->depth++;
    writer->has_items &= ~level_bit(writer);
}

static void end(arcp_json_writer *writer, char bracket)
{
    assert(writer->depth > 0 && !writer->after_name);
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
    append_quoted(separator(writer), name, ':', writer->out);
    writer->after_name = true;
}

void arcp_json_write_string(arcp_json_writer *writer, arcp_span text)
{
    append_quoted(separator(writer), text, '\0', writer->out);
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
