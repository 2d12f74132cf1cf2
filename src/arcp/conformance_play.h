/* Plays one case of conformance_case.def to a runtime. */
#ifndef ARCP_ARCP_CONFORMANCE_PLAY_H
#define ARCP_ARCP_CONFORMANCE_PLAY_H

#include "arcp/conformance_match.h"
#include "arcp/conformance_wire.h"

typedef struct arcp__case {
    const char *section, *title, *needs, *steps;
} arcp__case;

/* The table, and how many there are. */
extern const arcp__case arcp__cases[];
extern const size_t arcp__case_count;

/* What came of it. */
typedef struct arcp__verdict {
    bool passed;
    arcp_status status;  /* why the connection failed, where that is what it is; else ARCP_OK */
    const char *section; /* the one that is violated: the case's, or that of a frame */
    arcp_buf why;
    arcp_buf frame; /* the offending one; empty: none */
} arcp__verdict;

void arcp__verdict_fini(arcp__verdict *verdict);

/* Plays the steps, with variables beside those of the case. What is still connected at the end is
 * cut, and a job that is left over cancelled. With `welcome` not NULL the last message that was
 * taken is put there. */
void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome);

#endif
