/* For implementers of a store, which keeps a runtime's state across restarts.
 *
 * A store holds streams (append-only runs of records, positions 0,1,2,...) and tables
 * (key -> value). Every call is asynchronous, reads included: completions come only from
 * poll (or close), never from inside the request. A batch is one transaction: all
 * of it is durable when its completion says ARCP_OK, none of it otherwise. Batches
 * complete in the order they were submitted. Records and values are UTF-8 text without
 * line feeds (JSON), keys are UTF-8 text of 1 to 512 bytes.
 *
 * A store knows nothing of sessions or jobs: it assigns no sequence numbers and
 * interprets no record. One thread, its owner's loop, makes all calls; a back end may
 * work on a thread of its own, and calls `wake` (from any thread) when poll has
 * something to deliver.
 *
 * When a batch fails (ARCP_E_IO, ARCP_E_NO_MEMORY, ARCP_E_CORRUPT), every batch that was submitted
 * before the failure was delivered fails with the same status and is not applied. So the owner can
 * submit the same batches again, in the same order, when the cause is removed. Batches that are
 * submitted after the delivery are not affected.
 *
 * ARCP_E_FENCED: the store is over, because another process owns it, or because it has lost what it
 * had acknowledged. Every later batch fails in the same way. A store that is on another machine may
 * report ARCP_E_IO although the batch has become durable; submitted again under the same id, it
 * succeeds without being applied twice.
 *
 * The interface does not depend on SQLite: a store may be on other machines. */
#ifndef ARCP_SYS_STORE_H
#define ARCP_SYS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_store arcp_store;

#define ARCP_STORE_KEY_BYTES_MAX   512u
#define ARCP_STORE_VALUE_BYTES_MAX 67108864u /* 64 MiB; of a record or a row's value */
#define ARCP_STORE_POSITION_MAX    ((UINT64_C(1) << 38) - 1) /* of a record in its stream */
#define ARCP_STORE_SCAN_ROWS_MAX   256u                      /* in one call of the scan callback */

/* The tables; rows of include/arcp/sys/store_table.def. */
typedef enum arcp_store_table {
#define ARCP_STORE_TABLE(name, number, text) ARCP_STORE_##name = (number),
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
    ARCP_STORE_TABLE_COUNT
} arcp_store_table;

/* The table's name ("sessions"); static. NULL for a number that is no table. */
ARCP_API const char *arcp_store_table_name(arcp_store_table table);

typedef enum arcp_store_op_kind {
    ARCP_STORE_APPEND = 0, /* stream key, position, record: position must be the stream's next
                          (0 for a new one), else the batch fails with CORRUPT */
    ARCP_STORE_TRIM = 1,   /* stream key, position: records below it may be removed, now or
                          later; the stream's next position does not change */
    ARCP_STORE_DROP = 2,   /* stream key: the whole stream; the next APPEND begins at 0 */
    ARCP_STORE_PUT = 3,    /* table, key, value: create or replace */
    ARCP_STORE_DELETE = 4  /* table, key: does nothing if there is no such row */
} arcp_store_op_kind;

typedef struct arcp_store_op {
    arcp_store_op_kind kind;
    arcp_store_table table; /* for PUT and DELETE */
    uint64_t position;      /* for APPEND and TRIM */
    arcp_span key;          /* of the row, or of the stream */
    arcp_span value;        /* the record, or the row's value */
} arcp_store_op;

/* `ops` and all spans in it are borrowed until the batch's completion was delivered, the
 * struct itself only during the call. Operations take effect in their order. A batch
 * without operations completes in its turn. */
typedef struct arcp_store_batch {
    uint64_t id;              /* the caller's; the completion has the same one */
    const arcp_store_op *ops; /* borrowed */
    size_t count;
} arcp_store_batch;

/* Delivered by poll, on the caller's thread. `err` is NULL when status is ARCP_OK.
 * Callbacks may submit, read and scan; they may not poll or close. */
typedef void (*arcp_store_done_fn)(void *user, uint64_t batch_id, arcp_status status,
                                   const arcp_error *err);
/* A read's records, in order, `first` being the position of records[0] (spans are valid
 * during the call only). Fewer than requested, even none, when the stream ends; with none,
 * `first` is the stream's next position (0 when there is no such stream). With
 * status != ARCP_OK there are none: ARCP_E_IO, ARCP_E_CORRUPT, ARCP_E_NO_MEMORY. */
typedef void (*arcp_store_read_fn)(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                                   const arcp_span *records, size_t count, const arcp_error *err);
/* Rows of a scan in ascending key order (bytewise), at most ARCP_STORE_SCAN_ROWS_MAX at a
 * time, in several calls, the last with `last` true (it may have no rows). Spans are
 * valid during the call only. With status != ARCP_OK the scan is over and has no rows. */
typedef struct arcp_store_row {
    arcp_span key;
    arcp_span value;
} arcp_store_row;
typedef void (*arcp_store_scan_fn)(void *user, uint64_t read_id, arcp_status status,
                                   const arcp_store_row *rows, size_t count, bool last,
                                   const arcp_error *err);

typedef struct arcp_store_callbacks {
    arcp_store_done_fn done;
    arcp_store_read_fn read;
    arcp_store_scan_fn scan;
    /* Called when poll has something to deliver, on any thread, also from inside submit, read and
     * scan; once for everything until the next poll. Must not block, and must stay callable until
     * close returns. May be NULL. */
    void (*wake)(void *user);
    void *user;
} arcp_store_callbacks;

typedef struct arcp_store_stats {
    size_t struct_size;       /* set by the caller */
    uint64_t batches;         /* committed */
    uint64_t ops;             /* committed */
    uint64_t commits;         /* transactions; one may have several batches */
    uint64_t commit_ns_total; /* time of all transactions, waiting for the disk included */
    uint64_t commit_ns_max;
    uint64_t bytes; /* size of the store now */
} arcp_store_stats;

static inline arcp_store_stats arcp_store_stats_init(void)
{
    arcp_store_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    return stats;
}

typedef struct arcp_store_ops {
    size_t struct_size;
    const char *name; /* "memory", "sqlite", "postgres" */
    bool durable;     /* survives the process */
    /* Sets the callbacks; once, before the first submit, read or scan. */
    void (*set_callbacks)(arcp_store *store, const arcp_store_callbacks *callbacks);
    /* Queues a batch. ARCP_E_USAGE (an empty or too long key, no such table or kind, a
     * line feed in a record or value), ARCP_E_LIMIT (a record, value or position beyond
     * the limits above), ARCP_E_CLOSED while the store closes, ARCP_E_NO_MEMORY; then
     * there is no completion. */
    arcp_status (*submit)(arcp_store *store, const arcp_store_batch *batch, arcp_error *err);
    /* Reads records of a stream from `from` on: at most `count_max` (not 0) of them and at
     * most `bytes_max` bytes, at least one if there is one. Sees every batch that was
     * submitted before (later ones perhaps), and completes after them. Trimmed positions are
     * skipped (see `first`). `stream` is borrowed during the call only. Errors as for
     * submit. */
    arcp_status (*read)(arcp_store *store, uint64_t read_id, arcp_span stream, uint64_t from,
                        size_t count_max, size_t bytes_max, arcp_error *err);
    /* All rows of a table whose key starts with `prefix` (borrowed during the call only).
     * Sees every batch that was submitted before, and perhaps changes that are made during the
     * scan; no row comes twice. Errors as for submit. */
    arcp_status (*scan)(arcp_store *store, uint64_t read_id, arcp_store_table table,
                        arcp_span prefix, arcp_error *err);
    /* Delivers completions; true when there may be more. Never blocks. */
    bool (*poll)(arcp_store *store);
    /* Fills what `out` has room for. */
    void (*stats)(arcp_store *store, arcp_store_stats *out);
    /* Waits for all submitted requests, delivers their completions, closes and frees the store.
     * Blocks. NULL is accepted by arcp_store_close only. */
    void (*close)(arcp_store *store);
} arcp_store_ops;

/* A store's own struct begins with this one. */
struct arcp_store {
    const arcp_store_ops *ops;
};

/* Keeps everything in memory: `memory:`. No thread. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_store_open_memory(arcp_store **out, arcp_error *err);

/* `sqlite:PATH`: WAL, synchronous=FULL, a writing, a reading and a checkpointing thread;
 * all batches that are queued while one commit runs share the next one. Creates missing
 * directories (0700), the file (0600) and its schema; migrates older schemas forward.
 * Locks the file for this process: ARCP_E_EXISTS when another process has it (the lock of a
 * killed process is released). ARCP_E_CORRUPT: not a database, or damaged. ARCP_E_USAGE:
 * another program's database, or a store written by a newer version. ARCP_E_IO,
 * ARCP_E_NO_MEMORY. Blocks for file access. Linux, local file systems; see docs/store.md. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_store_open_sqlite(const char *path, arcp_store **out,
                                                            arcp_error *err);

/* By URL: `memory:` or `sqlite:PATH`. ARCP_E_USAGE for anything else. (`postgres://...` is arcpd's,
 * from a module that is loaded.) */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_store_open(const char *url, arcp_store **out,
                                                     arcp_error *err);

/* store->ops->close; NULL is accepted. */
ARCP_API void arcp_store_close(arcp_store *store);

#ifdef __cplusplus
}
#endif
#endif
