/* The client: connects the session with a transport and with the program.
 *
 * In the blocking form one lock guards everything: the loop's thread holds it in each of its
 * callbacks, a program's thread in each call. Only the loop's thread uses the transport and libuv
 * (except for uv_async_send); a program's thread changes the session and wakes the loop. On a
 * program's own loop there is one thread and no lock. */
#ifndef ARCP_CLIENT_CLIENT_DRIVER_H
#define ARCP_CLIENT_CLIENT_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/random.h"
#include "client/client_job.h"

/* Delay before the next attempt to resume while another process uses the session. */
#define ARCP__CLIENT_POSTPONE_MS 100

struct arcp_client {
    arcp__client_session *session;
    const arcp_client_options *given; /* the session's copy */
    arcp__random_pool random;         /* for ids and keys */

    /* the loop's thread only */
    uv_loop_t *loop;
    uv_timer_t timer;
    int64_t timer_due_ns; /* when the timer fires; it may fire early, never late */
    arcp_connector *connector;
    arcp_connection *connection;
    size_t unflushed; /* bytes of frames since the last write */
    bool is_cutting;  /* abort was called, and `closed` has not been called yet */
    bool is_paused;

    /* a program's own loop */
    arcp_client_event_fn on_event;
    void *user;
    bool is_pumping;
    bool is_freed; /* by a callback: the client is freed when the pump ends */

    /* the blocking form */
    bool has_thread;
    uv_loop_t own_loop;
    pthread_t thread;
    uv_mutex_t mutex;
    uv_cond_t changed;
    uv_async_t wake;
    atomic_bool is_interrupted;     /* set by arcp_client_interrupt, taken by the loop's thread */
    bool stops;                     /* the loop's thread must end */
    unsigned waiting;               /* number of waiting calls */
    uint64_t interruptions;         /* number so far */
    uint64_t interruptions_handled; /* those for which a call has already returned */
    arcp__client_item *unread;      /* utlist */
    arcp__client_item *current;     /* the last result of arcp_client_next_event */
    size_t unread_bytes;
};

/* ---- client_driver.c ---- */

/* A client without a thread and without a loop. Checks the options. */
ARCP_MUST_CHECK arcp_status arcp__client_new(const arcp_client_options *options, arcp_client **out,
                                             arcp_error *err);
void arcp__client_destroy(arcp_client *client);

/* Carries out what a call has changed in the session; the caller holds the lock. In the blocking
 * form it delivers items, and wakes the loop's thread for the rest. On a program's loop it does
 * everything in the loop's next turn, so that no callback is called from inside the call. */
void arcp__client_settle(arcp_client *client);
void arcp__client_pump(arcp_client *client);
void arcp__client_timer_fired(uv_timer_t *timer);
/* Cuts the connection; no further callback is called. */
void arcp__client_drop_connection(arcp_client *client);

/* NULL is accepted: a job may outlive its client. */
static inline void arcp__client_lock(arcp_client *client)
{
    if (client != NULL && client->has_thread) {
        uv_mutex_lock(&client->mutex);
    }
}

static inline void arcp__client_unlock(arcp_client *client)
{
    if (client != NULL && client->has_thread) {
        uv_mutex_unlock(&client->mutex);
    }
}

/* Frees a client on a program's loop; the timer's close callback frees the rest. */
void arcp__client_release_on_loop(arcp_client *client);

/* ---- client_calls.c ---- */

/* The deadline of a waiting call, and the interruptions so far. */
typedef struct arcp__client_wait {
    int64_t until_ns;
    uint64_t interruptions;
} arcp__client_wait;

/* Takes the lock; arcp__client_end_wait releases it. */
void arcp__client_begin_wait(arcp_client *client, int64_t timeout_ms, arcp__client_wait *wait);
void arcp__client_end_wait(arcp_client *client);
/* Sleeps until something changes. ARCP_E_DEADLINE when the time is up, ARCP_E_INTERRUPTED. */
arcp_status arcp__client_wait_more(arcp_client *client, const arcp__client_wait *wait,
                                   arcp_error *err);
bool arcp__client_is_over(const arcp_client *client);

/* ---- client_blocking.c ---- */

/* Queues an item for a program's thread; takes the item. */
void arcp__client_queue_unread(arcp_client *client, arcp__client_item *item);
/* Whether frames should be read now. */
bool arcp__client_wants_to_read(const arcp_client *client);
/* Frees the unread items of a job. */
void arcp__client_drop_unread(arcp_client *client, arcp_job *job);

#endif
