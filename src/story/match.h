/* Patterns over JSON and the variables that they bind. story.h describes the patterns. */
#ifndef ARCP_STORY_MATCH_H
#define ARCP_STORY_MATCH_H

#include <arcp/buf.h>

#include "json/json.h"

#define ARCP__VARIABLES_MAX     32
#define ARCP__VARIABLE_NAME_MAX 24

typedef struct arcp__variable {
    char name[ARCP__VARIABLE_NAME_MAX];
    arcp_buf json; /* the value, as JSON */
} arcp__variable;

typedef struct arcp__variables {
    arcp__variable rows[ARCP__VARIABLES_MAX];
    size_t count;
    bool failed; /* out of memory, or too many variables */
} arcp__variables;

/* Wipes the values: they may be tokens. */
void arcp__variables_fini(arcp__variables *variables);
/* The value of a variable, or NULL when it has none. Valid until the next set. */
const arcp_buf *arcp__variable_get(const arcp__variables *variables, arcp_span name);
void arcp__variable_set(arcp__variables *variables, arcp_span name, arcp_span json);
void arcp__variable_set_text(arcp__variables *variables, const char *name, arcp_span text);
void arcp__variable_forget(arcp__variables *variables, const char *name);

/* Scans a frame, with generous limits. */
static inline ARCP_MUST_CHECK arcp_status arcp__wire_scan(arcp_json *json, arcp_span text,
                                                          arcp_error *err)
{
    const arcp_json_limits limits = {64, 1000000, SIZE_MAX};
    return arcp_json_scan(json, text, &limits, err);
}

/* Appends the text with each $name replaced by the variable's JSON or, inside a string, by the text
 * of a value that is itself a string; false when a variable has no value. */
ARCP_MUST_CHECK bool arcp__variables_replace(const arcp__variables *variables, arcp_span text,
                                             arcp_buf *out);

/* Whether the value matches. If not, `why` says where it does not and what is expected:
 * "payload.code is missing, must be a string"; then no variable has been bound. */
ARCP_MUST_CHECK bool arcp__pattern_matches(arcp__variables *variables, const arcp_json *pattern,
                                           const arcp_json *json, arcp_buf *why);

/* Appends the value as JSON, shortened if it is long, or "missing". */
void arcp__append_value(arcp_buf *out, const arcp_json *json, arcp_json_ref value);

#endif
