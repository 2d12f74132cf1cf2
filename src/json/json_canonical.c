/* The canonical form: equal values have equal text, different ones never do. */
#include <arcp/json.h>

#include <stdlib.h>

#include "base/alloc.h"
#include "json/json_number.h"
#include "json/json_quote.h"
#include "json/json_unescape.h"

/* Objects of at most so many members are sorted by insertion. */
#define INSERTION_MAX 16u

typedef struct form {
    const arcp_json *json;
    arcp_buf *out;
    uint32_t *names; /* of the objects that are being written, the innermost last */
    size_t count;
    size_t capacity;
    uint32_t *owned; /* names, once they are more than `few` */
    uint32_t few[32];
    uint32_t depth;
    bool too_deep;
} form;

static void append_value(form *f, arcp_json_ref ref);

static int by_name(const void *a, const void *b, void *user)
{
    const form *f = user;
    return arcp__json_compare_strings(arcp_json_raw(f->json, *(const uint32_t *)a),
                                      arcp_json_raw(f->json, *(const uint32_t *)b));
}

/* The names from f->names[base] on. */
static void sort_names(form *f, size_t base)
{
    size_t count = f->count - base;
    if (count < 2) {
        return;
    }
    uint32_t *names = f->names + base;
    if (count > INSERTION_MAX) {
        qsort_r(names, count, sizeof(*names), by_name, f);
        return;
    }
    for (size_t at = 1; at < count; at++) {
        uint32_t name = names[at];
        size_t to = at;
        for (; to > 0 && by_name(&names[to - 1], &name, f) > 0; to--) {
            names[to] = names[to - 1];
        }
        names[to] = name;
    }
}

static bool push_name(form *f, uint32_t name)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity * 2;
        uint32_t *names = arcp__realloc_array(f->owned, capacity, sizeof(*names));
        if (names == NULL) {
            f->out->failed = true;
            return false;
        }
        if (f->owned == NULL) {
            memcpy(names, f->few, sizeof(f->few));
        }
        f->names = f->owned = names;
        f->capacity = capacity;
    }
    f->names[f->count++] = name;
    return true;
}

static void append_string(form *f, arcp_json_ref ref)
{
    arcp_span raw = arcp_json_raw(f->json, ref);
    if ((f->json->nodes[ref].flags & ARCP__JSON_ESCAPED) == 0) {
        arcp_buf_append(f->out, raw); /* what needs no escape has none */
        return;
    }
    arcp_buf_append_byte(f->out, '"');
    arcp__json_reader reader = arcp__json_reader_make(raw);
    for (arcp_span run = arcp__json_read(&reader); run.size != 0; run = arcp__json_read(&reader)) {
        arcp__json_append_escaped(run, f->out);
    }
    arcp_buf_append_byte(f->out, '"');
}

static void append_object(form *f, arcp_json_ref ref)
{
    size_t base = f->count;
    for (arcp_json_ref name = arcp_json_first(f->json, ref); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(f->json, ref, name)) {
        if (!push_name(f, name)) {
            return;
        }
    }
    sort_names(f, base);
    arcp_buf_append_byte(f->out, '{');
    size_t end = f->count;
    for (size_t at = base; at < end; at++) {
        uint32_t name = f->names[at];
        if (at > base) {
            arcp_buf_append_byte(f->out, ',');
        }
        append_string(f, name);
        arcp_buf_append_byte(f->out, ':');
        append_value(f, name + 1);
    }
    arcp_buf_append_byte(f->out, '}');
    f->count = base;
}

static void append_array(form *f, arcp_json_ref ref)
{
    arcp_buf_append_byte(f->out, '[');
    uint32_t end = f->json->nodes[ref].next;
    for (uint32_t at = ref + 1; at < end; at = f->json->nodes[at].next) {
        if (at > ref + 1) {
            arcp_buf_append_byte(f->out, ',');
        }
        append_value(f, at);
    }
    arcp_buf_append_byte(f->out, ']');
}

static void append_container(form *f, arcp_json_ref ref)
{
    if (f->depth == ARCP_JSON_CANONICAL_DEPTH_MAX) {
        f->too_deep = true;
    }
    if (f->too_deep || f->out->failed) {
        return;
    }
    f->depth++;
    if (f->json->nodes[ref].type == ARCP_JSON_OBJECT) {
        append_object(f, ref);
    } else {
        append_array(f, ref);
    }
    f->depth--;
}

static void append_value(form *f, arcp_json_ref ref)
{
    switch ((arcp_json_type)f->json->nodes[ref].type) {
    case ARCP_JSON_NULL:
    case ARCP_JSON_FALSE:
    case ARCP_JSON_TRUE:
        arcp_buf_append(f->out, arcp_json_raw(f->json, ref));
        break;
    case ARCP_JSON_NUMBER:
        arcp__json_number_append(arcp_json_raw(f->json, ref), f->out);
        break;
    case ARCP_JSON_STRING:
        append_string(f, ref);
        break;
    case ARCP_JSON_ARRAY:
    case ARCP_JSON_OBJECT:
        append_container(f, ref);
        break;
    }
}

arcp_status arcp_json_canonical(const arcp_json *json, arcp_json_ref ref, arcp_buf *out,
                                arcp_error *err)
{
    size_t start = out->size;
    form f = {.json = json, .out = out, .capacity = sizeof(f.few) / sizeof(f.few[0])};
    f.names = f.few;
    if (ref == ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, "null");
    } else {
        append_value(&f, ref);
    }
    arcp__free(f.owned);
    if (f.too_deep) {
        out->size = start;
        return arcp_error_set(err, ARCP_E_LIMIT, "JSON: more than %d levels have no canonical form",
                              ARCP_JSON_CANONICAL_DEPTH_MAX);
    }
    if (out->failed) {
        out->size = start;
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}

bool arcp_json_u64(const arcp_json *json, arcp_json_ref ref, uint64_t *out)
{
    return arcp_json_is(json, ref, ARCP_JSON_NUMBER) &&
           arcp__json_number_u64(arcp_json_raw(json, ref), out);
}
