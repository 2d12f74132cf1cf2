/* The types of single values in the configuration, and lists of strings. */
#include "config/config.h"

#include <inttypes.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/digits.h"
#include "json/json.h"

/* ---- lists of texts ---- */

void arcp__text_list_clear(arcp__text_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        arcp_wipe(list->items[i], strlen(list->items[i]));
        arcp__free(list->items[i]);
    }
    arcp__free(list->items);
    *list = (arcp__text_list){NULL, 0};
}

arcp_status arcp__text_list_add(arcp__text_list *list, const char *text, arcp_error *err)
{
    char **items = arcp__realloc_array(list->items, list->count + 2, sizeof *items);
    char *copy = arcp__copy_cstr(text, strlen(text));
    if (items != NULL) {
        list->items = items;
    }
    if (items == NULL || copy == NULL) {
        arcp__free(copy);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    items[list->count++] = copy;
    items[list->count] = NULL;
    return ARCP_OK;
}

/* ---- text ---- */

static bool is_masked(const arcp__config_row *row, const arcp_buf *out)
{
    return (row->flags & ARCP__CONFIG_SECRET) != 0 && !out->secret;
}

static void text_fini(const arcp__config_row *row, void *owner)
{
    char **text = arcp__config_value(row, owner);
    if (*text != NULL && (row->flags & ARCP__CONFIG_SECRET) != 0) {
        arcp_wipe(*text, strlen(*text));
    }
    arcp__free(*text);
    *text = NULL;
}

static arcp_status text_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_span text = arcp__yaml_scalar(r->node);
    text_fini(row, owner);
    if (arcp__yaml_is_null(r->node)) {
        return ARCP_OK;
    }
    if (r->node->type != YAML_SCALAR_NODE || memchr(text.data, '\0', text.size)) {
        return arcp__yaml_refuse(r, "must be a string");
    }
    char **value = arcp__config_value(row, owner);
    *value = arcp__copy_cstr(text.data, text.size);
    return *value == NULL
               ? arcp__yaml_no_memory(r)
               : arcp__config_places_add(r->places, r->path, r->node->start_mark.line + 1, r->err);
}

/* A JSON string is also a valid YAML string. */
static void text_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    char *const *value = arcp__config_value(row, owner);
    const char *text = *value == NULL ? row->otherwise : *value;
    if (text == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else if (is_masked(row, out)) {
        arcp_buf_append_cstr(out, "\"***\"");
    } else {
        arcp_json_quote(arcp_span_cstr(text), out);
    }
}

const arcp__config_type arcp__config_text = {
    .fini = text_fini, .read = text_read, .print = text_print};

static arcp_status accept_item(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char *const *text = arcp__config_value(row, owner);
    return *text == NULL ? arcp__yaml_refuse(r, "must be a string") : ARCP_OK;
}

const arcp__config_row arcp__config_text_item = {
    .type = &arcp__config_text, .size = sizeof(char *), .accept = accept_item};
const arcp__config_row arcp__config_secret_item = {.type = &arcp__config_text,
                                                   .size = sizeof(char *),
                                                   .flags = ARCP__CONFIG_SECRET,
                                                   .accept = accept_item};

/* ---- pairs: names with strings ---- */

typedef struct pairs {
    const arcp__config_row *row;
    void *owner;
} pairs;

/* The items of a list as one text. */
static arcp_status read_joined(arcp__yaml_reader *r, char **out)
{
    const yaml_node_t *list = r->node;
    arcp_buf joined = arcp_buf_init();
    for (const yaml_node_item_t *at = list->data.sequence.items.start;
         at < list->data.sequence.items.top; at++) {
        const yaml_node_t *item = arcp__yaml_node(r, *at);
        const arcp_span text = arcp__yaml_scalar(item);
        if (item->type != YAML_SCALAR_NODE || text.size == 0 ||
            memchr(text.data, ',', text.size) != NULL ||
            memchr(text.data, '\0', text.size) != NULL) {
            arcp_buf_fini(&joined);
            return arcp__yaml_refuse(r, "must be a list of strings without commas");
        }
        arcp_buf_append_cstr(&joined, joined.size == 0 ? "" : ",");
        arcp_buf_append(&joined, text);
    }
    *out = arcp_buf_take_cstr(&joined);
    arcp_buf_fini(&joined);
    return *out == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
}

static arcp_status read_pair(arcp__yaml_reader *r, void *user, arcp_span key)
{
    const pairs *into = user;
    const arcp__config_row *row = into->row;
    char *text = NULL;
    char *name = arcp__copy_cstr(key.data, key.size);
    char **item = arcp__config_list_add(row, into->owner);
    if (name == NULL || item == NULL) {
        arcp__free(name);
        return arcp__yaml_no_memory(r);
    }
    /* The value is read like an item, and then appended to the name. */
    const bool is_list =
        (row->flags & ARCP__CONFIG_LISTS) != 0 && r->node->type == YAML_SEQUENCE_NODE;
    arcp_status status = is_list ? read_joined(r, &text) : text_read(r, row->item, &text);
    if (status == ARCP_OK && row->accept_pair != NULL) {
        status = row->accept_pair(r, name, text);
    }
    if (status == ARCP_OK) {
        arcp_buf pair = arcp_buf_secret_init();
        arcp_buf_append_cstr(&pair, name);
        if (text != NULL || (row->flags & ARCP__CONFIG_NAMES) == 0) {
            arcp_buf_append_cstr(&pair, row->separator);
            arcp_buf_append_cstr(&pair, text == NULL ? "" : text);
        }
        *item = arcp_buf_take_cstr(&pair);
        arcp_buf_fini(&pair);
        status = *item == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    text_fini(row->item, &text);
    arcp__free(name);
    return status;
}

static arcp_status pairs_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    pairs into = {row, owner};
    return arcp__yaml_members(r, read_pair, &into);
}

/* Quotes a name that YAML could read as something else. */
static void print_name(arcp_span name, arcp_buf *out)
{
    bool is_plain = name.size != 0;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        const char byte = name.data[i];
        is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                   (byte >= '0' && byte <= '9') || byte == '_' || (byte == '-' && i != 0);
    }
    if (is_plain) {
        arcp_buf_append(out, name);
    } else {
        arcp_json_quote(name, out);
    }
}

/* A text with commas is a list. */
static void print_joined(const char *text, arcp_buf *out)
{
    arcp_buf_append_byte(out, '[');
    for (const char *end = strchr(text, ','); end != NULL; end = strchr(text, ',')) {
        arcp_json_quote(arcp_span_make(text, (size_t)(end - text)), out);
        arcp_buf_append_cstr(out, ", ");
        text = end + 1;
    }
    arcp_json_quote(arcp_span_cstr(text), out);
    arcp_buf_append_byte(out, ']');
}

static void pairs_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const size_t count = arcp__config_list_count(row, owner);
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < count; i++) {
        const char *pair = *(char *const *)arcp__config_list_item(row, owner, i);
        const char *mark = strchr(pair, row->separator[0]);
        const char *text = mark == NULL ? NULL : mark + strlen(row->separator);
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        print_name(
            mark == NULL ? arcp_span_cstr(pair) : arcp_span_make(pair, (size_t)(mark - pair)), out);
        arcp_buf_append_cstr(out, ": ");
        if ((row->flags & ARCP__CONFIG_LISTS) != 0 && text != NULL && strchr(text, ',') != NULL) {
            print_joined(text, out);
        } else {
            text_print(row->item, is_masked(row->item, out) ? &pair : &text, out);
        }
    }
    arcp_buf_append_byte(out, '}');
}

static void pairs_fini(const arcp__config_row *row, void *owner)
{
    arcp__config_list.fini(row, owner);
}

const arcp__config_type arcp__config_pairs = {
    .fini = pairs_fini, .read = pairs_read, .print = pairs_print};

/* ---- flags and numbers ---- */

static arcp_status flag_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_span text = arcp__yaml_scalar(r->node);
    const bool is_true = arcp_span_equal_cstr(text, "true");
    if (!is_true && !arcp_span_equal_cstr(text, "false")) {
        return arcp__yaml_refuse(r, "must be true or false");
    }
    *(bool *)arcp__config_value(row, owner) = is_true;
    return ARCP_OK;
}

static void flag_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const bool *flag = arcp__config_value(row, owner);
    arcp_buf_append_cstr(out, *flag ? "true" : "false");
}

const arcp__config_type arcp__config_flag = {.read = flag_read, .print = flag_print};

/* Also reads HTTP statuses, whose member is an int (0: none). */
static void number_init(const arcp__config_row *row, void *owner)
{
    *(uint64_t *)arcp__config_value(row, owner) = row->initial;
}

static arcp_status number_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    uint64_t number = 0;
    if (!arcp__digits_parse(arcp__yaml_scalar(r->node), &number) && !arcp__yaml_is_null(r->node)) {
        return arcp__yaml_refuse(r, "must be a whole number of 0 or more");
    }
    if (row->type == &arcp__config_http_status) {
        *(int *)arcp__config_value(row, owner) = (int)number;
        return number >= 100 && number <= 599
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, "must be an HTTP status, 100 to 599");
    }
    if (row->maximum != 0 && (number < row->minimum || number > row->maximum)) {
        return arcp__yaml_refuse(r, "must be a whole number from %" PRIu64 " to %" PRIu64,
                                 row->minimum, row->maximum);
    }
    *(uint64_t *)arcp__config_value(row, owner) = number;
    return ARCP_OK;
}

static void number_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    arcp_buf_append_u64(out, *(const uint64_t *)arcp__config_value(row, owner));
}

const arcp__config_type arcp__config_number = {
    .init = number_init, .read = number_read, .print = number_print};

static void http_status_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const int status = *(const int *)arcp__config_value(row, owner);
    if (status == 0) {
        arcp_buf_append_cstr(out, "null");
    } else {
        arcp_buf_append_i64(out, status);
    }
}

const arcp__config_type arcp__config_http_status = {.read = number_read,
                                                    .print = http_status_print};

/* ---- choices ---- */

/* The index of a word, or of the NULL at the end. */
static unsigned find_word(const char *const *words, arcp_span text)
{
    unsigned index = 0;
    while (words[index] != NULL && !arcp_span_equal_cstr(text, words[index])) {
        index++;
    }
    return index;
}

/* "must be a, b or c"; `last` is the word before the last item. */
static arcp_status refuse_word(const arcp__yaml_reader *r, const arcp__config_row *row,
                               const char *of, const char *last)
{
    char text[96] = "";
    size_t used = 0;
    for (size_t i = 0; row->words[i] != NULL && used < sizeof text; i++) {
        const char *between = i == 0 ? "" : row->words[i + 1] == NULL ? last : ", ";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", between, row->words[i]);
    }
    return arcp__yaml_refuse(r, "must be %s%s", of, text);
}

/* The member may have any enum type, so the bytes of the value are copied. */
static void word_set(const arcp__config_row *row, void *owner, unsigned index)
{
    void *value = arcp__config_value(row, owner);
    if (row->size == sizeof(bool)) {
        *(bool *)value = index != 0;
    } else {
        memcpy(value, &index, sizeof index);
    }
}

static void word_init(const arcp__config_row *row, void *owner)
{
    word_set(row, owner, (unsigned)row->initial);
}

static arcp_status word_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const unsigned index = find_word(row->words, arcp__yaml_scalar(r->node));
    if (row->words[index] == NULL) {
        return refuse_word(r, row, "", " or ");
    }
    word_set(row, owner, index);
    return ARCP_OK;
}

static void word_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const void *value = arcp__config_value(row, owner);
    unsigned index = 0;
    if (row->size == sizeof(bool)) {
        index = *(const bool *)value;
    } else {
        memcpy(&index, value, sizeof index);
    }
    arcp_buf_append_cstr(out, row->words[index]);
}

const arcp__config_type arcp__config_word = {
    .init = word_init, .read = word_read, .print = word_print};

static arcp_status words_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp__config_row list_row = {
        ARCP__CONFIG_LIST("", list, arcp__text_list, items, count, &arcp__config_text_item)};
    arcp__text_list list = {NULL, 0};
    unsigned bits = 0;
    arcp_status status = arcp__config_list.read(r, &list_row, &list);
    for (size_t i = 0; status == ARCP_OK && i < list.count; i++) {
        const unsigned index = find_word(row->words, arcp_span_cstr(list.items[i]));
        bits |= 1u << index;
        if (row->words[index] == NULL) {
            status = refuse_word(r, row, "a list of ", " and ");
        }
    }
    arcp__config_list.fini(&list_row, &list);
    if (status == ARCP_OK) {
        *(unsigned *)arcp__config_value(row, owner) = bits;
    }
    return status;
}

static void words_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const unsigned bits = *(const unsigned *)arcp__config_value(row, owner);
    const char *separator = "";
    arcp_buf_append_byte(out, '[');
    for (unsigned i = 0; row->words[i] != NULL; i++) {
        if ((bits & 1u << i) != 0) {
            arcp_buf_append_format(out, "%s%s", separator, row->words[i]);
            separator = ", ";
        }
    }
    arcp_buf_append_byte(out, ']');
}

const arcp__config_type arcp__config_words = {.read = words_read, .print = words_print};

/* ---- error codes ---- */

static arcp_status error_code_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_span text = arcp__yaml_scalar(r->node);
    *(arcp_status *)arcp__config_value(row, owner) = arcp_status_from_wire(text);
    return arcp_status_is_wire_code(text)
               ? ARCP_OK
               : arcp__yaml_refuse(r, "must be an error code such as BUDGET_EXHAUSTED");
}

static void error_code_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const arcp_status *code = arcp__config_value(row, owner);
    arcp_buf_append_cstr(out, arcp_status_wire_code(*code));
}

const arcp__config_type arcp__config_error_code = {.read = error_code_read,
                                                   .print = error_code_print};

/* ---- JSON bodies: any YAML mapping or list ---- */

/* Needed because an alias can make a list an element of itself. */
#define DEPTH_MAX 32u
/* Needed because aliases can expand a short file to a very long text. */
#define BYTES_MAX 1048576u

typedef struct draft {
    arcp_json_writer writer;
    unsigned depth;
} draft;

static arcp_status write_json(arcp__yaml_reader *r, draft *into);

/* Numbers, true, false and null without quotes keep their type; everything else is a string. */
static void write_scalar(draft *into, const yaml_node_t *node)
{
    const arcp_json_limits limits = {4, 4, 4096};
    const arcp_span text = arcp__yaml_scalar(node);
    const bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.size != 0 &&
                          text.data[0] != '"' && text.data[0] != '{' && text.data[0] != '[';
    arcp_json json = ARCP__JSON_INIT;
    if (arcp__yaml_is_null(node)) {
        arcp_json_write_null(&into->writer);
    } else if (is_plain && arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK) {
        arcp_json_write_raw(&into->writer, text);
    } else {
        arcp_json_write_string(&into->writer, text);
    }
    arcp__json_fini(&json);
}

static arcp_status write_member(arcp__yaml_reader *r, void *user, arcp_span key)
{
    draft *into = user;
    arcp_json_name_span(&into->writer, key);
    return write_json(r, into);
}

/* On failure the text is incomplete. An error in an item names the list. */
static arcp_status write_json(arcp__yaml_reader *r, draft *into)
{
    const yaml_node_t *node = r->node;
    arcp_status status = ARCP_OK;
    if (into->depth == DEPTH_MAX && node->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, "is nested deeper than %u levels", DEPTH_MAX);
    }
    into->depth++;
    if (node->type == YAML_SCALAR_NODE) {
        write_scalar(into, node);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        arcp_json_begin_array(&into->writer);
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             status == ARCP_OK && item < node->data.sequence.items.top; item++) {
            r->node = arcp__yaml_node(r, *item);
            status = write_json(r, into);
        }
        if (status == ARCP_OK) {
            arcp_json_end_array(&into->writer);
        }
    } else {
        arcp_json_begin_object(&into->writer);
        status = arcp__yaml_members(r, write_member, into);
        if (status == ARCP_OK) {
            arcp_json_end_object(&into->writer);
        }
    }
    into->depth--;
    r->node = node;
    return status == ARCP_OK && into->writer.out->size > BYTES_MAX
               ? arcp__yaml_refuse(r, "makes the body longer than %u bytes", BYTES_MAX)
               : status;
}

static arcp_status json_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    if (r->node->type != YAML_MAPPING_NODE && r->node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, "must be a mapping or a list: it is sent as JSON");
    }
    arcp_buf text = arcp_buf_secret_init();
    draft into = {.depth = 0};
    arcp_json_writer_init(&into.writer, &text);
    arcp_status status = write_json(r, &into);
    if (status == ARCP_OK) {
        char **value = arcp__config_value(row, owner);
        text_fini(row, owner);
        *value = arcp_buf_take_cstr(&text);
        status = *value == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    arcp_buf_fini(&text);
    return status;
}

const arcp__config_type arcp__config_json = {
    .fini = text_fini, .read = json_read, .print = text_print};

/* ---- keys that another reader has ---- */

static arcp_status ignored_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return ARCP_OK;
}

const arcp__config_type arcp__config_ignored = {.read = ignored_read};

arcp_status arcp__config_accept_paths(arcp__yaml_reader *r, const arcp__config_row *row,
                                      void *owner)
{
    char *const *const *paths = arcp__config_value(row, owner);
    for (size_t i = 0; i < arcp__config_list_count(row, owner); i++) {
        if ((*paths)[i][0] != '/') {
            return arcp__yaml_refuse(r, "\"%.200s\": must be an absolute path", (*paths)[i]);
        }
    }
    return ARCP_OK;
}
