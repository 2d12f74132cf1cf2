/* The envelope (§5): one JSON object around every message. */
#ifndef ARCP_CORE_ENVELOPE_H
#define ARCP_CORE_ENVELOPE_H

#include <arcp/wire.h>

#include "json/json.h"

#define ARCP__ENVELOPE_ID_MAX 256

/* A parsed envelope. Spans and refs live as long as the scanned text and `scratch`. */
typedef struct arcp__envelope {
    arcp_message_type type;
    arcp_span type_text;
    arcp_span id;
    arcp_span session_id;     /* empty: none */
    arcp_span trace_id;       /* as written; empty: none or not a string */
    arcp_span job_id;         /* empty: none */
    bool version_missing;     /* `arcp` was absent or "1" (worth a warning) */
    arcp_json_ref payload;    /* an object, or ARCP_JSON_ABSENT */
    arcp_json_ref extensions; /* an object, or ARCP_JSON_ABSENT */
} arcp__envelope;

/* Reads the envelope of a scanned text. Strings with escapes are appended to `scratch`, for which
 * the caller has reserved text.size bytes, so that spans do not move. Optional members that are
 * null count as absent. An absent payload counts as an empty object; one that is not an object is
 * refused. ARCP_E_INVALID_REQUEST names the member and what it must be; `out->id` is set if it
 * could be read. */
ARCP_MUST_CHECK arcp_status arcp__envelope_parse(const arcp_json *json, arcp_buf *scratch,
                                                 arcp__envelope *out, arcp_error *err);

/* The members of an envelope that is sent; empty spans are left out. */
typedef struct arcp__envelope_head {
    const char *type;
    arcp_span id;
    arcp_span session_id;
    arcp_span trace_id;
    arcp_span job_id;
    uint64_t event_seq; /* 0: none (numbers begin at 1) */
} arcp__envelope_head;

/* Appends a whole frame: the head and `payload`, which is valid JSON. */
void arcp__envelope_format(const arcp__envelope_head *head, arcp_span payload, arcp_buf *out);

#endif
