/* What `arcp conformance` prints: a line for each case and one for all, for people or as JSON. */
#ifndef ARCP_CONFORMANCE_REPORT_H
#define ARCP_CONFORMANCE_REPORT_H

#include "conformance/play.h"

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
