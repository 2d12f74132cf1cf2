/* Shorthand for writing objects: each call writes a member's name and value. */
#ifndef ARCP_JSON_JSON_PUT_H
#define ARCP_JSON_JSON_PUT_H

#include "json/json.h"

/* A writer that appends an object to `out`, with the object begun. */
static inline arcp_json_writer arcp__put_begin(arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    return writer;
}

static inline void arcp__put_string(arcp_json_writer *writer, const char *name, arcp_span text)
{
    arcp_json_name(writer, name);
    arcp_json_write_string(writer, text);
}

/* An empty text is left out. */
static inline void arcp__put_text(arcp_json_writer *writer, const char *name, arcp_span text)
{
    if (text.size != 0) {
        arcp__put_string(writer, name, text);
    }
}

static inline void arcp__put_cstr(arcp_json_writer *writer, const char *name, const char *text)
{
    arcp__put_string(writer, name, arcp_span_cstr(text));
}

/* A text that is empty or NULL is left out. */
static inline void arcp__put_word(arcp_json_writer *writer, const char *name, const char *text)
{
    if (text != NULL) {
        arcp__put_text(writer, name, arcp_span_cstr(text));
    }
}

/* Empty JSON is left out. */
static inline void arcp__put_raw(arcp_json_writer *writer, const char *name, arcp_span json)
{
    if (json.size != 0) {
        arcp_json_name(writer, name);
        arcp_json_write_raw(writer, json);
    }
}

static inline void arcp__put_u64(arcp_json_writer *writer, const char *name, uint64_t value)
{
    arcp_json_name(writer, name);
    arcp_json_write_u64(writer, value);
}

static inline void arcp__put_i64(arcp_json_writer *writer, const char *name, int64_t value)
{
    arcp_json_name(writer, name);
    arcp_json_write_i64(writer, value);
}

static inline void arcp__put_bool(arcp_json_writer *writer, const char *name, bool value)
{
    arcp_json_name(writer, name);
    arcp_json_write_bool(writer, value);
}

static inline void arcp__put_object(arcp_json_writer *writer, const char *name)
{
    arcp_json_name(writer, name);
    arcp_json_begin_object(writer);
}

static inline void arcp__put_array(arcp_json_writer *writer, const char *name)
{
    arcp_json_name(writer, name);
    arcp_json_begin_array(writer);
}

#endif
