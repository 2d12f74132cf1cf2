/* JSON: a strict RFC 8259 scanner that indexes, and a writer.
 *
 * Scanning validates the whole text once and makes an index of its values; no tree is
 * built: strings and numbers are slices of the scanned text, which must stay alive and
 * unchanged as long as the index is used. Numbers keep their original text. Refused, with
 * byte offset and reason: a text that RFC 8259 does not allow, invalid UTF-8 (also lone
 * surrogate escapes), duplicate member names (compared after unescaping, at every level),
 * and a text that exceeds the limits. */
#ifndef ARCP_JSON_H
#define ARCP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum arcp_json_type {
    ARCP_JSON_NULL = 0,
    ARCP_JSON_FALSE = 1,
    ARCP_JSON_TRUE = 2,
    ARCP_JSON_NUMBER = 3,
    ARCP_JSON_STRING = 4,
    ARCP_JSON_ARRAY = 5,
    ARCP_JSON_OBJECT = 6
} arcp_json_type;

/* The number of one value in the index. ARCP_JSON_ABSENT stands for "no value": every function
 * below accepts it and treats it as a missing member. */
typedef uint32_t arcp_json_ref;
#define ARCP_JSON_ABSENT UINT32_MAX
#define ARCP_JSON_ROOT   ((arcp_json_ref)0)

typedef struct arcp_json_limits {
    uint32_t depth_max;   /* nested arrays and objects; the outermost is 1 */
    uint32_t members_max; /* members per object; elements of arrays are not limited */
    size_t bytes_max;     /* of the whole text */
} arcp_json_limits;

/* 64 levels, 10 000 members, 4 MiB. */
static inline arcp_json_limits arcp_json_limits_init(void)
{
    arcp_json_limits limits = {64, 10000, 4194304};
    return limits;
}

/* An index that can be reused: each scan replaces the previous one and reuses its memory. One
 * thread at a time. */
typedef struct arcp_json arcp_json;

/* An empty index, which the caller frees; NULL when out of memory. */
ARCP_API ARCP_MUST_CHECK arcp_json *arcp_json_new(void);
/* Frees the index; the text was borrowed and stays. NULL is accepted. */
ARCP_API void arcp_json_free(arcp_json *json);

/* Scans `text`: one JSON value, with white space around it if any. `limits` may be NULL for the
 * defaults. On failure the index is empty and `err` has offset and reason: ARCP_E_INVALID_REQUEST,
 * or ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_json_scan(arcp_json *json, arcp_span text,
                                                    const arcp_json_limits *limits,
                                                    arcp_error *err);

/* The type of a value; ARCP_JSON_NULL for ARCP_JSON_ABSENT. */
ARCP_API arcp_json_type arcp_json_type_of(const arcp_json *json, arcp_json_ref ref);

/* Absent or null: optional members are read the same either way. */
ARCP_API bool arcp_json_is_missing(const arcp_json *json, arcp_json_ref ref);

ARCP_API bool arcp_json_is(const arcp_json *json, arcp_json_ref ref, arcp_json_type type);

/* The value as it was written, strings with their quotes. Empty for ABSENT. */
ARCP_API arcp_span arcp_json_raw(const arcp_json *json, arcp_json_ref ref);

/* The member of an object by its (unescaped) name; ABSENT when `object` is not an object or has no
 * such member. */
ARCP_API arcp_json_ref arcp_json_member(const arcp_json *json, arcp_json_ref object,
                                        arcp_span name);

/* Iteration: the first child of an array or object (of an object: the node of its first name), then
 * arcp_json_next until ABSENT. A name is a string node; the member's value is the node after it
 * (name + 1). `container` is the array or object. */
ARCP_API arcp_json_ref arcp_json_first(const arcp_json *json, arcp_json_ref container);

/* The next element of an array, or the next name of an object when `at` is a name. */
ARCP_API arcp_json_ref arcp_json_next(const arcp_json *json, arcp_json_ref container,
                                      arcp_json_ref at);

/* The number of elements or members. */
ARCP_API size_t arcp_json_count(const arcp_json *json, arcp_json_ref container);

/* The string without its quotes. If it has no escapes, it is borrowed from the text (no NUL
 * follows); otherwise it is unescaped and appended to `scratch`, and is valid until scratch is
 * cleared or released, however many strings are read into it meanwhile. An empty span for a value
 * that is not a string, and when scratch runs out of memory (arcp_buf_status). Escaped NUL bytes
 * are kept. */
ARCP_API arcp_span arcp_json_string(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch);

/* Compares a string value with text, unescaping on the fly. */
ARCP_API bool arcp_json_string_equals(const arcp_json *json, arcp_json_ref ref, arcp_span text);

/* A number that is a whole, non-negative integer in range, in any spelling JSON has for
 * it (5, 5.0, 5e0); false otherwise. */
ARCP_API bool arcp_json_u64(const arcp_json *json, arcp_json_ref ref, uint64_t *out);

/* Appends the value without insignificant white space. */
ARCP_API void arcp_json_compact(const arcp_json *json, arcp_json_ref ref, arcp_buf *out);

#define ARCP_JSON_CANONICAL_DEPTH_MAX 1000

/* Appends a canonical form: names sorted by their UTF-8 bytes, shortest escapes, numbers
 * as exact decimals in one spelling (1 = 1.0 = 1e0 = 10e-1; -0 = 0; any exponent, without
 * writing out zeros beyond the digits). Two values have equal forms if and only if they
 * are equal. On failure `out` has the bytes it had: ARCP_E_NO_MEMORY (`out` has failed
 * then), or ARCP_E_LIMIT for a value with more than ARCP_JSON_CANONICAL_DEPTH_MAX levels,
 * which only a text scanned with a raised limit can have. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_json_canonical(const arcp_json *json, arcp_json_ref ref,
                                                         arcp_buf *out, arcp_error *err);

/* Appends `text` as a JSON string with quotes. Invalid UTF-8 is replaced by U+FFFD. */
ARCP_API void arcp_json_quote(arcp_span text, arcp_buf *out);

/* A writer that places commas. Failures are kept in the buffer (arcp_buf_status). The caller
 * balances begin and end; at most 64 levels (asserted). */
typedef struct arcp_json_writer {
    arcp_buf *out;
    uint64_t has_items; /* one bit per level: a comma is due */
    unsigned depth;
    bool after_name;
} arcp_json_writer;

/* Appends to `out`; there is nothing to release. */
ARCP_API void arcp_json_writer_init(arcp_json_writer *writer, arcp_buf *out);
ARCP_API void arcp_json_begin_object(arcp_json_writer *writer);
ARCP_API void arcp_json_end_object(arcp_json_writer *writer);
ARCP_API void arcp_json_begin_array(arcp_json_writer *writer);
ARCP_API void arcp_json_end_array(arcp_json_writer *writer);
/* A member's name, before its value. Names and texts are quoted and escaped. */
ARCP_API void arcp_json_name(arcp_json_writer *writer, const char *name);
ARCP_API void arcp_json_name_span(arcp_json_writer *writer, arcp_span name);
ARCP_API void arcp_json_write_string(arcp_json_writer *writer, arcp_span text);
ARCP_API void arcp_json_write_cstr(arcp_json_writer *writer, const char *text);
ARCP_API void arcp_json_write_u64(arcp_json_writer *writer, uint64_t value);
ARCP_API void arcp_json_write_i64(arcp_json_writer *writer, int64_t value);
ARCP_API void arcp_json_write_bool(arcp_json_writer *writer, bool value);
ARCP_API void arcp_json_write_null(arcp_json_writer *writer);
/* Writes one value that is valid JSON text. */
ARCP_API void arcp_json_write_raw(arcp_json_writer *writer, arcp_span json);

#ifdef __cplusplus
}
#endif
#endif
