/* Tables of the memory store: rows by key, changed in two steps so that a batch is one
 * transaction. A change is staged first (which may fail), then all staged rows are
 * committed or abandoned (which cannot). */
#ifndef ARCP_STORE_MEMORY_TABLE_H
#define ARCP_STORE_MEMORY_TABLE_H

#include <arcp/sys/store.h>

#include "base/hash.h"

typedef struct arcp__memory_value {
    size_t size;
    char data[];
} arcp__memory_value;

typedef struct arcp__memory_row {
    UT_hash_handle hh;
    arcp__memory_value *value;  /* owned; NULL: not there (made by the batch at hand) */
    arcp__memory_value *staged; /* owned; what the batch at hand leaves; NULL: no row */
    bool is_staged;
    struct arcp__memory_row *next_staged;
    arcp_store_table table;
    size_t key_size;
    char key[];
} arcp__memory_row;

/* Zero-initialised is empty. */
typedef struct arcp__memory_tables {
    arcp__memory_row *rows[ARCP_STORE_TABLE_COUNT];
    arcp__memory_row *staged; /* rows that the batch at hand touches */
    uint64_t bytes;           /* of all keys and values */
} arcp__memory_tables;

/* Frees everything. */
void arcp__memory_tables_fini(arcp__memory_tables *tables);

/* Stages a PUT or DELETE. ARCP_E_NO_MEMORY; then the caller
 * abandons the batch. */
ARCP_MUST_CHECK arcp_status arcp__memory_tables_stage(arcp__memory_tables *tables,
                                                      const arcp_store_op *op, arcp_error *err);
void arcp__memory_tables_commit(arcp__memory_tables *tables);
void arcp__memory_tables_abandon(arcp__memory_tables *tables);

/* The rows whose key starts with `prefix` in key order; the array is the caller's
 * (arcp__free), the spans in it live until the next commit. */
ARCP_MUST_CHECK arcp_status arcp__memory_tables_scan(const arcp__memory_tables *tables,
                                                     arcp_store_table table, arcp_span prefix,
                                                     arcp_store_row **rows, size_t *count,
                                                     arcp_error *err);

#endif
