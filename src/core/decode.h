/* Decodes a scanned JSON object into a struct, by a table: messages, agents' lines, event bodies,
 * and stored rows, which are also encoded by the same table.
 *
 * A table has a row for each member that is read. Every member is looked up once, its shape is
 * checked, and it is stored in its field according to the field's type. A member that is null
 * counts as absent. An absent member leaves its field unchanged, so the struct should begin with
 * defaults; only refs are always set. Members without a row are ignored. */
#ifndef ARCP_CORE_DECODE_H
#define ARCP_CORE_DECODE_H

#include "json/json.h"

/* The longest string that ARCP__SHAPE_ID accepts for a span. */
#define ARCP__SPAN_ID_MAX 256

/* The form that a value must have. */
typedef enum arcp__shape {
    ARCP__SHAPE_ANY,
    ARCP__SHAPE_STRING, /* not empty */
    ARCP__SHAPE_TEXT,   /* a string */
    ARCP__SHAPE_LOOSE,  /* a string; other values count as absent */
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
    ARCP__SHAPE_ID,      /* a non-empty string that fits its field */
    ARCP__SHAPES
} arcp__shape;

/* The type of a field. */
typedef enum arcp__field {
    ARCP__FIELD_NONE, /* no field: the value is only checked */
    ARCP__FIELD_REF,  /* arcp_json_ref: the value; ARCP_JSON_ABSENT when there is none */
    ARCP__FIELD_SPAN, /* arcp_span: a string; borrowed from the text or the scratch buffer */
    ARCP__FIELD_U64,
    ARCP__FIELD_BOOL,
    ARCP__FIELD_INSTANT, /* int64_t: wall_ns */
    ARCP__FIELD_HASH,    /* uint8_t[32] */
    ARCP__FIELD_ID       /* char[]: a copy with its NUL */
} arcp__field;

typedef struct arcp__member {
    const char *name;
    const char *older; /* another name that is read when `name` is absent; NULL: none */
    const struct arcp__members
        *parts;  /* rows for the members of an object; their fields are in the same struct */
    uint16_t at; /* offset and size of the field */
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

/* The initialisers of a row: the JSON member `text` of shape `kind`, for a field of a struct. */
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
/* A row for a member that is only checked, or only has parts. */
#define ARCP__CHECKED(text, kind) .name = (text), .shape = ARCP__SHAPE_##kind
/* A table from an array of rows. */
#define ARCP__MEMBERS(array)                                                                       \
    {                                                                                              \
        (array), sizeof(array) / sizeof((array)[0])                                                \
    }

typedef struct arcp__decoder {
    const arcp_json *json;
    arcp_buf
        *scratch; /* for strings that have escapes; must have enough capacity that none moves */
    const char *where; /* the object's name in errors: "payload" */
    bool has_older;    /* set when a member had its older name */
} arcp__decoder;

/* Reads the members of `object`. All valid members are read; the first in the table's order that is
 * missing or invalid is reported as ARCP_E_INVALID_REQUEST, with its path and what it must be. */
ARCP_MUST_CHECK arcp_status arcp__decode(arcp__decoder *decoder, arcp_json_ref object,
                                         const arcp__members *members, void *out, arcp_error *err);

/* Writes the members of a row into the object that is open. Optional members that are empty, zero
 * or false are left out, and so are refs and members without a field. */
void arcp__encode_row(arcp_json_writer *writer, const arcp__members *members, const void *row);
/* Appends an object with these members. */
void arcp__row_format(const arcp__members *members, const void *row, arcp_buf *out);

/* Like arcp__decode, but an invalid member counts as absent: for stored rows, which another version
 * may have written, and for callers with their own error message. False when a required member is
 * absent. */
ARCP_MUST_CHECK bool arcp__decode_row(const arcp_json *json, arcp_buf *scratch,
                                      arcp_json_ref object, const arcp__members *members,
                                      void *out);

#endif
