/* Pages that the store was asked for, by sessions that replay and observers that catch up. */
#ifndef ARCP_ENGINE_READS_H
#define ARCP_ENGINE_READS_H

#include "engine/state.h"

/* A page that the store was asked for; owned by whom it is for. */
struct arcp__read {
    arcp__read *previous, *next; /* all that are under way */
    uint64_t id;
    arcp__session *session; /* that replays, or */
    arcp__observation *observation;
};

#define ARCP__READ_RECORDS_MAX 1024u
/* Asks the store for a page of the stream; whom it is for is filled in by the caller. NULL when out
 * of memory. */
arcp__read *arcp__read_ask(arcp__engine *engine, const arcp__stream *stream, uint64_t from,
                           uint64_t count);
/* It is not waited for any more: its answer is for nobody. */
void arcp__read_forget(arcp__engine *engine, arcp__read **read);
/* NULL: nobody waits for it. */
arcp__read *arcp__read_find(const arcp__engine *engine, uint64_t id);

#endif
