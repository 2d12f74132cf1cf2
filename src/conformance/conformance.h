/* What plays the cases (cases.story) to a runtime, from the bottom up. */
#ifndef ARCP_CONFORMANCE_CONFORMANCE_H
#define ARCP_CONFORMANCE_CONFORMANCE_H

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/json.h>

#include "story/story.h"

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

/* ---- cases.c: cases.story, case by case ---- */

typedef struct arcp__case {
    arcp_span section, title, needs, steps;
} arcp__case;

/* All cases as they are written, and the macros before them. */
extern const char arcp__cases_text[];

/* Takes the next case off the text; false: there is none. */
bool arcp__case_next(arcp_span *text, arcp__case *out);

/* ---- stage.c: plays one case to a runtime ---- */

typedef struct arcp__wire arcp__wire; /* the way to a runtime */

/* `url` and `ca_file` (may be NULL) are borrowed; all that a step waits for takes wait_ms at most.
 * NULL without memory. */
ARCP_MUST_CHECK arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms);
void arcp__wire_free(arcp__wire *wire);

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
