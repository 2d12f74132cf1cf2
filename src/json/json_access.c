#include <arcp/json.h>

#include "base/utf8.h"
#include "json/json_unescape.h"

#define FLAG_ESCAPED 1u

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;
    for (int at = 0; at < 4; at++) {
        unsigned char byte = (unsigned char)digits[at];
        value = value * 16 + (byte <= '9' ? byte - 0x30u : (byte | 0x20u) - 0x57u);
    }
    return value;
}

static char short_escape(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter; /* quote, backslash, slash */
    }
}

size_t arcp__json_read(arcp__json_reader *reader, char out[4])
{
    if (reader->at >= reader->end) {
        return 0;
    }
    if (*reader->at != '\\') {
        out[0] = *reader->at++;
        return 1;
    }
    char letter = reader->at[1];
    if (letter != 'u') {
        out[0] = short_escape(letter);
        reader->at += 2;
        return 1;
    }
    uint32_t code = hex4(reader->at + 2);
    reader->at += 6;
    if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(reader->at + 2) - 0xdc00);
        reader->at += 6;
    }
    return arcp__utf8_encode(code, out);
}

bool arcp__json_same_string(arcp_span a, arcp_span b)
{
    arcp__json_reader readers[2] = {arcp__json_reader_make(a), arcp__json_reader_make(b)};
    char bytes[2][4];
    size_t have[2] = {0, 0};
    size_t used[2] = {0, 0};
    for (;;) {
        for (int side = 0; side < 2; side++) {
            if (used[side] == have[side]) {
                have[side] = arcp__json_read(&readers[side], bytes[side]);
                used[side] = 0;
            }
        }
        if (have[0] == 0 || have[1] == 0) {
            return have[0] == have[1];
        }
        if (bytes[0][used[0]++] != bytes[1][used[1]++]) {
            return false;
        }
    }
}

bool arcp_json_string_equals(const arcp_json *json, arcp_json_ref ref, arcp_span text)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return false;
    }
    arcp_span raw = arcp_json_raw(json, ref);
    if ((json->nodes[ref].flags & FLAG_ESCAPED) == 0) {
        return raw.size == text.size + 2 &&
               (text.size == 0 || memcmp(raw.data + 1, text.data, text.size) == 0);
    }
    arcp__json_reader reader = arcp__json_reader_make(raw);
    char bytes[4];
    size_t at = 0;
    for (size_t have = arcp__json_read(&reader, bytes); have != 0;
         have = arcp__json_read(&reader, bytes)) {
        if (have > text.size - at || memcmp(text.data + at, bytes, have) != 0) {
            return false;
        }
        at += have;
    }
    return at == text.size;
}

arcp_json_ref arcp_json_member(const arcp_json *json, arcp_json_ref object, arcp_span name)
{
    if (!arcp_json_is(json, object, ARCP_JSON_OBJECT)) {
        return ARCP_JSON_ABSENT;
    }
    uint32_t end = json->nodes[object].next;
    for (uint32_t at = object + 1; at < end; at = json->nodes[at + 1].next) {
        if (arcp_json_string_equals(json, at, name)) {
            return at + 1;
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
    bool in_object = json->nodes[container].type == ARCP_JSON_OBJECT;
    uint32_t next = json->nodes[in_object ? at + 1 : at].next;
    return next < json->nodes[container].next ? next : ARCP_JSON_ABSENT;
}

size_t arcp_json_count(const arcp_json *json, arcp_json_ref container)
{
    size_t count = 0;
    for (arcp_json_ref at = arcp_json_first(json, container); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, container, at)) {
        count++;
    }
    return count;
}

arcp_span arcp_json_string(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch)
{
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return arcp_span_make(NULL, 0);
    }
    arcp_span raw = arcp_json_raw(json, ref);
    if ((json->nodes[ref].flags & FLAG_ESCAPED) == 0) {
        return arcp_span_make(raw.data + 1, raw.size - 2);
    }
    if (!arcp_buf_reserve(scratch, raw.size)) {
        return arcp_span_make(NULL, 0);
    }
    size_t start = scratch->size;
    arcp__json_reader reader = arcp__json_reader_make(raw);
    char bytes[4];
    for (size_t have = arcp__json_read(&reader, bytes); have != 0;
         have = arcp__json_read(&reader, bytes)) {
        arcp_buf_append(scratch, arcp_span_make(bytes, have));
    }
    return arcp_span_make(scratch->data + start, scratch->size - start);
}
