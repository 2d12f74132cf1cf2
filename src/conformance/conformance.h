/* Plays the cases of cases.story against a runtime. The modules from the bottom up. */
#ifndef ARCP_CONFORMANCE_CONFORMANCE_H
#define ARCP_CONFORMANCE_CONFORMANCE_H

#include <arcp/buf.h>
#include <arcp/error.h>

#include "story/story.h"
#include "json/json.h"

/* ---- frame_rules.c ---- */

/* The rules that every frame of a runtime must satisfy, whatever the case is about. */

/* The state of one session that the rules depend on. */
typedef struct arcp__frame_rules {
    arcp_buf session;             /* its id as JSON; empty: not yet known */
    bool has_number;              /* an event has been received */
    uint64_t number;              /* event_seq of the last event */
    uint64_t before;              /* event_seq of the first event, minus one */
    bool may_progress, may_chunk; /* negotiated */
} arcp__frame_rules;

/* Takes the session's id from a welcome, and which of the requested features (a JSON list) are in
 * effect. */
void arcp__frame_rules_negotiate(arcp__frame_rules *rules, const arcp_json *welcome,
                                 arcp_span requested);

/* Whether the frame satisfies the rules; if not, *section is the section of the draft that it
 * violates, and `why` the reason. */
ARCP_MUST_CHECK bool arcp__frame_rules_check(arcp__frame_rules *rules, const arcp_json *json,
                                             const char **section, arcp_buf *why);

/* A member of a welcome's capabilities. */
arcp_json_ref arcp__capability(const arcp_json *welcome, const char *name);
/* Whether a list contains this string. */
bool arcp__list_has(const arcp_json *json, arcp_json_ref list, arcp_span word);

/* ---- cases.c: the cases of cases.story ---- */

typedef struct arcp__case {
    arcp_span section, title, needs, steps;
} arcp__case;

/* The text of cases.story: macros, then the cases. */
extern const char arcp__cases_text[];

/* Takes the next case from the text; false when there is none left. */
bool arcp__case_next(arcp_span *text, arcp__case *out);

/* ---- stage.c: plays one case against a runtime ---- */

typedef struct arcp__wire arcp__wire; /* how to connect to the runtime, and the event loop */

/* `url` and `ca_file` (may be NULL) are borrowed; a step waits for wait_ms at most. NULL when out
 * of memory. */
ARCP_MUST_CHECK arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms);
void arcp__wire_free(arcp__wire *wire);

/* The result of a case. */
typedef struct arcp__verdict {
    bool passed;
    arcp_status status; /* if the connection failed, the error; else ARCP_OK */
    arcp_span section;  /* the violated section: the case's, or that of a rule for every frame */
    arcp_buf why;
    arcp_buf frame;     /* the offending frame; empty: none */
    arcp_buf left_open; /* what the draft leaves open about the last steps; empty: nothing */
} arcp__verdict;

void arcp__verdict_fini(arcp__verdict *verdict);

/* Plays the steps of a case with the given variables. At the end, cancels a job that still runs and
 * cuts the remaining connections. If `welcome` is not NULL, appends the last message received to
 * it. */
void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome);

/* ---- report.c: the output of `arcp conformance`: one line per case and a summary ---- */

typedef struct arcp__tally {
    unsigned passed, failed, differ, skipped;
} arcp__tally;

/* Counts the verdict of a case that was played. */
void arcp__tally_add(arcp__tally *tally, const arcp__verdict *verdict);

/* Appends the lines for a case; `skipped`: why it was not played, or NULL. Secrets in the frame
 * (tokens, credentials) are hidden. */
void arcp__conformance_report(const arcp__case *played, const arcp__verdict *verdict,
                              const char *skipped, bool is_json, arcp_buf *out);

/* Appends the last line. `runtime` is the name and version of the runtime. */
void arcp__conformance_summary(const arcp__tally *tally, arcp_span runtime, bool is_json,
                               arcp_buf *out);

#endif
