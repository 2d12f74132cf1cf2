/* The form of every error: {code, message, retryable, details?} (§12; the errors guide). */
#ifndef ARCP_CORE_ERROR_PAYLOAD_H
#define ARCP_CORE_ERROR_PAYLOAD_H

#include "core/decode.h"
#include "json/json.h"

/* A decoded error. Spans live as long as the text and `scratch`. */
typedef struct arcp__error_payload {
    arcp_status status;    /* ARCP_E_INTERNAL_ERROR for a code that is not one of the fifteen */
    arcp_span code;        /* as written */
    arcp_span message;     /* never empty: the code's text when it was absent */
    bool retryable;        /* by the rules of arcp_status_retryable */
    arcp_json_ref details; /* an object, or ARCP_JSON_ABSENT; `detail` is accepted, too */
} arcp__error_payload;

/* The members of an error object. */
const arcp__members *arcp__error_payload_table(void);

/* Reads an error object. ARCP_E_INVALID_REQUEST when it is not an object or has no code. */
ARCP_MUST_CHECK arcp_status arcp__error_payload_parse(const arcp_json *json, arcp_json_ref ref,
                                                      arcp_buf *scratch, arcp__error_payload *out,
                                                      arcp_error *err);

/* Writes the members code, message, retryable and, when not empty, details (a JSON object's text)
 * into the object that `writer` has open. `code` is the wire code; the rules for retryable are
 * applied here. */
void arcp__error_payload_members(arcp_json_writer *writer, arcp_status status, arcp_span code,
                                 arcp_span message, bool retryable, arcp_span details);

/* The details of an error; empty when formatting them ran out of memory. */
static inline arcp_span arcp__details(const arcp_buf *details)
{
    return details->failed ? arcp_span_make(NULL, 0) : arcp_buf_span(details);
}

/* The same for a local error. */
void arcp__error_payload_local(arcp_json_writer *writer, const arcp_error *error,
                               arcp_span details);

/* Appends the whole object for a local error. */
void arcp__error_payload_format(const arcp_error *error, arcp_span details, arcp_buf *out);

#endif
