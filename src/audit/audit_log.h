/* The audit log: takes records on one thread, numbers, chains and writes them on its own.
 *
 * A record is in the file within a few milliseconds and on the disk within sync_ms. While the
 * file cannot be written, records wait in memory up to queue_bytes, the write is tried again
 * several times a second, and what does not fit is counted; the count is the first line after
 * it works again. */
#ifndef ARCP_AUDIT_AUDIT_LOG_H
#define ARCP_AUDIT_AUDIT_LOG_H

#include "audit/audit_chain.h"

typedef struct arcp__audit_log arcp__audit_log;

typedef struct arcp__audit_settings {
    uint64_t rotate_bytes; /* a new file after this many; 0: never */
    uint64_t sync_ms;      /* 0: sync every write */
    size_t queue_bytes;
} arcp__audit_settings;

/* Called on the log's thread when it begins to fail (`message` says why; borrowed) and when it
 * works again (NULL). */
typedef void (*arcp__audit_changed_fn)(void *user, const char *message);

/* Opens the file (audit_file.h) and starts the thread. ARCP_E_IO, ARCP_E_EXISTS,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__audit_log_open(const char *path,
                                                 const arcp__audit_settings *settings,
                                                 arcp__audit_changed_fn changed, void *user,
                                                 arcp__audit_log **out, arcp_error *err);

/* From now on. Any thread. */
void arcp__audit_log_set(arcp__audit_log *log, const arcp__audit_settings *settings);

/* Takes a record: a JSON object of at least one member, on one line. False when there is no
 * room: it is lost, and counted. Never waits for the disk. Any thread. */
bool arcp__audit_log_append(arcp__audit_log *log, arcp_span record);

/* Somebody may have moved the file away: go on in a new one then. Any thread. */
void arcp__audit_log_reopen(arcp__audit_log *log);

/* What was taken up to now shall be in the file soon: the thread waits for no company. */
void arcp__audit_log_hurry(arcp__audit_log *log);

/* Waits until what was taken before the last hurry is in the file (not on the disk): usually it
 * is. False when it cannot be written, or took longer than `wait_ms_max`. */
bool arcp__audit_log_await(arcp__audit_log *log, uint64_t wait_ms_max);

/* Waits until everything taken is on the disk; false when it cannot be written. */
bool arcp__audit_log_flush(arcp__audit_log *log);

typedef struct arcp__audit_stats {
    arcp__audit_head head; /* of what is in the file */
    uint64_t lost;         /* records, ever */
    size_t queued_bytes;
    bool is_failing;
} arcp__audit_stats;
/* Any thread. */
void arcp__audit_log_get_stats(arcp__audit_log *log, arcp__audit_stats *out);

/* Writes what it can, notes that it was closed, ends the thread. NULL is accepted. `last` (may
 * be NULL) gets where the chain stands then. */
void arcp__audit_log_close(arcp__audit_log *log, arcp__audit_head *last);

#endif
