/* The runtime's end of one link to a worker, without I/O and clock: the handshake, the pings, which
 * numbers come in which order, and when `kept` says what the worker need not keep. What a job says,
 * and what becomes of it, is its owner's affair.
 *
 *     GREETING ── hello, and the owner takes it ──> JOINED
 *        │                                            │
 *        └── no hello in 10 s, a version or a worker  └── silent for 15 s, a message
 *            that is not taken: the link is closed        that does not fit: the same
 *
 * On one link the numbers of a job go up by one. Only items below the first that hello named, open
 * ones, come with gaps, before the others. A message about a job that this worker was not given
 * ends the link. Messages about one that was forgotten are dropped until the worker has answered a
 * ping that was sent later.
 *
 * All times are CLOCK_BOOTTIME's. */
#ifndef ARCP_WORKER_WORKER_PEER_H
#define ARCP_WORKER_WORKER_PEER_H

#include <arcp/time.h>

#include "worker/worker_frame.h"

#define ARCP__PEER_HELLO_NS (10 * ARCP_NS_PER_SEC)
/* Bytes of `log` that all jobs of a worker may have in a second; more is counted and dropped. At
 * least one message. */
#define ARCP__PEER_LOG_BYTES ((size_t)1048576)
/* `kept` goes after this time, or these bytes. */
#define ARCP__PEER_KEPT_NS    (50 * ARCP_NS_PER_MS)
#define ARCP__PEER_KEPT_BYTES 65536u

typedef struct arcp__worker_peer arcp__worker_peer;

/* None of these functions calls the peer, except that `send` may find out that the link has ended.
 * `job` is what the owner has given. */
typedef struct arcp__worker_peer_owner {
    /* To the worker; borrowed for the call. */
    void (*send)(void *user, const arcp__worker_message *message);
    /* Whether the worker is taken; fills in `welcome`, but for the version. Otherwise the link is
     * closed with the error's message. */
    arcp_status (*hello)(void *user, const arcp__worker_hello *hello, arcp__worker_welcome *welcome,
                         arcp_error *err);
    /* A hello whose versions are all others than ours; the link is closed. May be NULL. */
    void (*foreign)(void *user, const arcp__worker_hello *hello);
    /* What becomes of a job that hello names. False: it is of another store, or not spoken of.
     * *job is needed if it goes on, or is ended and its exit awaited. */
    bool (*claim)(void *user, const arcp__worker_job_row *row, arcp__worker_resumption *what,
                  void **job);
    /* Welcome was sent. */
    void (*ready)(void *user);
    void (*started)(void *user, void *job, uint64_t pid);
    /* The peer has forgotten the job. */
    void (*refused)(void *user, void *job, const arcp__worker_refused *refused);
    void (*item)(void *user, void *job, uint64_t number, arcp__worker_item what, arcp_span text);
    /* Bytes up to the one before `end`. */
    void (*output)(void *user, void *job, uint64_t end, arcp_span bytes);
    void (*error_line)(void *user, void *job, uint64_t number, arcp_span line);
    void (*log)(void *user, void *job, arcp_span line);
    /* Bytes of its log, before the next line, that the worker had no room for. May be NULL. */
    void (*log_dropped)(void *user, void *job, uint64_t bytes);
    /* All that it has said has come. */
    void (*exited)(void *user, void *job, const arcp__worker_exited *exited, arcp_span stderr_tail);
    void (*got)(void *user, void *job, uint64_t at);
    /* Fills in all but the job; `open` is valid until the next call. */
    void (*get_kept)(void *user, void *job, arcp__worker_kept *out);
    void *user;
} arcp__worker_peer_owner;

/* NULL when out of memory. */
arcp__worker_peer *arcp__worker_peer_new(const arcp__worker_peer_owner *owner, int64_t now_ns);
void arcp__worker_peer_free(arcp__worker_peer *peer); /* NULL is accepted */

/* A message of the worker. Other than ARCP_OK: the owner closes the link. */
ARCP_MUST_CHECK arcp_status arcp__worker_peer_receive(arcp__worker_peer *peer, int64_t now_ns,
                                                      const arcp__worker_message *message,
                                                      arcp_error *err);
/* What is due, `kept` in particular: the owner sends the answers to all that has come first,
 * because the worker takes none to an item that it keeps no more. Other than ARCP_OK: it closes the
 * link.
 */
ARCP_MUST_CHECK arcp_status arcp__worker_peer_tick(arcp__worker_peer *peer, int64_t now_ns,
                                                   arcp_error *err);
/* When tick is to be called next. */
int64_t arcp__worker_peer_due(const arcp__worker_peer *peer);

/* The jobs that the worker has been given and that are not forgotten. */
size_t arcp__worker_peer_jobs(const arcp__worker_peer *peer);
bool arcp__worker_peer_has_joined(const arcp__worker_peer *peer);

/* The worker is given a job; the owner sends `start` itself. False when out of memory. */
ARCP_MUST_CHECK bool arcp__worker_peer_add(arcp__worker_peer *peer, arcp_span id, void *job);
/* What the program of a job uses, as the worker has said last; false: it has not. */
bool arcp__worker_peer_usage(const arcp__worker_peer *peer, arcp_span id,
                             arcp__worker_usage_row *out);
/* Tells the worker to forget a job, if the link is about it. */
void arcp__worker_peer_forget(arcp__worker_peer *peer, arcp_span id);

#endif
