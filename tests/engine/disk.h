/* A store that is as slow, full and mortal as a test wants it: it stands before a memory
 * store, and a batch goes through three states that a test moves on one at a time:
 * submitted (lost in a crash), written (survives one, its owner does not know), reported.
 * Reads are answered in any order that the contract of <arcp/sys/store.h> allows.
 *
 * It also knows what a crash would leave: how far each session's numbers, which jobs, and
 * which ends are written. */
#ifndef ARCP_TESTS_ENGINE_DISK_H
#define ARCP_TESTS_ENGINE_DISK_H

#include <arcp/sys/store.h>

#define DISK_QUEUE_MAX 64
#define DISK_ID_SIZE   40
#define DISK_KNOWN_MAX 1024

/* What is written of a session or a job. */
typedef struct disk_known {
    char id[DISK_ID_SIZE];
    bool has_row;
    bool has_end;   /* of a job: its row says how it ended */
    bool is_gone;   /* of a job: it was forgotten */
    uint64_t tip;   /* of a session: its last event_seq in the index */
    uint64_t bytes; /* of a job: of its records */
} disk_known;

typedef struct disk_batch {
    arcp_store_batch batch;
    bool written;
} disk_batch;

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
    arcp_store store; /* first: this is what the owner gets */
    arcp_store *inner;
    arcp_store_callbacks callbacks;
    bool is_held;        /* nothing moves but by disk_write and disk_report */
    bool refuses;        /* batches fail (full, or an I/O error), reads too */
    bool refuses_submit; /* they do not even get into the queue */
    disk_batch queue[DISK_QUEUE_MAX];
    size_t queued, written;       /* the first `written` of the queue are on the disk */
    uint64_t submitted, reported; /* batches ever */
    disk_read reads[512];
    size_t read_count;
    arcp_status inner_status;
    disk_known known[DISK_KNOWN_MAX];
    size_t known_count;
    size_t failures, crashes; /* figures */
} disk;

/* `self` is the caller's; the rig closes it by its store's vtable. */
void disk_init(disk *self);

/* Moves the oldest submitted batch to the disk; false when there is none. */
bool disk_write(disk *self);
/* Tells its owner of the oldest batch that is written; false when there is none. */
bool disk_report(disk *self);
/* Answers a read that may be answered, the `choice`-th; false when there is none. */
bool disk_answer(disk *self, unsigned choice);
/* What was submitted fails, and the owner is told; false when nothing was submitted. */
bool disk_fail(disk *self);
/* Power goes: what is not written is gone, and nobody is told anything. */
void disk_crash(disk *self);

/* What a crash would leave of a session or job; NULL: nothing was ever written. */
const disk_known *disk_find(const disk *self, arcp_span id);

#endif
