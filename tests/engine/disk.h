/* A store that can be made slow, full or lost: it wraps a memory store, and a batch goes through
 * three states, each of which a test advances: submitted (lost in a crash), written (survives one,
 * but its owner does not know), reported. Reads are completed in any order that <arcp/sys/store.h>
 * allows.
 *
 * It also tracks what would survive a crash: the written numbers of each session, the written jobs,
 * and the written ends. */
#ifndef ARCP_TESTS_ENGINE_DISK_H
#define ARCP_TESTS_ENGINE_DISK_H

#include <arcp/sys/store.h>

#define DISK_QUEUE_MAX 64
#define DISK_ID_SIZE   40
#define DISK_KNOWN_MAX 1024

/* The written state of a session or a job. */
typedef struct disk_known {
    char id[DISK_ID_SIZE];
    bool has_row;
    bool has_end;   /* of a job: its row says how it ended */
    bool is_gone;   /* of a job: it was removed */
    uint64_t tip;   /* of a session: its last event_seq in the index */
    uint64_t bytes; /* of a job: of its records */
} disk_known;

typedef struct disk_batch {
    arcp_store_batch batch;
    bool written;
} disk_batch;

/* A batch that was written, copied. */
typedef struct disk_kept {
    arcp_store_op *ops;
    size_t count;
} disk_kept;

typedef struct disk_read {
    uint64_t id;
    arcp_store_table table;
    bool is_scan;
    char key[128];
    size_t key_size;
    uint64_t from;
    size_t count_max, bytes_max;
    uint64_t after; /* batches that must have been reported before */
} disk_read;

typedef struct disk {
    arcp_store store; /* first: the owner gets a pointer to it */
    arcp_store *inner;
    arcp_store_callbacks callbacks;
    bool is_held;        /* only disk_write and disk_report advance batches */
    bool refuses;        /* batches fail (full, or an I/O error), reads too */
    bool refuses_submit; /* batches are not even queued */
    disk_batch queue[DISK_QUEUE_MAX];
    size_t queued, written;       /* the first `written` of the queue are on the disk */
    uint64_t submitted, reported; /* batches so far */
    disk_read reads[512];
    size_t read_count;
    arcp_status inner_status;
    /* A row of a purse or of a hold was written or deleted. NULL: there are none. */
    void (*on_money)(void *user, const arcp_store_op *op);
    void *on_money_user;
    /* The same of a row of the outbox. */
    void (*on_notification)(void *user, const arcp_store_op *op);
    void *on_notification_user;
    disk_known known[DISK_KNOWN_MAX];
    size_t known_count;
    size_t failures, crashes; /* statistics */
    bool keeps_history;       /* of what is written, for disk_go_back */
    disk_kept *history;       /* owned */
    size_t history_count;
} disk;

/* The disk's memory is the caller's; the rig closes it by its store's vtable. */
void disk_init(disk *d);

/* Moves the oldest submitted batch to the disk; false when there is none. */
bool disk_write(disk *d);
/* Reports the oldest written batch to the owner; false when there is none. */
bool disk_report(disk *d);
/* Completes the `choice`-th of the reads that may be completed; false when there is none. */
bool disk_answer(disk *d, unsigned choice);
/* Fails the submitted batches, and reports it to the owner; false when nothing was submitted. */
bool disk_fail(disk *d);
/* Power fails: unwritten batches are lost, and nothing is reported. */
void disk_crash(disk *d);

/* After a crash: the store is an older one, which has only the first batches of the history. */
void disk_go_back(disk *d, size_t count);

/* What would survive a crash of a session or job; NULL: nothing was ever written. */
const disk_known *disk_find(const disk *d, arcp_span id);

#endif
