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

/* ---- the table JOBS ---- */
/* The refs are of what is written and read by others. */
typedef struct arcp__job_row {
    arcp_span status, session_id, principal, result_id;
    int64_t ended_at; /* 0: it has not ended */
    uint64_t records, bytes, first_seq, last_seq;
    uint64_t features;
    arcp_json_ref accepted, spent, trace, idempotency;
} arcp__job_row;
extern const arcp__members arcp__job_members;

/* What job.accepted said (id, agent, lease, when, trace, parent) is in the row as it was said. */
typedef struct arcp__accepted_row {
    arcp_span agent, trace_id, parent_job_id;
    int64_t accepted_at;
    arcp_json_ref lease, lease_constraints;
} arcp__accepted_row;
extern const arcp__members arcp__accepted_members;

/* ---- a record of a session's index ---- */
typedef struct arcp__index_record {
    uint64_t seq, count;
    arcp_span stream; /* its key */
    uint64_t position, bytes;
    uint64_t total; /* of all that the stream has, where the run ends with it; else 0 */
} arcp__index_record;
extern const arcp__members arcp__index_members;

#endif
