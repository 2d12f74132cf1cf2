/* Configuration files: how they are described, read and printed. */
#ifndef ARCP_CONFIG_CONFIG_H
#define ARCP_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdio.h>
#include <yaml.h>

#include <arcp/buf.h>
#include <arcp/error.h>

/* ---- places.c ---- */

/* Where in the configuration file a value stands, for what is found to be wrong with it after the
 * file was read. A value of a flag has no place. */

typedef struct arcp__config_place {
    char *key; /* its path: agents[0].name */
    size_t line;
} arcp__config_place;

typedef struct arcp__config_places {
    char *file; /* NULL: no file was read */
    arcp__config_place *rows;
    size_t count;
} arcp__config_places;

void arcp__config_places_fini(arcp__config_places *places);

/* Copies the key. */
ARCP_MUST_CHECK arcp_status arcp__config_places_add(arcp__config_places *places, const char *key,
                                                    size_t line, arcp_error *err);
/* A flag has replaced the value, and the items of a list. */
void arcp__config_places_forget(arcp__config_places *places, const char *key);

/* What a message about a value begins with: "FILE:LINE: KEY", or without a place the key, for an
 * item of a list the list's. */
typedef struct arcp__config_name {
    char text[512];
} arcp__config_name;

ARCP_PRINTF(2, 3)
arcp__config_name arcp__config_name_of(const arcp__config_places *places, const char *format, ...);

/* ---- yaml.c ---- */

/* Reading a YAML document node by node, with errors that name file, line and key. Every function
 * returns ARCP_OK or describes in the reader's error what would be right (ARCP_E_USAGE), or
 * ARCP_E_NO_MEMORY. */

#define ARCP__YAML_PATH_BYTES 160

typedef struct arcp__yaml_reader {
    void *root;                  /* the struct of the whole configuration */
    arcp__config_places *places; /* where strings and items stand */
    const char *name;            /* of the file */
    arcp_error *err;
    /* Where it is: the value that is read, and its key, agents[0].name. The root has "". */
    const yaml_node_t *node;
    char path[ARCP__YAML_PATH_BYTES];
    arcp_span text; /* of the file */
    yaml_document_t document;
} arcp__yaml_reader;

/* One key of a mapping; the reader is at its value. ARCP_E_NOT_FOUND: there is no such key. */
typedef arcp_status (*arcp__yaml_member_fn)(arcp__yaml_reader *r, void *into, arcp_span key);

/* Says what is wrong with the value. */
arcp_status arcp__yaml_refuse(const arcp__yaml_reader *r, const char *what, ...) ARCP_PRINTF(2, 3);
arcp_status arcp__yaml_no_memory(const arcp__yaml_reader *r);

/* Where the reader was. */
typedef struct arcp__yaml_place {
    const yaml_node_t *node;
    size_t path_size;
} arcp__yaml_place;

/* Goes to a value in the present one; `more` is what its path has behind the present one's. */
arcp__yaml_place arcp__yaml_enter(arcp__yaml_reader *r, const yaml_node_t *node, const char *more,
                                  ...) ARCP_PRINTF(3, 4);
void arcp__yaml_leave(arcp__yaml_reader *r, arcp__yaml_place place);

/* The node of an index. */
yaml_node_t *arcp__yaml_node(arcp__yaml_reader *r, int index);
/* The text of a scalar node, borrowed from the document; of another node nothing. */
arcp_span arcp__yaml_scalar(const yaml_node_t *node);
/* Empty, null or ~, not in quotes. */
bool arcp__yaml_is_null(const yaml_node_t *node);
/* Calls `member` for each key of a mapping, in order; a key that occurs twice is refused, and so is
 * one that `member` does not find. */
arcp_status arcp__yaml_members(arcp__yaml_reader *r, arcp__yaml_member_fn member, void *into);
/* The value of a key of a mapping; NULL: it is not there, or the value is no mapping. */
const yaml_node_t *arcp__yaml_find(arcp__yaml_reader *r, const char *key);

/* ---- lists of texts (types.c) ---- */

/* A growing list of owned strings, NULL-terminated once it is not empty. */
typedef struct arcp__text_list {
    char **items;
    size_t count;
} arcp__text_list;

ARCP_MUST_CHECK arcp_status arcp__text_list_add(arcp__text_list *list, const char *text,
                                                arcp_error *err);
/* Of texts that may be secrets: they are wiped. */
void arcp__text_list_clear(arcp__text_list *list);

/* ---- fields.c ---- */

/* How a configuration is described. A row for each key says what type its value has, where it
 * stands in its owner's struct, its default and range, whether a reload takes it up, and whether it
 * is secret. Rows nest: a group is a row with rows of its own, and the items of a list are
 * described by a row. Reading, defaults, printing, freeing (fields.c) and comparing walk the rows;
 * a type (types.c) knows one kind of value. */

typedef struct arcp__config_row arcp__config_row;
typedef struct arcp__config_fields arcp__config_fields;

/* One kind of value. `owner` is the struct that the row belongs to. */
typedef struct arcp__config_type {
    /* Sets the default in zeroed memory; NULL: zeroes are the default. */
    void (*init)(const arcp__config_row *row, void *owner);
    /* NULL: there is nothing to free. */
    void (*fini)(const arcp__config_row *row, void *owner);
    arcp_status (*read)(arcp__yaml_reader *r, const arcp__config_row *row, void *owner);
    /* Appends the value on one line, as YAML that is read as the same value. "null", "[]" and "{}"
     * stand for no value. A secret is shown in a secret buffer only (to compare it), else masked.
     * NULL: the configuration is never printed. */
    void (*print)(const arcp__config_row *row, const void *owner, arcp_buf *out);
} arcp__config_type;

enum {
    ARCP__CONFIG_RESTART = 1, /* read at the start only; of a group: all rows in it */
    ARCP__CONFIG_SECRET = 2,  /* printed masked, and wiped when it is freed */
    ARCP__CONFIG_SPARSE = 4,  /* not printed while it has no value */
    ARCP__CONFIG_NAMES = 8    /* pairs: a name whose value is null stands alone */
};

struct arcp__config_row {
    const char *key;
    const arcp__config_type *type;
    size_t offset, size; /* of the value in its owner */
    unsigned flags;
    /* The default and the range of a number (maximum 0: any number); the default of a word, as an
     * index; the maximum is also that of the items of a list. */
    uint64_t initial, minimum, maximum;
    const char *otherwise;    /* what is used where there is no value; printed in its place */
    const char *const *words; /* of a choice, in the order of the values; NULL at the end */
    const char *separator;    /* of pairs: between name and value in the list of texts */
    const arcp__config_fields *fields; /* of a group */
    const arcp__config_row *item;      /* of a list: what each item is */
    size_t count_offset;               /* of a list: its size_t beside the items */
    const char *item_name;             /* of a list with a maximum, in the plural */
    /* Refuses or completes what was read. */
    arcp_status (*accept)(arcp__yaml_reader *r, const arcp__config_row *row, void *owner);
    /* Pairs: refuses one; `name` and `text` are what was read. */
    arcp_status (*accept_pair)(arcp__yaml_reader *r, const char *name, const char *text);
    /* Whether the key has an effect, given the other values of its owner; a key without one is
     * neither printed nor compared. NULL: always. */
    bool (*applies)(const void *owner);
};

/* Keys of a group that have no rows here, such as the runtime's settings. `read` returns
 * ARCP_E_NOT_FOUND for a key that does not exist; `print` prints all of the group, a line each. */
typedef struct arcp__config_others {
    arcp_status (*read)(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key);
    void (*print)(const char *group, const void *owner, unsigned indent, arcp_buf *out);
} arcp__config_others;

/* The rows of a group or of an item. */
struct arcp__config_fields {
    const arcp__config_row *rows;
    size_t count;
    const arcp__config_others *others; /* NULL: every key has a row */
    const char *group;                 /* the name of the group that `others` gets */
    bool is_flow;                      /* printed on one line */
    /* Checks what depends on several keys, after all were read. NULL: nothing does. */
    arcp_status (*check)(arcp__yaml_reader *r, void *owner);
};

/* A row begins with its key, its type, and the struct and member of its value. */
#define ARCP__CONFIG_ROW(name, kind, owner, member)                                                \
    .key = (name), .type = &arcp__config_##kind, .offset = offsetof(owner, member),                \
    .size = sizeof(((owner *)NULL)->member)
/* A list (or pairs): where its items and their count are, and what each is. */
#define ARCP__CONFIG_LIST(name, kind, owner, member, counted, its_item)                            \
    ARCP__CONFIG_ROW(name, kind, owner, member), .count_offset = offsetof(owner, counted),         \
                                                 .item = (its_item)

/* ---- types ---- */

extern const arcp__config_type arcp__config_text;   /* char *; NULL: null */
extern const arcp__config_type arcp__config_pairs;  /* list of texts: NAME, separator, VALUE */
extern const arcp__config_type arcp__config_flag;   /* bool */
extern const arcp__config_type arcp__config_number; /* uint64_t; null: 0 */
extern const arcp__config_type arcp__config_word;  /* bool, int or an enum: an index into `words` */
extern const arcp__config_type arcp__config_words; /* unsigned: a bit for each word, in order */
extern const arcp__config_type arcp__config_http_status; /* int; 0: none */
extern const arcp__config_type arcp__config_error_code;  /* arcp_status */
extern const arcp__config_type arcp__config_json;        /* char *: YAML as JSON */
extern const arcp__config_type arcp__config_group;       /* the struct of `fields`, in its owner */
extern const arcp__config_type arcp__config_list;        /* pointer and count; see below */

/* Items that are strings. */
extern const arcp__config_row arcp__config_text_item;
extern const arcp__config_row arcp__config_secret_item;

/* ---- walking ---- */

/* The value of a row. */
void *arcp__config_value(const arcp__config_row *row, const void *owner);
/* The items of a list: their count, and one of them. */
size_t arcp__config_list_count(const arcp__config_row *row, const void *owner);
void *arcp__config_list_item(const arcp__config_row *row, const void *owner, size_t index);
/* A new item at the end, with its defaults, and zeroes behind it: lists of pointers end with NULL.
 * NULL: out of memory. */
void *arcp__config_list_add(const arcp__config_row *row, void *owner);

void arcp__config_fields_init(const arcp__config_fields *fields, void *owner);
void arcp__config_fields_fini(const arcp__config_fields *fields, void *owner);
/* Reads the mapping where the reader is. */
arcp_status arcp__config_fields_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     void *owner);
/* As lines of YAML. */
void arcp__config_fields_print(const arcp__config_fields *fields, const void *owner, arcp_buf *out);

/* Reads a YAML text, or a file up to its end, into the struct r->root; an empty one changes
 * nothing. `r` needs its root, its places, its name and err. */
arcp_status arcp__config_text_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                   arcp_span text);
arcp_status arcp__config_stream_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     FILE *file);

/* Whether a printed value is none: null, [] or {}. */
bool arcp__config_is_nothing(arcp_span printed);

#endif
