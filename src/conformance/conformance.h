/* What plays the cases (cases.story) to a runtime, from the bottom up. */
#ifndef ARCP_CONFORMANCE_CONFORMANCE_H
#define ARCP_CONFORMANCE_CONFORMANCE_H

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/json.h>

#include "story/story.h"

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

/* How the peer closed, waited for; 0: a frame came, or nothing in time. */
int arcp__wire_close_code(arcp__wire_end *end);

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

/* A capability that a welcome names. */
arcp_json_ref arcp__capability(const arcp_json *welcome, const char *name);
/* Whether a list has this string. */
bool arcp__list_has(const arcp_json *json, arcp_json_ref list, arcp_span word);

/* ---- stage.c: plays one case to a runtime ---- */

/* What came of a case. */
typedef struct arcp__verdict {
    bool passed;
    arcp_status status; /* why the connection failed, where that is what it is; else ARCP_OK */
    arcp_span section;  /* the one that is violated: the case's, or that of a frame */
    arcp_buf why;
    arcp_buf frame;     /* the offending one; empty: none */
    arcp_buf left_open; /* what the draft does not say of the steps played last */
} arcp__verdict;

void arcp__verdict_fini(arcp__verdict *verdict);

typedef struct arcp__case {
    arcp_span section, title, needs, steps;
} arcp__case;

/* All cases as they are written, and the macros before them. */
extern const char arcp__cases_text[];

/* Takes the next case off the text; false: there is none. */
bool arcp__case_next(arcp_span *text, arcp__case *out);

/* Plays the steps, with variables beside those of the case. What is still connected at the end is
 * cut, and a job that is left over cancelled. With `welcome` not NULL the last message that was
 * taken is put there. */
void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome);
/* Whether each of the steps begins with a word that there is; if not, which does not. */
ARCP_MUST_CHECK bool arcp__case_check(const arcp__case *written, arcp_span *unknown);

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
