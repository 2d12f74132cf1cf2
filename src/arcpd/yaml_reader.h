/* Reading YAML nodes with errors that name file, line and key. Every function returns
 * ARCP_OK or describes in the reader's error what would be right (ARCP_E_USAGE), or
 * ARCP_E_NO_MEMORY. */
#ifndef ARCP_ARCPD_YAML_READER_H
#define ARCP_ARCPD_YAML_READER_H

#include <yaml.h>

#include "arcpd/config.h"

typedef struct arcp__yaml_reader {
    arcp__config *config;
    const char *name; /* of the file */
    arcp_span text;   /* of the file */
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
/* The text of a scalar node; borrowed from the document. */
arcp_span arcp__yaml_scalar(const yaml_node_t *node);
/* Empty, null or ~, not in quotes. */
bool arcp__yaml_is_null(const yaml_node_t *node);
/* A string into *out (owned; what was there is freed); null makes it NULL. */
arcp_status arcp__yaml_text(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                            char **out);
/* true or false. */
arcp_status arcp__yaml_bool(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                            bool *out);
/* A whole number of 0 or more; null is 0. */
arcp_status arcp__yaml_count(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                             uint64_t *out);
/* A list of strings; replaces what `out` has. */
arcp_status arcp__yaml_texts(arcp__yaml_reader *r, const yaml_node_t *node, const char *key,
                             arcp__text_list *out);
/* A key whose value goes as it stands into a struct. */
typedef struct arcp__yaml_field {
    const char *key;
    enum arcp__yaml_form {
        ARCP__YAML_TEXT,  /* char *, see arcp__yaml_text */
        ARCP__YAML_TEXTS, /* arcp__text_list */
        ARCP__YAML_BOOL,  /* bool */
        ARCP__YAML_COUNT  /* uint64_t */
    } form;
    size_t offset;
    uint64_t minimum, maximum; /* of a count; maximum 0: any is good */
} arcp__yaml_field;
#define ARCP__YAML_FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* Reads into the struct `into` what one of its fields is. ARCP_E_NOT_FOUND: none has the key. */
arcp_status arcp__yaml_field_read(arcp__yaml_reader *r, const arcp__yaml_field *fields,
                                  size_t count, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value);
/* Calls `member` for each key of a mapping; a key that occurs twice is refused. */
arcp_status arcp__yaml_members(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                               arcp__yaml_member_fn member, void *into);
/* Calls `item` for each element of a list. */
arcp_status arcp__yaml_items(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                             arcp_status (*item)(arcp__yaml_reader *r, const char *path,
                                                 const yaml_node_t *node));

#endif
