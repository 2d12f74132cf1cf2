/* The steps of a case of cases.c, which describes them. */
#ifndef ARCP_CONFORMANCE_STEP_H
#define ARCP_CONFORMANCE_STEP_H

#include "conformance/talk.h"

/* Plays one line. False: the case has failed, and the verdict says why. */
ARCP_MUST_CHECK bool arcp__step_play(arcp__talk *t, arcp_span line);

#endif
