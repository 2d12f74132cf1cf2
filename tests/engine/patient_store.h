/* Any store, with a poll that waits for completions: a store with threads of its own can then be
 * used by a rig that polls until nothing happens. It also changes streams without its owner, as
 * damage on disk would. */
#ifndef ARCP_TESTS_ENGINE_PATIENT_STORE_H
#define ARCP_TESTS_ENGINE_PATIENT_STORE_H

#include <semaphore.h>

#include <arcp/sys/store.h>

#define PATIENT_RECORDS_MAX 64

typedef struct patient_stream {
    char *records[PATIENT_RECORDS_MAX]; /* owned */
    size_t count;
} patient_stream;

typedef struct patient_store {
    arcp_store store; /* first: the owner gets a pointer to it */
    arcp_store *inner;
    arcp_store_callbacks callbacks;
    size_t asked, answered;
    sem_t woken;
} patient_store;

/* `store` is the caller's; the store's vtable closes it. */
void patient_open(patient_store *store, const char *url);

/* The rest is for when the owner waits for nothing; it must set its callbacks again. */

/* The stream from position 0 on; patient_free_stream. */
patient_stream patient_read(patient_store *store, const char *key);
/* The stream holds its first `count` records, in one batch; 0: there is no such stream. */
void patient_write(patient_store *store, const char *key, const patient_stream *stream,
                   size_t count);
void patient_trim(patient_store *store, const char *key, uint64_t position);
void patient_free_stream(patient_stream *stream);

#endif
