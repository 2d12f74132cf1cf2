/* Shared by the files of src/json: reading and writing the contents of strings, and the check for
 * duplicate names. */
#ifndef ARCP_JSON_JSON_PARTS_H
#define ARCP_JSON_JSON_PARTS_H

#include "json/json.h"

/* arcp__json_node.flags */
#define ARCP__JSON_ESCAPED 1u

/* A position inside a string. */
typedef struct arcp__json_reader {
    const char *at;
    const char *end; /* the closing quote */
    char escape[4];  /* the character of the last escape */
} arcp__json_reader;

static inline arcp__json_reader arcp__json_reader_make(arcp_span quoted)
{
    arcp__json_reader reader = {quoted.data + 1, quoted.data + quoted.size - 1, {0}};
    return reader;
}

/* The next bytes of the unescaped string: a run of the text up to the next escape, or the
 * one character of an escape (valid until the next call). Empty at the end. */
arcp_span arcp__json_read(arcp__json_reader *reader);

/* <0, 0, >0 as `a` sorts before, with, after `b`, by the bytes of the unescaped strings;
 * both with their quotes. */
int arcp__json_compare_strings(arcp_span a, arcp_span b);

/* Appends `text` without quotes, with the shortest escapes where they are needed; each byte that is
 * not UTF-8 becomes U+FFFD. */
void arcp__json_append_escaped(arcp_span text, arcp_buf *out);

/* ---- member names that occur twice in one object ---- */

/* Checks `object`, whose members are the last nodes of the index. ARCP_E_INVALID_REQUEST for a name
 * that occurs twice after unescaping and for more than `members_max` members, with the offset of
 * the offending name; ARCP_E_NO_MEMORY. Linear in the members. */
ARCP_MUST_CHECK arcp_status arcp__json_check_names(arcp_json *json, arcp_json_ref object,
                                                   uint32_t members_max, arcp_error *err);

/* Frees json->workspace, which the check uses. */
void arcp__json_names_fini(arcp_json *json);

#endif
