/* Rows that one file writes and another reads after a restart: a struct and a table for each. */
#ifndef ARCP_ENGINE_ROW_H
#define ARCP_ENGINE_ROW_H

#include "core/decode.h"

/* ---- the table SESSIONS ---- */
typedef struct arcp__session_row {
    arcp_span session_id, principal;
    bool anonymous;
    arcp_span client, client_version;
    uint64_t features;
    int64_t created_at;
    uint8_t token_hash[32], previous_token_hash[32];
    uint64_t acked_seq;
} arcp__session_row;
extern const arcp__members arcp__session_members;

/* ---- a record of a session's index ---- */
typedef struct arcp__index_record {
    uint64_t seq, count;
    arcp_span stream; /* its key */
    uint64_t position, bytes;
    uint64_t total; /* of all that the stream has, where the run ends with it; else 0 */
} arcp__index_record;
extern const arcp__members arcp__index_members;

#endif
