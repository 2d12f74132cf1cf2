/* What a case says to a runtime and hears from it, over its connections: envelopes, pings that are
 * answered, and every frame looked at. Functions that return false have said why in the verdict. */
#ifndef ARCP_CONFORMANCE_TALK_H
#define ARCP_CONFORMANCE_TALK_H

#include "base/ulid.h"
#include "conformance/look.h"
#include "conformance/match.h"
#include "conformance/wire.h"

/* The connections that a case may have at once. */
#define ARCP__TALK_PEERS 2
/* Events that are passed over while something else is waited for: more than any agent for a test
 * has. */
#define ARCP__TALK_FRAMES_MAX 100000

/* What came of a case. */
typedef struct arcp__verdict {
    bool passed;
    arcp_status status;  /* why the connection failed, where that is what it is; else ARCP_OK */
    const char *section; /* the one that is violated: the case's, or that of a frame */
    arcp_buf why;
    arcp_buf frame; /* the offending one; empty: none */
    arcp_span
        left_open; /* what the draft does not say of the steps played last; of the case's text */
} arcp__verdict;

void arcp__verdict_fini(arcp__verdict *verdict);

typedef struct arcp__talk_peer {
    arcp__wire_end *end; /* NULL: not connected */
    arcp__look look;
    char name; /* 'a' */
} arcp__talk_peer;

typedef struct arcp__talk {
    arcp__wire *wire;
    arcp__variables variables;
    arcp__talk_peer peers[ARCP__TALK_PEERS];
    arcp_buf frame; /* the last one taken */
    arcp_json json; /* of it */
    arcp__ulid_source ids;
    arcp__verdict *verdict;
} arcp__talk;

/* The wire and the verdict are borrowed. */
void arcp__talk_init(arcp__talk *talk, arcp__wire *wire, arcp__verdict *verdict);
/* Cuts what is still connected. */
void arcp__talk_fini(arcp__talk *talk);

/* ---- failing; all return false ---- */

bool arcp__talk_fail(arcp__talk *t, const char *why);
/* The frame that was taken last is the one. */
bool arcp__talk_fail_with_frame(arcp__talk *t);
bool arcp__talk_fail_with_error(arcp__talk *t, const char *while_what, const arcp_error *err);
/* The frame that was taken last is not what was waited for. */
bool arcp__talk_unexpected(arcp__talk *t, const char *wanted);

/* The name of a variable of a peer: session_a. Written to `out`. */
arcp_span arcp__talk_own_name(const arcp__talk_peer *who, const char *prefix,
                              char out[ARCP__VARIABLE_NAME_MAX]);

/* ---- sending ---- */

/* An envelope around a payload, in which $name stands for the variable's value. */
ARCP_MUST_CHECK bool arcp__talk_send(arcp__talk *t, arcp__talk_peer *who, arcp_span type,
                                     arcp_span payload);
/* A text that need not be an envelope, variables replaced. */
ARCP_MUST_CHECK bool arcp__talk_send_as_it_stands(arcp__talk *t, arcp__talk_peer *who,
                                                  arcp_span text);

/* ---- taking ---- */

/* The next frame but pings, which are answered; looked at. `what` is waited for. */
ARCP_MUST_CHECK bool arcp__talk_take(arcp__talk *t, arcp__talk_peer *who, const char *what);
/* The next frame of a type; what may come between is passed over. */
ARCP_MUST_CHECK bool arcp__talk_await(arcp__talk *t, arcp__talk_peer *who, const char *type);
/* Whether the frame that was taken last may come at any time, while something else is waited for.
 */
bool arcp__talk_may_come_between(const arcp__talk *t);

#endif
