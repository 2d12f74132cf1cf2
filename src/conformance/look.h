/* What must be right with every frame of a runtime, whatever it answers, for `arcp conformance`. */
#ifndef ARCP_CONFORMANCE_LOOK_H
#define ARCP_CONFORMANCE_LOOK_H

#include <arcp/buf.h>
#include <arcp/json.h>

/* What is known of one session. */
typedef struct arcp__look {
    arcp_buf session; /* its id as JSON; empty: not yet known */
    bool has_number;  /* an event was seen; `number` is the last one's */
    uint64_t number;
    uint64_t before;              /* the number below the first one's, when has_number */
    bool may_progress, may_chunk; /* negotiated */
} arcp__look;

void arcp__look_fini(arcp__look *look);

/* What a welcome brings: the session's id, and which of the features that were asked for (a JSON
 * list) are in effect. */
void arcp__look_welcome(arcp__look *look, const arcp_json *welcome, arcp_span asked);

/* Whether a frame is as frames have to be; if not, the section that says so, and why. */
ARCP_MUST_CHECK bool arcp__look_at(arcp__look *look, const arcp_json *json, const char **section,
                                   arcp_buf *why);

/* A member of the frame, or of its payload. */
arcp_json_ref arcp__frame_member(const arcp_json *json, const char *name);
arcp_json_ref arcp__payload_member(const arcp_json *json, const char *name);
/* Whether the frame is of this type. */
bool arcp__frame_is(const arcp_json *json, const char *type);
/* Whether its type begins so. */
bool arcp__frame_begins(const arcp_json *json, const char *prefix);

#endif
