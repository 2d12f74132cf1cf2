/* What plays the cases (case.def) to a runtime, from the bottom up. */
#ifndef ARCP_CONFORMANCE_CONFORMANCE_H
#define ARCP_CONFORMANCE_CONFORMANCE_H

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/json.h>

#include "base/ulid.h"
#include "conformance/match.h"

/* ---- wire.c ---- */

/* Connections to a runtime for `arcp conformance`: frames as they are, one after the other, and
 * every wait with an end. One thread. */

typedef struct arcp__wire arcp__wire;         /* the way to a runtime */
typedef struct arcp__wire_end arcp__wire_end; /* one connection */

/* `url` and `ca_file` (may be NULL) are borrowed; wait_ms: see
 * arcp__wire_begin. NULL without memory. */
ARCP_MUST_CHECK arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms);
/* Drops what is still connected. */
void arcp__wire_free(arcp__wire *wire);

/* From here on all waits together take wait_ms at most, however much comes meanwhile. To be called
 * before the first one. */
void arcp__wire_begin(arcp__wire *wire);

/* Connects; *out is to be dropped. ARCP_E_IO, ARCP_E_DEADLINE, ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__wire_open(arcp__wire *wire, arcp__wire_end **out,
                                            arcp_error *err);
/* Cuts the connection. NULL is allowed. */
void arcp__wire_drop(arcp__wire_end *end);

/* ARCP_E_CLOSED when the peer has closed, ARCP_E_LIMIT when it has left 64 MiB unread. */
ARCP_MUST_CHECK arcp_status arcp__wire_send(arcp__wire_end *end, arcp_span frame, arcp_error *err);

/* Takes the next frame, in `out` (cleared first). ARCP_E_DEADLINE when none came in time,
 * ARCP_E_CLOSED when the peer has closed and everything before was taken. */
ARCP_MUST_CHECK arcp_status arcp__wire_next(arcp__wire_end *end, arcp_buf *out, arcp_error *err);

/* ---- look.c ---- */

/* What must be right with every frame of a runtime, whatever it answers, for `arcp conformance`. */

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

/* ---- talk.c ---- */

/* What a case says to a runtime and hears from it, over its connections: envelopes, pings that are
 * answered, and every frame looked at. Functions that return false have said why in the verdict. */

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

/* ---- step.c: the steps of a case of cases.c, which describes them ---- */

/* Plays one line. False: the case has failed, and the verdict says why. */
ARCP_MUST_CHECK bool arcp__step_play(arcp__talk *t, arcp_span line);

/* ---- play.c: plays one case of cases.c to a runtime ---- */

typedef struct arcp__case {
    const char *section, *title, *needs, *steps;
} arcp__case;

/* All cases (cases.c), and how many there are. */
extern const arcp__case arcp__cases[];
extern const size_t arcp__case_count;

/* Plays the steps, with variables beside those of the case. What is still connected at the end is
 * cut, and a job that is left over cancelled. With `welcome` not NULL the last message that was
 * taken is put there. */
void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome);

/* ---- report.c ---- */

/* What `arcp conformance` prints: a line for each case and one for all, for people or as JSON. */

typedef struct arcp__tally {
    unsigned passed, failed, differ, skipped;
} arcp__tally;

/* Counts what came of a case that was played. */
void arcp__tally_add(arcp__tally *tally, const arcp__verdict *verdict);

/* Appends what came of a case; `skipped` says why it was not played, else NULL. Secrets of a frame
 * (tokens, credentials) are not shown. */
void arcp__conformance_report(const arcp__case *played, const arcp__verdict *verdict,
                              const char *skipped, bool is_json, arcp_buf *out);

/* Appends the last line. `runtime` is its name and version. */
void arcp__conformance_summary(const arcp__tally *tally, arcp_span runtime, bool is_json,
                               arcp_buf *out);

#endif
