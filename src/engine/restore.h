/* Between the two files of the restart: what rows say, and the steps. */
#ifndef ARCP_ENGINE_RESTORE_H
#define ARCP_ENGINE_RESTORE_H

#include "engine/parts.h"

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
