/* The types of single values in the configuration. */
#include "config/config.h"

#include <inttypes.h>
#include <stdio.h>

#include <arcp/json.h>
#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/digits.h"
#include "base/hash.h"

static bool is_secret(const arcp__config_row *row)
{
    return (row->flags & ARCP__CONFIG_SECRET) != 0;
}

/* JSON's strings are YAML's too. */
static void print_string(const arcp__config_row *row, const char *text, arcp__print_secrets secrets,
                         arcp_buf *out)
{
    if (text == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else if (!is_secret(row)) {
        arcp_json_quote(arcp_span_cstr(text), out);
    } else if (secrets == ARCP__SECRETS_MASKED) {
        arcp_buf_append_cstr(out, "\"***\"");
    } else {
        arcp_buf_append_format(out, "\"***%016" PRIx64 "\"",
                               (uint64_t)arcp__hash_bytes(text, strlen(text)));
    }
}

/* ---- text ---- */

static void text_fini(const arcp__config_row *row, void *owner)
{
    char **text = arcp__config_value(row, owner);
    if (*text != NULL && is_secret(row)) {
        arcp_wipe(*text, strlen(*text));
    }
    arcp__free(*text);
    *text = NULL;
}

static arcp_status text_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                             const char *path, const yaml_node_t *node)
{
    return arcp__yaml_text(r, node, path, arcp__config_value(row, owner));
}

static void text_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                       arcp_buf *out)
{
    char *const *text = arcp__config_value(row, owner);
    print_string(row, *text == NULL ? row->otherwise : *text, secrets, out);
}

const arcp__config_type arcp__config_text = {
    .fini = text_fini, .read = text_read, .print = text_print};

/* ---- lists of texts ---- */

static void texts_fini(const arcp__config_row *row, void *owner)
{
    if (is_secret(row)) {
        arcp__text_list_wipe(arcp__config_value(row, owner));
    } else {
        arcp__text_list_clear(arcp__config_value(row, owner));
    }
}

static arcp_status read_item(arcp__yaml_reader *r, arcp__text_list *into, const char *path,
                             const yaml_node_t *node)
{
    char *text = NULL;
    arcp_status status = arcp__yaml_text(r, node, path, &text);
    if (status == ARCP_OK) {
        status = text == NULL ? arcp__yaml_refuse(r, node, path, "must be a string")
                              : arcp__text_list_add(into, text, r->err);
    }
    if (text != NULL) {
        arcp_wipe(text, strlen(text));
    }
    arcp__free(text);
    return status;
}

static arcp_status texts_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                              const char *path, const yaml_node_t *node)
{
    arcp__text_list *texts = arcp__config_value(row, owner);
    texts_fini(row, owner);
    if (arcp__yaml_is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, node, path, "must be a list of strings");
    }
    arcp_status status = ARCP_OK;
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         status == ARCP_OK && item < node->data.sequence.items.top; item++) {
        char here[ARCP__YAML_PATH_BYTES];
        (void)snprintf(here, sizeof here, "%s[%zu]", path, texts->count);
        status = read_item(r, texts, here, arcp__yaml_node(r, *item));
    }
    return status;
}

static void texts_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                        arcp_buf *out)
{
    const arcp__text_list *texts = arcp__config_value(row, owner);
    arcp_buf_append_byte(out, '[');
    for (size_t i = 0; i < texts->count; i++) {
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        print_string(row, texts->items[i], secrets, out);
    }
    arcp_buf_append_byte(out, ']');
}

const arcp__config_type arcp__config_texts = {
    .fini = texts_fini, .read = texts_read, .print = texts_print};

/* ---- names with texts ---- */

typedef struct pairs {
    const arcp__config_row *row;
    arcp__text_list *list;
} pairs;

static arcp_status add_pair(arcp__yaml_reader *r, const pairs *into, const char *name,
                            const char *text)
{
    arcp_buf pair = ARCP_BUF_SECRET_INIT;
    arcp_buf_append_cstr(&pair, name);
    if (text != NULL || (into->row->flags & ARCP__CONFIG_NAMES) == 0) {
        arcp_buf_append_cstr(&pair, into->row->separator);
        arcp_buf_append_cstr(&pair, text == NULL ? "" : text);
    }
    arcp_buf_append_byte(&pair, '\0');
    const arcp_status status =
        pair.failed ? arcp__yaml_no_memory(r) : arcp__text_list_add(into->list, pair.data, r->err);
    arcp_buf_fini(&pair);
    return status;
}

static arcp_status read_pair(arcp__yaml_reader *r, void *user, arcp_span key, const char *path,
                             const yaml_node_t *value)
{
    const pairs *into = user;
    char *text = NULL;
    char *name = arcp__copy_cstr(key.data, key.size);
    arcp_status status =
        name == NULL ? arcp__yaml_no_memory(r) : arcp__yaml_text(r, value, path, &text);
    if (status == ARCP_OK && into->row->accept_pair != NULL) {
        status = into->row->accept_pair(r, name, text, path, value);
    }
    if (status == ARCP_OK) {
        status = add_pair(r, into, name, text);
    }
    if (text != NULL) {
        arcp_wipe(text, strlen(text));
    }
    arcp__free(text);
    arcp__free(name);
    return status;
}

static arcp_status pairs_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                              const char *path, const yaml_node_t *node)
{
    pairs into = {row, arcp__config_value(row, owner)};
    texts_fini(row, owner);
    return arcp__yaml_members(r, node, path, read_pair, &into);
}

/* A name that YAML could read as something else is quoted. */
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

static void pairs_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                        arcp_buf *out)
{
    const arcp__text_list *list = arcp__config_value(row, owner);
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < list->count; i++) {
        const char *pair = list->items[i];
        const char *mark = strchr(pair, row->separator[0]);
        const char *text = mark == NULL ? NULL : mark + strlen(row->separator);
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        print_name(
            mark == NULL ? arcp_span_cstr(pair) : arcp_span_make(pair, (size_t)(mark - pair)), out);
        arcp_buf_append_cstr(out, ": ");
        print_string(row, is_secret(row) ? pair : text, secrets, out);
    }
    arcp_buf_append_byte(out, '}');
}

const arcp__config_type arcp__config_pairs = {
    .fini = texts_fini, .read = pairs_read, .print = pairs_print};

/* ---- flags and numbers ---- */

static arcp_status flag_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                             const char *path, const yaml_node_t *node)
{
    const arcp_span text = arcp__yaml_scalar(node);
    const bool is_true = arcp_span_equal_cstr(text, "true");
    if (!is_true && !arcp_span_equal_cstr(text, "false")) {
        return arcp__yaml_refuse(r, node, path, "must be true or false");
    }
    *(bool *)arcp__config_value(row, owner) = is_true;
    return ARCP_OK;
}

static void flag_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                       arcp_buf *out)
{
    const bool *flag = arcp__config_value(row, owner);
    arcp_buf_append_cstr(out, *flag ? "true" : "false");
}

const arcp__config_type arcp__config_flag = {.read = flag_read, .print = flag_print};

static arcp_status read_number(arcp__yaml_reader *r, const char *path, const yaml_node_t *node,
                               uint64_t *out)
{
    const arcp_span text = arcp__yaml_scalar(node);
    uint64_t number = 0;
    if (!arcp__digits_parse(text, &number) && !arcp__yaml_is_null(node)) {
        return arcp__yaml_refuse(r, node, path, "must be a whole number of 0 or more");
    }
    *out = number;
    return ARCP_OK;
}

static void number_init(const arcp__config_row *row, void *owner)
{
    *(uint64_t *)arcp__config_value(row, owner) = row->initial;
}

static arcp_status number_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                               const char *path, const yaml_node_t *node)
{
    uint64_t number = 0;
    const arcp_status status = read_number(r, path, node, &number);
    if (status != ARCP_OK) {
        return status;
    }
    if (row->maximum != 0 && (number < row->minimum || number > row->maximum)) {
        char what[96];
        (void)snprintf(what, sizeof what, "must be a whole number from %" PRIu64 " to %" PRIu64,
                       row->minimum, row->maximum);
        return arcp__yaml_refuse(r, node, path, what);
    }
    *(uint64_t *)arcp__config_value(row, owner) = number;
    return ARCP_OK;
}

static void number_print(const arcp__config_row *row, const void *owner,
                         arcp__print_secrets secrets, arcp_buf *out)
{
    arcp_buf_append_u64(out, *(const uint64_t *)arcp__config_value(row, owner));
}

const arcp__config_type arcp__config_number = {
    .init = number_init, .read = number_read, .print = number_print};

/* ---- choices ---- */

/* The index of a word, or of the end. */
static unsigned find_word(const char *const *words, arcp_span text)
{
    unsigned index = 0;
    while (words[index] != NULL && !arcp_span_equal_cstr(text, words[index])) {
        index++;
    }
    return index;
}

/* "a, b or c", with another word before the last. */
static void list_words(const char *const *words, const char *last, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; words[i] != NULL && used < size; i++) {
        const char *between = i == 0 ? "" : words[i + 1] == NULL ? last : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", between, words[i]);
    }
}

/* Enumerations are distinct types for the compiler: their bytes are copied. */
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

static arcp_status word_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                             const char *path, const yaml_node_t *node)
{
    const unsigned index = find_word(row->words, arcp__yaml_scalar(node));
    if (row->words[index] == NULL) {
        char words[96] = "";
        char what[128];
        list_words(row->words, " or ", words, sizeof words);
        (void)snprintf(what, sizeof what, "must be %s", words);
        return arcp__yaml_refuse(r, node, path, what);
    }
    word_set(row, owner, index);
    return ARCP_OK;
}

static void word_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                       arcp_buf *out)
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

static arcp_status words_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                              const char *path, const yaml_node_t *node)
{
    const arcp__config_row list_row = {.size = sizeof(arcp__text_list)};
    arcp__text_list list = {NULL, 0};
    unsigned bits = 0;
    arcp_status status = texts_read(r, &list_row, &list, path, node);
    for (size_t i = 0; status == ARCP_OK && i < list.count; i++) {
        const unsigned index = find_word(row->words, arcp_span_cstr(list.items[i]));
        bits |= 1u << index;
        if (row->words[index] == NULL) {
            char words[96] = "";
            char what[128];
            list_words(row->words, " and ", words, sizeof words);
            (void)snprintf(what, sizeof what, "must be a list of %s", words);
            status = arcp__yaml_refuse(r, node, path, what);
        }
    }
    arcp__text_list_clear(&list);
    if (status == ARCP_OK) {
        *(unsigned *)arcp__config_value(row, owner) = bits;
    }
    return status;
}

static void words_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                        arcp_buf *out)
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

/* ---- statuses ---- */

static arcp_status http_status_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                                    const char *path, const yaml_node_t *node)
{
    uint64_t number = 0;
    const arcp_status status = read_number(r, path, node, &number);
    if (status == ARCP_OK && (number < 100 || number > 599)) {
        return arcp__yaml_refuse(r, node, path, "must be an HTTP status, 100 to 599");
    }
    *(int *)arcp__config_value(row, owner) = (int)number;
    return status;
}

static void http_status_print(const arcp__config_row *row, const void *owner,
                              arcp__print_secrets secrets, arcp_buf *out)
{
    const int status = *(const int *)arcp__config_value(row, owner);
    if (status == 0) {
        arcp_buf_append_cstr(out, "null");
    } else {
        arcp_buf_append_i64(out, status);
    }
}

const arcp__config_type arcp__config_http_status = {.read = http_status_read,
                                                    .print = http_status_print};

static arcp_status error_code_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                                   const char *path, const yaml_node_t *node)
{
    const arcp_span text = arcp__yaml_scalar(node);
    *(arcp_status *)arcp__config_value(row, owner) = arcp_status_from_wire(text);
    return arcp_status_is_wire_code(text)
               ? ARCP_OK
               : arcp__yaml_refuse(r, node, path, "must be an error code such as BUDGET_EXHAUSTED");
}

static void error_code_print(const arcp__config_row *row, const void *owner,
                             arcp__print_secrets secrets, arcp_buf *out)
{
    const arcp_status *code = arcp__config_value(row, owner);
    arcp_buf_append_cstr(out, arcp_status_wire_code(*code));
}

const arcp__config_type arcp__config_error_code = {.read = error_code_read,
                                                   .print = error_code_print};
