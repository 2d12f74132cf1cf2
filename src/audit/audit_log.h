/* The audit log: accepts records on any thread, and numbers, chains and writes them on its own
 * thread.
 *
 * A record is written within a few milliseconds and synced within sync_ms. While the file cannot be
 * written, records wait in memory up to queue_bytes and the write is tried again several times a
 * second. Records that do not fit are lost and counted; when writing works again, the first line
 * has their number. */
#ifndef ARCP_AUDIT_AUDIT_LOG_H
#define ARCP_AUDIT_AUDIT_LOG_H

#include "audit/audit_chain.h"

typedef struct arcp__audit_log arcp__audit_log;

typedef struct arcp__audit_settings {
    uint64_t rotate_bytes; /* size at which a new file begins; 0: never */
    uint64_t sync_ms;      /* 0: sync every write */
    size_t queue_bytes;
} arcp__audit_settings;

/* Called on the log's thread when writing begins to fail (`message` is the reason; borrowed) and
 * when it works again (NULL). */
typedef void (*arcp__audit_changed_fn)(void *user, const char *message);

/* Opens the file (audit_file.h) and starts the thread. ARCP_E_IO, ARCP_E_EXISTS,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__audit_log_open(const char *path,
                                                 const arcp__audit_settings *settings,
                                                 arcp__audit_changed_fn changed, void *user,
                                                 arcp__audit_log **out, arcp_error *err);

/* Applies new settings. Any thread. */
void arcp__audit_log_set(arcp__audit_log *log, const arcp__audit_settings *settings);

/* Queues a record: a JSON object with at least one member, on one line. False if there is no room:
 * it is lost and counted. Never waits for the disk. Any thread. */
bool arcp__audit_log_append(arcp__audit_log *log, arcp_span record);

/* Continues in a new file if the file has been moved. Any thread. */
void arcp__audit_log_reopen(arcp__audit_log *log);

/* Has the queued records written at once, without waiting for further records. */
void arcp__audit_log_hurry(arcp__audit_log *log);

/* Waits until the records queued before the last hurry are written (not synced), which they usually
 * are. False if they cannot be written (is_failing), or after `wait_ms_max`. */
bool arcp__audit_log_await(arcp__audit_log *log, uint64_t wait_ms_max);

/* Waits until all queued records are synced; false if they cannot be written. */
bool arcp__audit_log_flush(arcp__audit_log *log);

typedef struct arcp__audit_stats {
    arcp__audit_head head; /* of the file */
    uint64_t lost;         /* records, in total */
    size_t queued_bytes;
    bool is_failing;
} arcp__audit_stats;
/* Any thread. */
void arcp__audit_log_get_stats(arcp__audit_log *log, arcp__audit_stats *out);

/* Writes the queued records and a line `closed`, and ends the thread. NULL is accepted. `last` (may
 * be NULL) gets the head of the chain. */
void arcp__audit_log_close(arcp__audit_log *log, arcp__audit_head *last);

#endif
