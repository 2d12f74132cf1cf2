/* Which refusals of strangers get a line, and how many did not. */
#ifndef ARCP_ENGINE_REFUSAL_H
#define ARCP_ENGINE_REFUSAL_H

#include "engine/engine.h"

#define ARCP__REFUSED_ADDRESSES_MAX 256u
#define ARCP__REFUSED_ROWS_MAX      (ARCP__REFUSED_ADDRESSES_MAX + 32u) /* the others', by kind */

#define ARCP__REFUSED_ADDRESS_MAX 47u /* bytes that tell addresses apart */

/* One address and kind of refusal in the minute at hand. */
typedef struct arcp__refused {
    char address[ARCP__REFUSED_ADDRESS_MAX + 1];
    const char *rule; /* static */
    int code;
    uint64_t written, counted;
    bool is_audited, is_logged;
} arcp__refused;

typedef struct arcp__refusals {
    arcp__refused rows[ARCP__REFUSED_ROWS_MAX];
    size_t count;
} arcp__refusals;

/* Counts it; true when it is to have lines of its own. */
bool arcp__refusal_is_written(arcp__engine *engine, const arcp__refusal *refusal);
/* By the owner, before there was a link: it may get lines. */
void arcp__refusal_note(arcp__engine *engine, const arcp__refusal *refusal, const char *reason);
/* Says how many had none, and begins anew. */
void arcp__refusals_tell(arcp__engine *engine);

#endif
