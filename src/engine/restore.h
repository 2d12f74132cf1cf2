/* Taking up what the store holds after a restart: its steps, and what rows say. */
#ifndef ARCP_ENGINE_RESTORE_H
#define ARCP_ENGINE_RESTORE_H

#include "engine/parts.h"

/* ---- restore.c: the steps, in their order ---- */
/* All rows are there: asks for the indexes. False when out of memory. */
void arcp__restore_begin(arcp__engine *engine);
/* The next step when the reads of the current one are answered. True when all is read, and the
 * observers are told to catch up. */
bool arcp__restore_advance(arcp__engine *engine);
/* They have caught up: what was running ends. */
void arcp__restore_end_jobs(arcp__engine *engine);
/* Takes the answer to a READ of the restore; others are ignored. */
void arcp__restore_read_done(arcp__engine *engine, uint64_t read_id, arcp_status status,
                             uint64_t first, const arcp_span *records, size_t count);
void arcp__restore_free(arcp__engine *engine);

/* ---- restore_row.c, restore_stream.c ---- */
/* Takes the row that engine->context.json holds. ARCP_E_CORRUPT, ARCP_E_NO_MEMORY. */
arcp_status arcp__restore_take_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                   arcp_error *err);

/* A stream that an index speaks of, and no row: by its key. */
typedef struct arcp__lost_stream {
    arcp__stream *stream; /* referenced */
    UT_hash_handle hh;
} arcp__lost_stream;

/* The stream of a session's index with this key: of a job, of the session's own records, or one
 * that is listed among the lost. Borrowed from there; NULL when out of memory. */
arcp__stream *arcp__restore_stream(arcp__engine *engine, arcp__lost_stream **lost,
                                   arcp__session *session, arcp_span key);
/* The session's own; NULL when out of memory. */
arcp__stream *arcp__restore_own_stream(arcp__engine *engine, arcp__session *session);
void arcp__restore_free_lost(arcp__engine *engine, arcp__lost_stream **lost);

#endif
