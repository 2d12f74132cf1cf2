/* Plays a trace back: repeats its calls on an engine, and compares the outcomes. */
#ifndef ARCP_REPLAY_REPLAY_H
#define ARCP_REPLAY_REPLAY_H

#include <arcp/buf.h>
#include <arcp/error.h>

typedef enum arcp__replay_end {
    ARCP__REPLAY_SAME,    /* the whole trace was played, without a difference */
    ARCP__REPLAY_CUT,     /* no difference before `offset`, where a record is not whole */
    ARCP__REPLAY_FOREIGN, /* no difference before `offset`, where the embedding program decides */
    ARCP__REPLAY_DIFFERS, /* at `offset`: `expected` is the trace's record, `got` the engine's */
    ARCP__REPLAY_DAMAGED  /* at `offset`: `got` says how */
} arcp__replay_end;

typedef struct arcp__replay_result {
    arcp__replay_end end;
    uint64_t calls, outcomes; /* without a difference */
    uint64_t offset;
    arcp_buf expected, got; /* one line for people each; owned */
} arcp__replay_result;

/* ARCP_E_CORRUPT: this is no trace. ARCP_E_USAGE: another build recorded it, unless `any_build`.
 * ARCP_E_NO_MEMORY. The result is to be finished in any case. */
ARCP_MUST_CHECK arcp_status arcp__replay(arcp_span trace, bool any_build, arcp__replay_result *out,
                                         arcp_error *err);
void arcp__replay_result_fini(arcp__replay_result *result);

#endif
