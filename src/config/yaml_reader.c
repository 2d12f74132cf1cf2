#include "config/config.h"

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
    return node->type == YAML_SCALAR_NODE
               ? arcp_span_make((const char *)node->data.scalar.value, node->data.scalar.length)
               : arcp_span_make(NULL, 0);
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
    return arcp__config_places_add(r->places, key, node->start_mark.line + 1, r->err);
}

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
        char here[ARCP__YAML_PATH_BYTES];
        (void)snprintf(here, sizeof here, "%s%s%.*s", path, path[0] == '\0' ? "" : ".",
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

const yaml_node_t *arcp__yaml_find(arcp__yaml_reader *r, const yaml_node_t *node, const char *key)
{
    if (node->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        if (arcp_span_equal_cstr(arcp__yaml_scalar(arcp__yaml_node(r, pair->key)), key)) {
            return arcp__yaml_node(r, pair->value);
        }
    }
    return NULL;
}
