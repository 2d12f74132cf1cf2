#include "arcpd/yaml_reader.h"

#include <stdio.h>

#include "base/alloc.h"

arcp_status arcp__yaml_refuse(const arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                              const char *what)
{
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s%s%s", r->name,
                          node->start_mark.line + 1, key, key[0] == '\0' ? "" : ": ", what);
}

arcp_status arcp__yaml_no_memory(const arcp__yaml_reader *r)
{
    return arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
}

yaml_node_t *arcp__yaml_node(arcp__yaml_reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

arcp_span arcp__yaml_scalar(const yaml_node_t *node)
{
    return arcp_span_make((const char *)node->data.scalar.value, node->data.scalar.length);
}

bool arcp__yaml_is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return false;
    }
    arcp_span text = arcp__yaml_scalar(node);
    return text.size == 0 || arcp_span_equal_cstr(text, "null") || arcp_span_equal_cstr(text, "~");
}

arcp_status arcp__yaml_text(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                            char **out)
{
    if (arcp__yaml_is_null(node)) {
        arcp__free(*out);
        *out = NULL;
        return ARCP_OK;
    }
    if (node->type != YAML_SCALAR_NODE ||
        memchr(arcp__yaml_scalar(node).data, '\0', arcp__yaml_scalar(node).size)) {
        return arcp__yaml_refuse(r, node, key, "must be a string");
    }
    char *copy = arcp__copy_cstr(arcp__yaml_scalar(node).data, arcp__yaml_scalar(node).size);
    if (copy == NULL) {
        return arcp__yaml_no_memory(r);
    }
    arcp__free(*out);
    *out = copy;
    return arcp__config_places_add(&r->config->places, key, node->start_mark.line + 1, r->err);
}

arcp_status arcp__yaml_bool(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                            bool *out)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_span text = arcp__yaml_scalar(node);
        if (arcp_span_equal_cstr(text, "true") || arcp_span_equal_cstr(text, "false")) {
            *out = text.data[0] == 't';
            return ARCP_OK;
        }
    }
    return arcp__yaml_refuse(r, node, key, "must be true or false");
}

arcp_status arcp__yaml_count(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                             uint64_t *out)
{
    if (arcp__yaml_is_null(node)) {
        *out = 0;
        return ARCP_OK;
    }
    uint64_t value = 0;
    arcp_span text =
        node->type == YAML_SCALAR_NODE ? arcp__yaml_scalar(node) : arcp_span_make(NULL, 0);
    bool is_number = text.size != 0;
    for (size_t at = 0; at < text.size && is_number; at++) {
        is_number = text.data[at] >= '0' && text.data[at] <= '9' &&
                    !__builtin_mul_overflow(value, 10, &value) &&
                    !__builtin_add_overflow(value, (uint64_t)(text.data[at] - '0'), &value);
    }
    if (!is_number) {
        return arcp__yaml_refuse(r, node, key, "must be a whole number of 0 or more");
    }
    *out = value;
    return ARCP_OK;
}

arcp_status arcp__yaml_texts(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                             arcp__text_list *out)
{
    if (node->type == YAML_SCALAR_NODE && !arcp__yaml_is_null(node)) {
        return arcp__yaml_refuse(r, node, key, "must be a list of strings");
    }
    arcp__text_list_clear(out);
    if (arcp__yaml_is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, node, key, "must be a list of strings");
    }
    arcp_status status = ARCP_OK;
    size_t index = 0;
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         status == ARCP_OK && item < node->data.sequence.items.top; item++, index++) {
        const yaml_node_t *child = arcp__yaml_node(r, *item);
        char here[160];
        char *text = NULL;
        (void)snprintf(here, sizeof(here), "%s[%zu]", key, index);
        status = arcp__yaml_text(r, child, here, &text);
        if (status == ARCP_OK && text == NULL) {
            status = arcp__yaml_refuse(r, child, here, "must be a string");
        }
        if (status == ARCP_OK) {
            status = arcp__text_list_add(out, text, r->err);
        }
        arcp__free(text);
    }
    return status;
}

/* ---- fields ---- */

static arcp_status read_count(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                              const arcp__yaml_field *field, uint64_t *out)
{
    uint64_t number = 0;
    arcp_status status = arcp__yaml_count(r, node, path, &number);
    if (status != ARCP_OK) {
        return status;
    }
    if (field->maximum != 0 && (number < field->minimum || number > field->maximum)) {
        char what[96];
        (void)snprintf(what, sizeof(what), "must be a whole number from %llu to %llu",
                       (unsigned long long)field->minimum, (unsigned long long)field->maximum);
        return arcp__yaml_refuse(r, node, path, what);
    }
    *out = number;
    return ARCP_OK;
}

arcp_status arcp__yaml_field_read(arcp__yaml_reader *r, const arcp__yaml_field *fields,
                                  size_t count, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    for (size_t at = 0; at < count; at++) {
        if (!arcp_span_equal_cstr(key, fields[at].key)) {
            continue;
        }
        void *place = (char *)into + fields[at].offset;
        switch (fields[at].form) {
        case ARCP__YAML_TEXT:
            return arcp__yaml_text(r, value, path, place);
        case ARCP__YAML_TEXTS:
            return arcp__yaml_texts(r, value, path, place);
        case ARCP__YAML_BOOL:
            return arcp__yaml_bool(r, value, path, place);
        case ARCP__YAML_COUNT:
            return read_count(r, value, path, &fields[at], place);
        }
    }
    return ARCP_E_NOT_FOUND;
}

/* ---- mappings and lists ---- */

arcp_status arcp__yaml_members(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                               arcp__yaml_member_fn member, void *into)
{
    if (arcp__yaml_is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_MAPPING_NODE) {
        return arcp__yaml_refuse(r, node, path, "must be a mapping (key: value)");
    }
    yaml_node_pair_t *first = node->data.mapping.pairs.start;
    for (yaml_node_pair_t *pair = first; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = arcp__yaml_node(r, pair->key);
        if (key->type != YAML_SCALAR_NODE) {
            return arcp__yaml_refuse(r, key, path, "a key must be a word");
        }
        char here[160];
        (void)snprintf(here, sizeof(here), "%s%s%.*s", path, path[0] == '\0' ? "" : ".",
                       (int)arcp__yaml_scalar(key).size, arcp__yaml_scalar(key).data);
        for (yaml_node_pair_t *before = first; before < pair; before++) {
            if (arcp_span_equal(arcp__yaml_scalar(arcp__yaml_node(r, before->key)),
                                arcp__yaml_scalar(key))) {
                return arcp__yaml_refuse(r, key, here, "occurs twice");
            }
        }
        arcp_status status =
            member(r, into, arcp__yaml_scalar(key), here, arcp__yaml_node(r, pair->value));
        if (status == ARCP_E_NOT_FOUND) {
            return arcp__yaml_refuse(r, key, here, "is not a key of the configuration");
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

arcp_status arcp__yaml_items(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                             arcp_status (*item)(arcp__yaml_reader *r, const char *path,
                                                 const yaml_node_t *node))
{
    if (arcp__yaml_is_null(node)) {
        return ARCP_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, node, path, "must be a list");
    }
    size_t index = 0;
    for (yaml_node_item_t *at = node->data.sequence.items.start; at < node->data.sequence.items.top;
         at++, index++) {
        char here[160];
        (void)snprintf(here, sizeof(here), "%s[%zu]", path, index);
        const yaml_node_t *element = arcp__yaml_node(r, *at);
        arcp_status status =
            arcp__config_places_add(&r->config->places, here, element->start_mark.line + 1, r->err);
        status = status == ARCP_OK ? item(r, here, element) : status;
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}
