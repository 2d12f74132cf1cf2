/* Between the two files of the restart: what rows say, and the steps. */
#ifndef ARCP_ENGINE_RESTORE_H
#define ARCP_ENGINE_RESTORE_H

#include "engine/parts.h"

/* Takes the row that engine->json holds. ARCP_E_CORRUPT, ARCP_E_NO_MEMORY. */
arcp_status arcp__restore_take_row(arcp__engine *engine, arcp_store_table table, arcp_span key,
                                   arcp_error *err);

/* Members of a row; empty and 0 when they are not there. */
arcp_span arcp__restore_text(arcp__engine *engine, const arcp_json *row, const char *name);
uint64_t arcp__restore_number(const arcp_json *row, const char *name);

/* 64 lower-case hex digits; false, and nothing written that means anything, for other text. */
bool arcp__restore_hash(arcp_span hex, uint8_t out[32]);

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

/* Fill *err. */
arcp_status arcp__restore_damaged(const char *what, arcp_span key, arcp_error *err);
arcp_status arcp__restore_out_of_memory(arcp_error *err);

#endif
