/* Traces: the calls of an engine's owner and their outcomes, as bytes (src/replay plays them back).
 *
 * A trace begins with a line "ARCPTRACE 1 BUILD" and a line feed; BUILD names the sources that the
 * engine was made of. Records follow: the size of what follows (32 bits), the CRC-32C of these four
 * bytes, that of the record's bytes (all little-endian), and these:
 *
 *   kind, wall clock, monotonic clock, link, job, five numbers, four texts, and what the kind has
 * more
 *
 * Numbers are LEB128, a text is its size + 1 and its bytes (0: there is none). Links and jobs have
 * numbers of their own, in the order in which they came: a job has one from its start, or from the
 * time when a worker says that it has its program, until that is forgotten. Results of its owner's
 * functions (random bytes, sealed values) are there in full, effects and batches by size, hash and
 * beginning. A trace holds everything that clients, agents and upstreams sent: tokens, credentials,
 * inputs. */
#ifndef ARCP_RECORD_RECORD_H
#define ARCP_RECORD_RECORD_H

#include "engine/engine.h"

typedef struct arcp__recorder arcp__recorder;

/* Whole records; the first time the trace's first line alone. */
typedef void (*arcp__record_write_fn)(void *user, arcp_span bytes);

/* Writes when a call begins, together with the outcomes of the call before it; `is_eager`: each
 * record at once. NULL when out of memory. */
arcp__recorder *arcp__recorder_new(arcp__record_write_fn write, void *user, bool is_eager);
void arcp__recorder_free(arcp__recorder *recorder); /* NULL is accepted */
/* Changes the options of a new engine so that the engine is recorded. The recorder outlives it.
 * When that engine is freed, another one may be attached: it is recorded in the same trace. */
void arcp__recorder_attach(arcp__recorder *recorder, arcp__engine_options *options);
/* The link or job that has this number; NULL: none. */
arcp__link *arcp__recorder_link(const arcp__recorder *recorder, uint64_t number);
arcp__job *arcp__recorder_job(const arcp__recorder *recorder, uint64_t number);
/* Memory ran out: the trace ends there. */
bool arcp__recorder_has_failed(const arcp__recorder *recorder);

/* Names the sources that the engine of this program was made of. */
extern const char arcp__build_identity[];

/* ---- recording.c: reading ---- */

typedef struct arcp__recording {
    arcp_span bytes;
    size_t at; /* of the next record */
} arcp__recording;

typedef enum arcp__recording_step {
    ARCP__RECORDING_RECORD,
    ARCP__RECORDING_END,
    ARCP__RECORDING_CUT,    /* the last record is not whole */
    ARCP__RECORDING_DAMAGED /* a checksum is wrong, or no kind has this number */
} arcp__recording_step;

/* ARCP_E_CORRUPT: it does not begin as a trace. The identity is borrowed from `bytes`. */
ARCP_MUST_CHECK arcp_status arcp__recording_open(arcp_span bytes, arcp__recording *out,
                                                 arcp_span *identity, arcp_error *err);
/* Reads the next record. */
arcp__recording_step arcp__recording_next(arcp__recording *trace, arcp_span *record);

/* Reads the fields of a record, one after the other. */
typedef struct arcp__recording_fields {
    arcp_span rest;
    bool is_wrong; /* the record was too short for a field */
} arcp__recording_fields;

uint64_t arcp__recording_number(arcp__recording_fields *fields);
/* data == NULL: there is none. */
arcp_span arcp__recording_text(arcp__recording_fields *fields);

typedef struct arcp__recording_call {
    arcp__call_kind kind;
    arcp_time now;
    uint64_t link, job;
    uint64_t numbers[ARCP__CALL_NUMBERS];
    arcp_span texts[4];
    arcp__recording_fields more;
} arcp__recording_call;

/* False: no record of this format. */
ARCP_MUST_CHECK bool arcp__recording_read_call(arcp_span record, arcp__recording_call *out);
/* A call, not an outcome. */
static inline bool arcp__call_is_input(arcp__call_kind kind)
{
    return kind < ARCP__CALL_LINK;
}
/* Appends one line for people; long texts are cut. */
void arcp__recording_describe(arcp_span record, arcp_buf *out);

#endif
