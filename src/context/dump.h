/* The engine's state as text for operators: one JSON object per line, for arcp__engine_write_state.
 *
 * Each folder writes the lines of its own objects. A line begins with the member `kind`; the member
 * `waits_for` is an array of phrases, empty for an object that waits for nothing. No line has a
 * secret of a client, an agent or an upstream: no token, no value of a credential, no input, no
 * event, no result, no idempotency key; ids, names, addresses, sizes and times only. */
#ifndef ARCP_CONTEXT_DUMP_H
#define ARCP_CONTEXT_DUMP_H

#include <arcp/time.h>

#include "base/timer_heap.h"
#include "json/json.h"

typedef enum arcp__dump_kind {
    ARCP__DUMP_ENGINE,
    ARCP__DUMP_LOG,
    ARCP__DUMP_BATCH,
    ARCP__DUMP_LINK,
    ARCP__DUMP_SESSION,
    ARCP__DUMP_REQUEST,
    ARCP__DUMP_SUBSCRIPTION,
    ARCP__DUMP_JOB,
    ARCP__DUMP_WORKER,
    ARCP__DUMP_ADMISSION,
    ARCP__DUMP_CREDENTIAL,
    ARCP__DUMP_KIND_COUNT
} arcp__dump_kind;

typedef struct arcp__dump {
    arcp_buf *out;
    arcp_time now;
    size_t lines_max; /* of each kind; further ones are only counted */
    size_t counts[ARCP__DUMP_KIND_COUNT];
} arcp__dump;

/* Begins a line. False when its kind already has `lines_max` lines. */
bool arcp__dump_begin(arcp__dump *dump, arcp__dump_kind kind, arcp_json_writer *writer);
/* Begins the member `waits_for`, which is the last one. */
void arcp__dump_begin_waits(arcp_json_writer *writer);
/* Adds one thing that the object waits for. */
void arcp__dump_wait(arcp_json_writer *writer, const char *format, ...) ARCP_PRINTF(2, 3);
/* Ends `waits_for` and the line. */
void arcp__dump_end(arcp__dump *dump, arcp_json_writer *writer);
/* Writes in how many milliseconds the timer is due, below zero when it is late; nothing when it is
 * not armed. */
void arcp__dump_timer(const arcp__dump *dump, arcp_json_writer *writer, const char *name,
                      const arcp__timer *timer);
/* Writes the last line: the number of objects of each kind, and the number of those without a
 * line. */
void arcp__dump_totals(const arcp__dump *dump);

#endif
