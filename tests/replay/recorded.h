/* Traces of engines in memory, and their records taken apart and put together again. */
#ifndef ARCP_TESTS_REPLAY_RECORDED_H
#define ARCP_TESTS_REPLAY_RECORDED_H

#include <arcp/buf.h>

#include "record/record.h"

typedef struct recording {
    arcp_buf bytes;
    arcp__recorder *recorder;
} recording;

void recording_begin(recording *r);
/* Changes the options of an engine so that it is recorded; `user` is the recording. */
void recording_attach(void *user, arcp__engine_options *options);
/* When the engine is freed. The trace is valid until r->bytes is finished. */
arcp_span recording_end(recording *r);

/* A simulation of `steps` steps (tests/engine): stores that fail, clients that stall, credentials,
 * restarts at any effect, clocks that jump. */
arcp_span record_simulation(recording *r, uint64_t seed, unsigned steps);

typedef struct recorded_call {
    size_t at;      /* of the record in the trace */
    arcp_span text; /* the record with its head */
    arcp__recording_call call;
    size_t next; /* of the next call, after the outcomes of this one */
} recorded_call;

/* The calls of a trace, without outcomes; borrowed from the trace. The caller frees the array. */
recorded_call *recorded_calls(arcp_span trace, size_t *count);

/* Appends a number as records have it. */
void append_number(arcp_buf *out, uint64_t value);
/* Appends a record, with its head. */
void append_call(arcp_buf *out, const arcp__recording_call *call);

#endif
