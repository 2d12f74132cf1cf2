/* Plays one case of cases.c to a runtime. */
#ifndef ARCP_CONFORMANCE_PLAY_H
#define ARCP_CONFORMANCE_PLAY_H

#include "conformance/talk.h"

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

#endif
