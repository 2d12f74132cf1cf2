/* A store under test, and its completions. */
#ifndef ARCP_TESTS_STORE_RIG_H
#define ARCP_TESTS_STORE_RIG_H

#include <pthread.h>

#include <arcp/sys/store.h>

#include "support/check.h"

#define RIG_RECORDS_MAX 4096

typedef enum answer_kind { ANSWER_DONE, ANSWER_READ, ANSWER_SCAN } answer_kind;

/* One call of a callback. */
typedef struct answer {
    answer_kind kind;
    uint64_t id;
    arcp_status status;
    char message[ARCP_ERROR_MESSAGE_MAX];
    uint64_t first;
    size_t count;
    bool is_last;
    char *text; /* records joined by "|", or rows as "key=value" joined by "|" */
} answer;

typedef struct store_rig {
    arcp_store *store;
    answer *answers; /* in the order of delivery */
    size_t count;
    size_t capacity;
    uint64_t next_id;
    bool inside_call; /* of submit, read or scan: no callback may come now */
    /* Called by `done` after it has recorded the answer. */
    void (*on_done)(struct store_rig *rig, uint64_t id, arcp_status status);
    void *on_done_user;
    pthread_mutex_t mutex;
    pthread_cond_t woken_changed;
    bool is_woken;
    unsigned wakes;
} store_rig;

/* Opens the URL; fails the test when that fails. */
store_rig *rig_open(const char *url);
/* Takes a store that is open already. */
store_rig *rig_new(arcp_store *store);
/* Closes the store, and the rig with it. NULL is accepted. */
void rig_close(store_rig *rig);

arcp_store_op op_append(const char *stream, uint64_t position, const char *record);
arcp_store_op op_trim(const char *stream, uint64_t position);
arcp_store_op op_drop(const char *stream);
arcp_store_op op_put(arcp_store_table table, const char *key, const char *value);
arcp_store_op op_delete(arcp_store_table table, const char *key);

/* Submits without waiting; the operations must live until the answer. Returns the id. */
uint64_t rig_submit(store_rig *rig, const arcp_store_op *ops, size_t count);
/* Request a read or a scan without waiting. Return the id. */
uint64_t rig_ask_read(store_rig *rig, const char *stream, uint64_t from, size_t count_max,
                      size_t bytes_max);
uint64_t rig_ask_scan(store_rig *rig, arcp_store_table table, const char *prefix);

/* Polls until the (last) answer to `id` is there. It lives until the next call that waits. */
const answer *rig_wait(store_rig *rig, uint64_t id);
/* Waits for the answers to all requests. */
void rig_drain(store_rig *rig);
/* Delivers the answers that have arrived, without waiting. */
void rig_poll(store_rig *rig);
/* Forgets all answers. */
void rig_forget(store_rig *rig);

/* Submits and waits. */
arcp_status rig_commit(store_rig *rig, const arcp_store_op *ops, size_t count);
/* Reads and waits: up to RIG_RECORDS_MAX records, no limit of bytes. */
const answer *rig_read(store_rig *rig, const char *stream, uint64_t from);
/* All rows as "key=value|key=value"; the caller frees it. */
char *rig_scan(store_rig *rig, arcp_store_table table, const char *prefix);

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define check_commit(rig, status, ...)                                                             \
    do {                                                                                           \
        const arcp_store_op check_commit_ops[] = {__VA_ARGS__};                                    \
        arcp_status check_commit_status =                                                          \
            rig_commit((rig), check_commit_ops, COUNT_OF(check_commit_ops));                       \
        assert_string_equal(arcp_status_name(check_commit_status), arcp_status_name(status));      \
    } while (0)

/* The records of a stream from a position on, and the position of the first of them. */
#define check_read(rig, stream, from, want_first, want_text)                                       \
    do {                                                                                           \
        const answer *check_read_got = rig_read((rig), (stream), (from));                          \
        assert_int_equal(check_read_got->status, ARCP_OK);                                         \
        assert_string_equal(check_read_got->text, (want_text));                                    \
        assert_int_equal(check_read_got->first, (want_first));                                     \
    } while (0)

#define check_scan(rig, table, prefix, want)                                                       \
    do {                                                                                           \
        char *check_scan_got = rig_scan((rig), (table), (prefix));                                 \
        assert_string_equal(check_scan_got, (want));                                               \
        free(check_scan_got);                                                                      \
    } while (0)

#endif
