/* Configuration files: their description by tables, reading and printing. */
#ifndef ARCP_CONFIG_CONFIG_H
#define ARCP_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdio.h>
#include <yaml.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/lease.h>

/* ---- places.c ---- */

/* The lines of the configuration file at which values were read, for errors that are found after
 * the file was read. A value from the command line has no place. */

typedef struct arcp__config_place {
    char *key; /* with its path: agents[0].name */
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
/* Called when an option has replaced the value; forgets the items of a list too. */
void arcp__config_places_forget(arcp__config_places *places, const char *key);

/* The beginning of a message about a value: "FILE:LINE: KEY", or only the key (without an index) if
 * the value has no place. */
typedef struct arcp__config_name {
    char text[512];
} arcp__config_name;

ARCP_PRINTF(2, 3)
arcp__config_name arcp__config_name_of(const arcp__config_places *places, const char *format, ...);

/* ---- yaml.c ---- */

/* Reads a YAML document node by node. Functions that fail return ARCP_E_USAGE, with a message that
 * names file, line and key and says what is accepted, or ARCP_E_NO_MEMORY. */

#define ARCP__YAML_PATH_BYTES 160

typedef struct arcp__yaml_reader {
    void *root;                  /* the struct of the whole configuration */
    arcp__config_places *places; /* gets the lines of strings and groups */
    const char *name;            /* of the file */
    arcp_error *err;
    /* The current value, and its key with path: agents[0].name, or "" at the root. */
    const yaml_node_t *node;
    char path[ARCP__YAML_PATH_BYTES];
    arcp_span text; /* the content of the file */
    yaml_document_t document;
} arcp__yaml_reader;

/* Reads one key of a mapping; the reader is at its value. ARCP_E_NOT_FOUND: the key is unknown. */
typedef arcp_status (*arcp__yaml_member_fn)(arcp__yaml_reader *r, void *into, arcp_span key);

/* Reports an error at the current value: ARCP_E_USAGE. */
arcp_status arcp__yaml_refuse(const arcp__yaml_reader *r, const char *what, ...) ARCP_PRINTF(2, 3);
arcp_status arcp__yaml_no_memory(const arcp__yaml_reader *r);

/* A position of the reader to return to. */
typedef struct arcp__yaml_place {
    const yaml_node_t *node;
    size_t path_size;
} arcp__yaml_place;

/* Moves to a value inside the current one; `more` is appended to the path. Returns the position
 * before. */
arcp__yaml_place arcp__yaml_enter(arcp__yaml_reader *r, const yaml_node_t *node, const char *more,
                                  ...) ARCP_PRINTF(3, 4);
void arcp__yaml_leave(arcp__yaml_reader *r, arcp__yaml_place place);

/* The node with this index in the document. */
yaml_node_t *arcp__yaml_node(arcp__yaml_reader *r, int index);
/* The text of a scalar node, borrowed from the document; empty for other nodes. */
arcp_span arcp__yaml_scalar(const yaml_node_t *node);
/* Whether the value is empty, null or ~, without quotes. */
bool arcp__yaml_is_null(const yaml_node_t *node);
/* Calls `member` for each key of a mapping, in order; a key that occurs twice is refused, and so is
 * one that `member` does not find. */
arcp_status arcp__yaml_members(arcp__yaml_reader *r, arcp__yaml_member_fn member, void *into);
/* The value of a key of the current mapping; NULL: no such key, or not a mapping. */
const yaml_node_t *arcp__yaml_find(arcp__yaml_reader *r, const char *key);

/* ---- lists of texts (types.c) ---- */

/* A growing list of owned strings, NULL-terminated once it is not empty. */
typedef struct arcp__text_list {
    char **items;
    size_t count;
} arcp__text_list;

ARCP_MUST_CHECK arcp_status arcp__text_list_add(arcp__text_list *list, const char *text,
                                                arcp_error *err);
/* Wipes the strings, which may be secrets, and frees them. */
void arcp__text_list_clear(arcp__text_list *list);

/* ---- fields.c ---- */

/* A configuration is described by a row for each key: the type of its value, its offset in the
 * owner's struct, its default and range, whether a change needs a restart, and whether it is
 * secret. Rows nest: a group is a row with rows of its own, and a row describes the items of a
 * list. Setting defaults, reading, printing and freeing (fields.c), and comparing, iterate over the
 * rows; a type (types.c) implements one kind of value. */

typedef struct arcp__config_row arcp__config_row;
typedef struct arcp__config_fields arcp__config_fields;

/* One kind of value. `owner` is the struct that the row belongs to. */
typedef struct arcp__config_type {
    /* Sets the default in zeroed memory; NULL: zero is the default. */
    void (*init)(const arcp__config_row *row, void *owner);
    /* NULL: there is nothing to free. */
    void (*fini)(const arcp__config_row *row, void *owner);
    arcp_status (*read)(arcp__yaml_reader *r, const arcp__config_row *row, void *owner);
    /* Appends the value on one line, as YAML that reads back as the same value. "null", "[]" and
     * "{}" mean no value. A secret is masked, unless the buffer is secret (to compare values).
     * NULL: configurations with this type are never printed. */
    void (*print)(const arcp__config_row *row, const void *owner, arcp_buf *out);
} arcp__config_type;

enum {
    ARCP__CONFIG_RESTART = 1, /* read at the start only; on a group: all its rows */
    ARCP__CONFIG_SECRET = 2,  /* masked when printed, and wiped when freed */
    ARCP__CONFIG_SPARSE = 4,  /* not printed while it has no value */
    ARCP__CONFIG_NAMES = 8,   /* pairs: a null value is stored as the name without separator */
    ARCP__CONFIG_LISTS = 16   /* pairs: a value may be a list; its items are stored with commas */
};

struct arcp__config_row {
    const char *key;
    const arcp__config_type *type;
    size_t offset, size; /* of the value in its owner */
    unsigned flags;
    /* Number: default and range (maximum 0: no range). Word: the index of the default. List: the
     * maximum number of items. */
    uint64_t initial, minimum, maximum;
    const char *otherwise; /* the default that other code applies; printed if there is no value */
    const char *const *words; /* of a choice, in the order of its values, NULL-terminated */
    const char *separator;    /* of pairs: stored between name and value */
    const arcp__config_fields *fields; /* of a group */
    const arcp__config_row *item;      /* of a list: describes each item */
    size_t count_offset;               /* of a list: offset of its count, a size_t */
    const char *item_name;             /* of a list with a maximum, in the plural */
    /* Checks or completes the value that was read; NULL: nothing to check. */
    arcp_status (*accept)(arcp__yaml_reader *r, const arcp__config_row *row, void *owner);
    /* Pairs: checks the name and value of one pair. */
    arcp_status (*accept_pair)(arcp__yaml_reader *r, const char *name, const char *text);
    /* Whether the key has an effect, given the other values of its owner; if not, it is neither
     * printed nor compared. NULL: always. */
    bool (*applies)(const void *owner);
};

/* Keys of a group that have no rows, such as the runtime's settings. `read` returns
 * ARCP_E_NOT_FOUND for an unknown key; `print` prints all keys of the group, one per line. */
typedef struct arcp__config_others {
    arcp_status (*read)(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key);
    void (*print)(const char *group, const void *owner, unsigned indent, arcp_buf *out);
} arcp__config_others;

/* The rows of a group or of an item. */
struct arcp__config_fields {
    const arcp__config_row *rows;
    size_t count;
    const arcp__config_others *others; /* NULL: every key has a row */
    const char *group;                 /* the group that is passed to `others` */
    bool is_flow;                      /* printed on one line */
    /* Checks conditions that involve several keys, after all were read. NULL: there are none. */
    arcp_status (*check)(arcp__yaml_reader *r, void *owner);
};

/* The first members of a row: key, type, and the struct and member that hold its value. */
#define ARCP__CONFIG_ROW(name, kind, owner, member)                                                \
    .key = (name), .type = &arcp__config_##kind, .offset = offsetof(owner, member),                \
    .size = sizeof(((owner *)NULL)->member)
/* A list (or pairs): also the member that holds the count, and the description of an item. */
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
extern const arcp__config_type arcp__config_group;       /* a struct inside its owner */
extern const arcp__config_type arcp__config_ignored;     /* another reader's; any value */
extern const arcp__config_type arcp__config_list;        /* pointer and count */
extern const arcp__config_type arcp__config_lease; /* arcp_lease *, without limits; NULL: null */

/* Items that are strings. */
extern const arcp__config_row arcp__config_text_item;
extern const arcp__config_row arcp__config_secret_item;

/* ---- leases (lease.c) ---- */

/* Writes the current value, a list of patterns, as the member `name` of a lease. `user`: an
 * arcp_json_writer inside the object. */
arcp_status arcp__config_write_capability(arcp__yaml_reader *r, void *user, arcp_span name);
/* Reads the lease that was written; a mistake is reported at the current value. */
arcp_status arcp__config_parse_lease(arcp__yaml_reader *r, arcp_buf *text, arcp_lease **out);

/* ---- iteration ---- */

/* The value of a row. */
void *arcp__config_value(const arcp__config_row *row, const void *owner);
/* The items of a list: their count, and one of them. */
size_t arcp__config_list_count(const arcp__config_row *row, const void *owner);
/* Accepts a list of absolute paths. */
ARCP_MUST_CHECK arcp_status arcp__config_accept_paths(arcp__yaml_reader *r,
                                                      const arcp__config_row *row, void *owner);
void *arcp__config_list_item(const arcp__config_row *row, const void *owner, size_t index);
/* Appends an item with its defaults. A zeroed item follows the last one, so lists of pointers are
 * NULL-terminated. NULL: out of memory. */
void *arcp__config_list_add(const arcp__config_row *row, void *owner);

void arcp__config_fields_init(const arcp__config_fields *fields, void *owner);
void arcp__config_fields_fini(const arcp__config_fields *fields, void *owner);
/* Reads the mapping that is the reader's current value. */
arcp_status arcp__config_fields_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     void *owner);
/* Appends all values as YAML. */
void arcp__config_fields_print(const arcp__config_fields *fields, const void *owner, arcp_buf *out);

/* Reads a YAML text, or a file up to its end, into the struct r->root; an empty text changes
 * nothing. The caller sets the root, places, name and err of `r`. */
arcp_status arcp__config_text_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                   arcp_span text);
arcp_status arcp__config_stream_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     FILE *file);

/* Whether a printed value means no value: null, [] or {}. */
bool arcp__config_is_nothing(arcp_span printed);

#endif
