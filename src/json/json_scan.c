/* The scanner: one pass over the text, no recursion, one node per value and name.
 *
 * A container's node is written when it opens and completed when it closes; the stack of
 * open containers is threaded through the nodes' `next` fields, so that nesting costs no
 * memory of its own. Duplicate names are looked for when an object closes: small objects
 * by comparing all pairs, larger ones by sorting hashes of the unescaped names. */
#include <arcp/json.h>

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "json/json_unescape.h"

#define NO_PARENT    UINT32_MAX
#define PAIRWISE_MAX 12u
#define FLAG_ESCAPED 1u
#define ONES         UINT64_C(0x0101010101010101)
#define HIGHS        UINT64_C(0x8080808080808080)

typedef struct scan {
    arcp_json *json;
    const unsigned char *text;
    size_t size;
    size_t at;
    uint32_t parent; /* node of the innermost open container, or NO_PARENT */
    uint32_t depth;
    const arcp_json_limits *limits;
    arcp_error *err;
} scan;

static arcp_status refuse(scan *s, size_t offset, const char *message)
{
    return arcp_error_set_at(s->err, ARCP_E_INVALID_REQUEST, offset, "JSON: %s at byte %zu",
                             message, offset);
}

static arcp_json_node *add_node(scan *s, arcp_json_type type, size_t start)
{
    arcp_json *json = s->json;
    if (json->count == json->capacity) {
        uint32_t capacity = json->capacity == 0 ? 64 : json->capacity * 2;
        arcp_json_node *nodes = arcp__realloc_array(json->nodes, capacity, sizeof(*nodes));
        if (nodes == NULL) {
            (void)arcp_error_set(s->err, ARCP_E_NO_MEMORY, "out of memory");
            return NULL;
        }
        json->nodes = nodes;
        json->capacity = capacity;
    }
    arcp_json_node *node = &json->nodes[json->count++];
    *node = (arcp_json_node){.start = (uint32_t)start, .next = json->count, .type = (uint8_t)type};
    return node;
}

static inline void skip_space(scan *s)
{
    while (s->at < s->size) {
        unsigned char byte = s->text[s->at];
        if (byte > ' ' || (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')) {
            return;
        }
        s->json->has_space = true;
        s->at++;
    }
}

/* ---- strings ---- */

static int hex_value(unsigned char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static int32_t hex4(const scan *s, size_t at)
{
    int32_t value = 0;
    for (size_t digit = at; digit < at + 4; digit++) {
        int nibble = digit < s->size ? hex_value(s->text[digit]) : -1;
        if (nibble < 0) {
            return -1;
        }
        value = value * 16 + nibble;
    }
    return value;
}

/* At a backslash. */
static arcp_status scan_escape(scan *s)
{
    size_t start = s->at;
    unsigned char kind = s->at + 1 < s->size ? s->text[s->at + 1] : 0;
    if (kind != 0 && kind != 'u' && strchr("\"\\/bfnrt", kind) != NULL) {
        s->at += 2;
        return ARCP_OK;
    }
    if (kind != 'u') {
        return refuse(s, start, "an escape that JSON does not have");
    }
    int32_t unit = hex4(s, s->at + 2);
    if (unit < 0) {
        return refuse(s, start, "\\u without four hexadecimal digits");
    }
    s->at += 6;
    if (unit < 0xd800 || unit > 0xdfff) {
        return ARCP_OK;
    }
    bool is_pair =
        unit < 0xdc00 && s->at + 1 < s->size && s->text[s->at] == '\\' && s->text[s->at + 1] == 'u';
    int32_t low = is_pair ? hex4(s, s->at + 2) : -1;
    if (low < 0xdc00 || low > 0xdfff) {
        return refuse(s, start, "a surrogate escape without its other half");
    }
    s->at += 6;
    return ARCP_OK;
}

/* Advances over plain ASCII, eight bytes at a time. */
static inline void skip_plain(scan *s)
{
    while (s->size - s->at >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, s->text + s->at, sizeof(word));
        uint64_t quote = word ^ (ONES * '"');
        uint64_t slash = word ^ (ONES * '\\');
        uint64_t stop =
            ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | (word - ONES * 0x20) | word;
        stop &= HIGHS;
        if (stop != 0) {
            s->at += (size_t)__builtin_ctzll(stop) / 8;
            return;
        }
        s->at += sizeof(word);
    }
}

/* At the opening quote. */
static arcp_status scan_string(scan *s)
{
    size_t start = s->at;
    bool escaped = false;
    s->at++;
    for (;;) {
        skip_plain(s);
        if (s->at >= s->size) {
            return refuse(s, start, "a string that does not end");
        }
        unsigned char byte = s->text[s->at];
        if (byte == '"') {
            s->at++;
            break;
        }
        if (byte == '\\') {
            escaped = true;
            arcp_status status = scan_escape(s);
            if (status != ARCP_OK) {
                return status;
            }
        } else if (byte < 0x20) {
            return refuse(s, s->at, "a control character inside a string (write it as an escape)");
        } else if (byte < 0x80) {
            s->at++;
        } else {
            size_t left = s->size - s->at;
            size_t character = byte < 0xe0 ? 2 : (byte < 0xf0 ? 3 : 4);
            arcp_span bytes = {(const char *)s->text + s->at, character < left ? character : left};
            if (arcp__utf8_valid_prefix(bytes) != character) {
                return refuse(s, s->at, "bytes that are not UTF-8");
            }
            s->at += character;
        }
    }
    arcp_json_node *node = add_node(s, ARCP_JSON_STRING, start);
    if (node == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    node->size = (uint32_t)(s->at - start);
    node->flags = escaped ? FLAG_ESCAPED : 0;
    return ARCP_OK;
}

/* ---- numbers and words ---- */

static inline bool is_digit(const scan *s)
{
    return s->at < s->size && s->text[s->at] >= '0' && s->text[s->at] <= '9';
}

static bool skip_digits(scan *s)
{
    size_t first = s->at;
    while (is_digit(s)) {
        s->at++;
    }
    return s->at > first;
}

static arcp_status scan_number(scan *s)
{
    size_t start = s->at;
    if (s->text[s->at] == '-') {
        s->at++;
    }
    if (s->at < s->size && s->text[s->at] == '0') {
        s->at++;
        if (is_digit(s)) {
            return refuse(s, start, "a number with a leading zero");
        }
    } else if (!skip_digits(s)) {
        return refuse(s, start, "a minus sign without a number");
    }
    if (s->at < s->size && s->text[s->at] == '.') {
        s->at++;
        if (!skip_digits(s)) {
            return refuse(s, s->at, "a decimal point without digits after it");
        }
    }
    if (s->at < s->size && (s->text[s->at] == 'e' || s->text[s->at] == 'E')) {
        s->at++;
        if (s->at < s->size && (s->text[s->at] == '+' || s->text[s->at] == '-')) {
            s->at++;
        }
        if (!skip_digits(s)) {
            return refuse(s, s->at, "an exponent without digits");
        }
    }
    arcp_json_node *node = add_node(s, ARCP_JSON_NUMBER, start);
    if (node == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    node->size = (uint32_t)(s->at - start);
    return ARCP_OK;
}

static arcp_status scan_word(scan *s)
{
    static const struct {
        const char *word;
        size_t size;
        arcp_json_type type;
    } words[] = {
        {"null", 4, ARCP_JSON_NULL}, {"true", 4, ARCP_JSON_TRUE}, {"false", 5, ARCP_JSON_FALSE}};
    for (size_t at = 0; at < sizeof(words) / sizeof(words[0]); at++) {
        if (s->size - s->at >= words[at].size &&
            memcmp(s->text + s->at, words[at].word, words[at].size) == 0) {
            arcp_json_node *node = add_node(s, words[at].type, s->at);
            if (node == NULL) {
                return ARCP_E_NO_MEMORY;
            }
            node->size = (uint32_t)words[at].size;
            s->at += words[at].size;
            return ARCP_OK;
        }
    }
    if (s->text[s->at] >= 0x80) {
        return refuse(s, s->at, "bytes outside a string (is it UTF-8 JSON?)");
    }
    return refuse(s, s->at, "a character that begins no value");
}

/* ---- duplicate names ---- */

static bool same_name(const arcp_json *json, uint32_t a, uint32_t b)
{
    const arcp_json_node *first = &json->nodes[a];
    const arcp_json_node *second = &json->nodes[b];
    if (((first->flags | second->flags) & FLAG_ESCAPED) == 0) {
        return first->size == second->size &&
               memcmp(json->text.data + first->start, json->text.data + second->start,
                      first->size) == 0;
    }
    return arcp__json_same_string(arcp_json_raw(json, a), arcp_json_raw(json, b));
}

typedef struct hashed_name {
    uint64_t hash;
    uint32_t node;
} hashed_name;

static int by_hash(const void *a, const void *b)
{
    const hashed_name *first = a;
    const hashed_name *second = b;
    if (first->hash != second->hash) {
        return first->hash < second->hash ? -1 : 1;
    }
    return first->node < second->node ? -1 : 1;
}

static arcp_status duplicate(scan *s, uint32_t name)
{
    arcp_span raw = arcp_span_first(arcp_json_raw(s->json, name), 48);
    size_t offset = s->json->nodes[name].start;
    return arcp_error_set_at(s->err, ARCP_E_INVALID_REQUEST, offset,
                             "JSON: member %.*s occurs twice in one object, again at byte %zu",
                             (int)raw.size, raw.data, offset);
}

static arcp_status find_duplicates_sorted(scan *s, uint32_t object, uint32_t members)
{
    hashed_name *names = arcp__alloc_array(members, sizeof(*names));
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_status status = names == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    uint32_t name = object + 1;
    for (uint32_t at = 0; status == ARCP_OK && at < members; at++) {
        arcp_buf_clear(&scratch);
        arcp_span text = arcp_json_string(s->json, name, &scratch);
        if (scratch.failed) {
            status = ARCP_E_NO_MEMORY;
        }
        names[at] = (hashed_name){arcp__hash_bytes(text.data, text.size), name};
        name = s->json->nodes[name + 1].next;
    }
    if (status == ARCP_OK) {
        qsort(names, members, sizeof(*names), by_hash);
    }
    for (uint32_t at = 1; status == ARCP_OK && at < members; at++) {
        for (uint32_t other = at; other > 0 && names[other - 1].hash == names[at].hash; other--) {
            if (same_name(s->json, names[other - 1].node, names[at].node)) {
                status = duplicate(s, names[at].node);
                break;
            }
        }
    }
    if (status == ARCP_E_NO_MEMORY) {
        (void)arcp_error_set(s->err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf_fini(&scratch);
    arcp__free(names);
    return status;
}

static arcp_status check_names(scan *s, uint32_t object)
{
    arcp_json *json = s->json;
    uint32_t names[PAIRWISE_MAX];
    uint32_t members = 0;
    for (uint32_t name = object + 1; name < json->count; name = json->nodes[name + 1].next) {
        if (members < PAIRWISE_MAX) {
            names[members] = name;
        }
        if (++members > s->limits->members_max) {
            return refuse(s, json->nodes[name].start, "an object has too many members");
        }
    }
    if (members > PAIRWISE_MAX) {
        return find_duplicates_sorted(s, object, members);
    }
    for (uint32_t at = 1; at < members; at++) {
        for (uint32_t other = 0; other < at; other++) {
            if (same_name(json, names[other], names[at])) {
                return duplicate(s, names[at]);
            }
        }
    }
    return ARCP_OK;
}

/* ---- containers ---- */

static arcp_status open_container(scan *s, arcp_json_type type)
{
    if (s->depth >= s->limits->depth_max) {
        return refuse(s, s->at, "arrays and objects are nested too deeply");
    }
    arcp_json_node *node = add_node(s, type, s->at);
    if (node == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    node->next = s->parent;
    s->parent = s->json->count - 1;
    s->depth++;
    s->at++;
    return ARCP_OK;
}

static arcp_status close_container(scan *s)
{
    arcp_json_node *node = &s->json->nodes[s->parent];
    uint32_t container = s->parent;
    s->at++;
    node->size = (uint32_t)(s->at - node->start);
    s->parent = node->next;
    node->next = s->json->count;
    s->depth--;
    return node->type == ARCP_JSON_OBJECT ? check_names(s, container) : ARCP_OK;
}

static arcp_status scan_name(scan *s)
{
    skip_space(s);
    if (s->at >= s->size || s->text[s->at] != '"') {
        return refuse(s, s->at, "a member name in quotes was expected");
    }
    arcp_status status = scan_string(s);
    if (status != ARCP_OK) {
        return status;
    }
    skip_space(s);
    if (s->at >= s->size || s->text[s->at] != ':') {
        return refuse(s, s->at, "a colon was expected after a member name");
    }
    s->at++;
    return ARCP_OK;
}

static bool parent_is_object(const scan *s)
{
    return s->json->nodes[s->parent].type == ARCP_JSON_OBJECT;
}

/* After a value: commas and closing brackets, as many as there are. *done when the
 * outermost value is complete. */
static arcp_status scan_after_value(scan *s, bool *done)
{
    for (;;) {
        if (s->parent == NO_PARENT) {
            *done = true;
            return ARCP_OK;
        }
        skip_space(s);
        unsigned char byte = s->at < s->size ? s->text[s->at] : 0;
        if (byte == ',') {
            s->at++;
            return parent_is_object(s) ? scan_name(s) : ARCP_OK;
        }
        if (byte != (parent_is_object(s) ? '}' : ']')) {
            return refuse(s, s->at,
                          s->at >= s->size ? "the text ends too early"
                                           : "a comma or a closing bracket was expected");
        }
        arcp_status status = close_container(s);
        if (status != ARCP_OK) {
            return status;
        }
    }
}

/* One value, or the opening of a container. *opened when there is no value yet to go on
 * after: the container has a first child to scan. */
static arcp_status scan_value(scan *s, bool *opened)
{
    skip_space(s);
    *opened = false;
    if (s->at >= s->size) {
        return refuse(s, s->at, "a value was expected, the text ends");
    }
    unsigned char byte = s->text[s->at];
    if (byte == '"') {
        return scan_string(s);
    }
    if (byte == '-' || (byte >= '0' && byte <= '9')) {
        return scan_number(s);
    }
    if (byte != '{' && byte != '[') {
        return scan_word(s);
    }
    arcp_status status = open_container(s, byte == '{' ? ARCP_JSON_OBJECT : ARCP_JSON_ARRAY);
    if (status != ARCP_OK) {
        return status;
    }
    skip_space(s);
    if (s->at < s->size && s->text[s->at] == (byte == '{' ? '}' : ']')) {
        return close_container(s);
    }
    *opened = true;
    return byte == '{' ? scan_name(s) : ARCP_OK;
}

static arcp_status scan_all(scan *s)
{
    for (bool done = false; !done;) {
        bool opened = false;
        arcp_status status = scan_value(s, &opened);
        if (status == ARCP_OK && !opened) {
            status = scan_after_value(s, &done);
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    skip_space(s);
    return s->at == s->size ? ARCP_OK : refuse(s, s->at, "there is text after the value");
}

arcp_status arcp_json_scan(arcp_json *json, arcp_span text, const arcp_json_limits *limits,
                           arcp_error *err)
{
    json->text = text;
    json->count = 0;
    json->has_space = false;
    scan s = {.json = json,
              .text = (const unsigned char *)text.data,
              .size = text.size,
              .parent = NO_PARENT,
              .limits = limits,
              .err = err};
    arcp_status status = ARCP_OK;
    if (text.size > limits->bytes_max || text.size >= UINT32_MAX) {
        status = refuse(&s, limits->bytes_max, "the text is longer than allowed");
    } else {
        status = scan_all(&s);
    }
    if (status != ARCP_OK) {
        json->count = 0;
        json->text = arcp_span_make(NULL, 0);
    }
    return status;
}

void arcp_json_fini(arcp_json *json)
{
    arcp__free(json->nodes);
    *json = (arcp_json)ARCP_JSON_INIT;
}
