/* From a scanned JSON object to a struct, by a table: messages, the lines of agents, bodies of
 * events; and stored rows, which are written by the same table.
 *
 * A table has a row for each member that is read. Every member is looked up once, its shape is
 * checked, and it is put into its field as the field's type says. A member that is null counts as
 * absent. What is absent leaves its field as it was, so a struct begins with its defaults; only
 * refs are always set. Members without a row are not looked at. */
#ifndef ARCP_CORE_DECODE_H
#define ARCP_CORE_DECODE_H

#include <arcp/json.h>

/* A longer id does not fit a span. */
#define ARCP__SPAN_ID_MAX 256

/* What a value must be like. */
typedef enum arcp__shape {
    ARCP__SHAPE_ANY,
    ARCP__SHAPE_STRING, /* not empty */
    ARCP__SHAPE_TEXT,   /* a string */
    ARCP__SHAPE_LOOSE,  /* what is no string counts as absent */
    ARCP__SHAPE_OBJECT,
    ARCP__SHAPE_ARRAY,
    ARCP__SHAPE_STRINGS,
    ARCP__SHAPE_BOOL,
    ARCP__SHAPE_COUNT,    /* a whole number of 0 or more */
    ARCP__SHAPE_POSITIVE, /* a whole number of 1 or more */
    ARCP__SHAPE_NUMBER,
    ARCP__SHAPE_NOT_NEGATIVE,
    ARCP__SHAPE_INSTANT, /* RFC 3339 */
    ARCP__SHAPE_HASH,    /* 64 lower-case hex digits */
    ARCP__SHAPE_ID,      /* a string that is not empty and fits its field */
    ARCP__SHAPES
} arcp__shape;

/* What a field gets. */
typedef enum arcp__field {
    ARCP__FIELD_NONE, /* there is none: the value is only checked */
    ARCP__FIELD_REF,  /* arcp_json_ref: the value itself; ARCP_JSON_ABSENT when there is none */
    ARCP__FIELD_SPAN, /* arcp_span: a string; borrowed from the text or the scratch buffer */
    ARCP__FIELD_U64,
    ARCP__FIELD_BOOL,
    ARCP__FIELD_INSTANT, /* int64_t: wall_ns */
    ARCP__FIELD_HASH,    /* uint8_t[32] */
    ARCP__FIELD_ID       /* char[]: a copy with its NUL */
} arcp__field;

typedef struct arcp__member {
    const char *name;
    const char *older; /* another spelling that is read where `name` is absent; NULL: none */
    const struct arcp__members *parts; /* of an object; their fields are in the same struct */
    uint16_t at;                       /* the field: where, and how large */
    uint16_t size;
    uint8_t shape; /* arcp__shape */
    uint8_t field; /* arcp__field */
    bool required;
    const char *text; /* for docs/reference: what the member is; NULL: the page leaves it out */
} arcp__member;

typedef struct arcp__members {
    const arcp__member *rows;
    size_t count;
} arcp__members;

/* The beginning of a row: a member of `kind` for a field of a struct. */
#define ARCP__MEMBER(type, member, text, kind)                                                     \
    .name = (text), .shape = ARCP__SHAPE_##kind, .at = offsetof(type, member),                     \
    .size = sizeof(((type *)NULL)->member),                                                        \
    .field = _Generic((((type *)NULL)->member),                                                    \
        arcp_json_ref: ARCP__FIELD_REF,                                                            \
        arcp_span: ARCP__FIELD_SPAN,                                                               \
        uint64_t: ARCP__FIELD_U64,                                                                 \
        bool: ARCP__FIELD_BOOL,                                                                    \
        int64_t: ARCP__FIELD_INSTANT,                                                              \
        uint8_t *: ARCP__FIELD_HASH,                                                               \
        char *: ARCP__FIELD_ID)
/* A row for what is only checked, or only has parts. */
#define ARCP__CHECKED(text, kind) .name = (text), .shape = ARCP__SHAPE_##kind
/* A table of an array of rows. */
#define ARCP__MEMBERS(array)                                                                       \
    {                                                                                              \
        (array), sizeof(array) / sizeof((array)[0])                                                \
    }

typedef struct arcp__decoder {
    const arcp_json *json;
    arcp_buf *scratch; /* takes strings that had escapes; must have room, so that none moves */
    const char *where; /* what errors call the object: "payload" */
    bool has_older;    /* set when a member came under its older name */
} arcp__decoder;

/* Reads the members of `object`. All that have their shape are read; the first in the table's order
 * that is missing or has another one is said: ARCP_E_INVALID_REQUEST with its path and what it must
 * be. */
ARCP_MUST_CHECK arcp_status arcp__decode(arcp__decoder *decoder, arcp_json_ref object,
                                         const arcp__members *members, void *out, arcp_error *err);

/* Writes the members of a row of ours into the object that is open: of those that are not required,
 * what is not empty, zero or false. Refs are not written, nor what has no field. */
void arcp__encode_row(arcp_json_writer *writer, const arcp__members *members, const void *row);
/* Appends an object of them. */
void arcp__row_format(const arcp__members *members, const void *row, arcp_buf *out);

/* A member of another shape counts as absent, and nothing is said: for stored rows, whose writer
 * may have been another version, and for callers with a text of their own. False when a member that
 * is required is absent. */
ARCP_MUST_CHECK bool arcp__decode_row(const arcp_json *json, arcp_buf *scratch,
                                      arcp_json_ref object, const arcp__members *members,
                                      void *out);

#endif
