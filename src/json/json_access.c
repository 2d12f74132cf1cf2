
/* Here the accessors of json/json.h become functions. */
#define ARCP__JSON_INLINE
#include "json/json.h"

#include "base/utf8.h"
#include "json/json_parts.h"

/* ---- strings ---- */

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned char byte = (unsigned char)digits[i];
        value = value * 16 + (byte <= '9' ? byte - 0x30u : (byte | 0x20u) - 0x57u);
    }
    return value;
}

arcp_span arcp__json_read(arcp__json_reader *reader)
{
    /* The other escapes (quote, backslash, slash) stand for themselves. */
    static const char meant[128] = {
        ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
    const char *start = reader->at;
    const size_t left = (size_t)(reader->end - start);
    if (left == 0) {
        return arcp_span_make(NULL, 0);
    }
    if (*start != '\\') {
        const char *escape = memchr(start, '\\', left);
        reader->at = escape == NULL ? reader->end : escape;
        return arcp_span_make(start, (size_t)(reader->at - start));
    }
    if (start[1] != 'u') {
        const char letter = meant[start[1] & 0x7f];
        reader->escape[0] = letter != '\0' ? letter : start[1];
        reader->at += 2;
        return arcp_span_make(reader->escape, 1);
    }
    uint32_t code = hex4(start + 2);
    reader->at += 6;
    if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(start + 8) - 0xdc00);
        reader->at += 6;
    }
    return arcp_span_make(reader->escape, arcp__utf8_encode(code, reader->escape));
}

int arcp__json_compare_strings(arcp_span a, arcp_span b)
{
    arcp__json_reader readers[2] = {arcp__json_reader_make(a), arcp__json_reader_make(b)};
    arcp_span left = arcp__json_read(&readers[0]);
    arcp_span right = arcp__json_read(&readers[1]);
    while (left.size != 0 && right.size != 0) {
        const size_t common = left.size < right.size ? left.size : right.size;
        const int order = memcmp(left.data, right.data, common);
        if (order != 0) {
            return order;
        }
        left = left.size > common ? arcp_span_from(left, common) : arcp__json_read(&readers[0]);
        right = right.size > common ? arcp_span_from(right, common) : arcp__json_read(&readers[1]);
    }
    return left.size != 0 ? 1 : (right.size != 0 ? -1 : 0);
}

/* `ref` is a string. */
static bool equals_escaped(const arcp_json *json, arcp_json_ref ref, arcp_span text)
{
    arcp__json_reader reader = arcp__json_reader_make(arcp_json_raw(json, ref));
    for (arcp_span run = arcp__json_read(&reader); run.size != 0; run = arcp__json_read(&reader)) {
        if (!arcp_span_starts_with(text, run)) {
            return false;
        }
        text = arcp_span_from(text, run.size);
    }
    return text.size == 0;
}

static inline bool equals(const arcp_json *json, arcp_json_ref ref, arcp_span text)
{
    const arcp__json_node *node = &json->nodes[ref];
    if ((node->flags & ARCP__JSON_ESCAPED) != 0) {
        return equals_escaped(json, ref, text);
    }
    return node->size - 2 == text.size &&
           (text.size == 0 || memcmp(json->text.data + node->start + 1, text.data, text.size) == 0);
}

bool arcp_json_string_equals(const arcp_json *json, arcp_json_ref ref, arcp_span text)
{
    return arcp_json_is(json, ref, ARCP_JSON_STRING) && equals(json, ref, text);
}

arcp_span arcp_json_string(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return arcp_span_make(NULL, 0);
    }
    const arcp_span raw = arcp_json_raw(json, ref);
    if ((json->nodes[ref].flags & ARCP__JSON_ESCAPED) == 0) {
        return arcp_span_make(raw.data + 1, raw.size - 2);
    }
    scratch->stays = true;
    /* Unescaping never makes a string longer. */
    if (!arcp_buf_reserve(scratch, raw.size)) {
        return arcp_span_make(NULL, 0);
    }
    const size_t start = scratch->size;
    arcp__json_reader reader = arcp__json_reader_make(raw);
    for (arcp_span run = arcp__json_read(&reader); run.size != 0; run = arcp__json_read(&reader)) {
        arcp_buf_append(scratch, run);
    }
    return arcp_span_make(scratch->data + start, scratch->size - start);
}

/* ---- members and elements ---- */

arcp_json_ref arcp_json_member(const arcp_json *json, arcp_json_ref object, arcp_span name)
{
    if (!arcp_json_is(json, object, ARCP_JSON_OBJECT)) {
        return ARCP_JSON_ABSENT;
    }
    const uint32_t end = json->nodes[object].next;
    for (uint32_t member = object + 1; member < end; member = json->nodes[member + 1].next) {
        if (equals(json, member, name)) {
            return member + 1;
        }
    }
    return ARCP_JSON_ABSENT;
}

static bool is_container(const arcp_json *json, arcp_json_ref ref)
{
    return arcp_json_is(json, ref, ARCP_JSON_OBJECT) || arcp_json_is(json, ref, ARCP_JSON_ARRAY);
}

arcp_json_ref arcp_json_first(const arcp_json *json, arcp_json_ref container)
{
    if (!is_container(json, container) || json->nodes[container].next == container + 1) {
        return ARCP_JSON_ABSENT;
    }
    return container + 1;
}

arcp_json_ref arcp_json_next(const arcp_json *json, arcp_json_ref container, arcp_json_ref at)
{
    if (at == ARCP_JSON_ABSENT || !is_container(json, container)) {
        return ARCP_JSON_ABSENT;
    }
    const bool in_object = json->nodes[container].type == ARCP_JSON_OBJECT;
    const uint32_t next = json->nodes[in_object ? at + 1 : at].next;
    return next < json->nodes[container].next ? next : ARCP_JSON_ABSENT;
}

size_t arcp_json_count(const arcp_json *json, arcp_json_ref container)
{
    size_t count = 0;
    for (arcp_json_ref item = arcp_json_first(json, container); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, container, item)) {
        count++;
    }
    return count;
}
