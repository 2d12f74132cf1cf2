/* Reading YAML nodes with errors that name file, line and key. Every function returns
 * ARCP_OK or describes in the reader's error what would be right (ARCP_E_USAGE), or
 * ARCP_E_NO_MEMORY. */
#ifndef ARCP_CONFIG_YAML_READER_H
#define ARCP_CONFIG_YAML_READER_H

#include <yaml.h>

#include <arcp/buf.h>

#include "config/places.h"

#define ARCP__YAML_PATH_BYTES 160

typedef struct arcp__yaml_reader {
    void *root;                  /* the struct of the whole configuration */
    arcp__config_places *places; /* where strings and items stand */
    const char *name;            /* of the file */
    arcp_span text;              /* of the file */
    yaml_document_t document;
    arcp_error *err;
} arcp__yaml_reader;

/* One key of a mapping, with its path. ARCP_E_NOT_FOUND: there is no such key. */
typedef arcp_status (*arcp__yaml_member_fn)(arcp__yaml_reader *r, void *into, arcp_span key,
                                            const char *path, const yaml_node_t *value);

/* Says what is wrong with a node. `key` is its path, "" where `what` names it. */
arcp_status arcp__yaml_refuse(const arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                              const char *what);
arcp_status arcp__yaml_no_memory(const arcp__yaml_reader *r);
/* The node of an index. */
yaml_node_t *arcp__yaml_node(arcp__yaml_reader *r, int index);
/* The text of a scalar node, borrowed from the document; of another node nothing. */
arcp_span arcp__yaml_scalar(const yaml_node_t *node);
/* Empty, null or ~, not in quotes. */
bool arcp__yaml_is_null(const yaml_node_t *node);
/* A string into *out (owned; what was there is freed); null makes it NULL. */
arcp_status arcp__yaml_text(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                            char **out);
/* Calls `member` for each key of a mapping, in order; a key that occurs twice is refused, and so is
 * one that `member` does not find. */
arcp_status arcp__yaml_members(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                               arcp__yaml_member_fn member, void *into);
/* The value of a key of a mapping; NULL: it is not there, or the node is no mapping. */
const yaml_node_t *arcp__yaml_find(arcp__yaml_reader *r, const yaml_node_t *node, const char *key);

#endif
