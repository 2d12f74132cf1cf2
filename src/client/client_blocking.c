/* The blocking form: an event loop in its own thread, and calls that wait for it.
 *
 * A call changes the session under the lock, wakes the loop's thread, and waits on `changed` until
 * its condition holds, its time limit passes, or it is interrupted. Events are kept in `unread`
 * until the program reads them. If they are larger than unread_bytes_max, the connection is not
 * read, so that the runtime has to slow down. While a call waits, reading goes on up to four times
 * that limit: the response may be behind events of a job that the program does not read. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "client/client_driver.h"
#include "client/client_job.h"

/* How many times unread_bytes_max is read at most while a call waits. */
#define UNREAD_FACTOR 4

/* ---- unread events ---- */

bool arcp__client_wants_to_read(const arcp_client *client)
{
    if (client->unread_bytes > client->given->unread_bytes_max) {
        return client->waiting != 0 &&
               client->unread_bytes / UNREAD_FACTOR <= client->given->unread_bytes_max;
    }
    /* Once stopped, reading resumes when half of them have been read. */
    return !client->is_paused || client->waiting != 0 ||
           client->unread_bytes <= client->given->unread_bytes_max / 2;
}

/* Reports to the session how far the program has read. */
static void notice_read(arcp_client *client)
{
    const uint64_t seq =
        client->unread != NULL ? client->unread->floor_seq : client->session->last_seq;
    arcp__client_session_handed_over(client->session, arcp__clock_now(), seq);
}

/* Frees an item that the program will not read. */
static void discard(arcp_client *client, arcp__client_item *item)
{
    arcp_job *job = item->event.job;
    if (job != NULL && item->event.type == ARCP_CLIENT_JOB_ENDED) {
        arcp__client_job_hand_over(job, item);
        arcp__client_session_reap(job);
    }
    arcp__client_item_free(item);
}

void arcp__client_queue_unread(arcp_client *client, arcp__client_item *item)
{
    arcp_job *job = item->event.job;
    const bool has_reader =
        job != NULL && item->event.type != ARCP_CLIENT_JOB_ADDED && atomic_load(&job->handles) != 0;
    const bool is_report = item->event.type >= ARCP_CLIENT_JOBS_CHANGED; /* of a watch */
    if (!client->given->observe_all && !has_reader && !is_report) {
        discard(client, item);
        if (client->unread == NULL) {
            notice_read(client);
        }
    } else {
        DL_APPEND(client->unread, item);
        if (job != NULL) {
            DL_APPEND2(job->unread, item, job_prev, job_next);
        }
        client->unread_bytes += sizeof *item + item->size;
    }
    if (client->waiting != 0) {
        uv_cond_broadcast(&client->changed);
    }
}

/* Removes an item from the unread ones. */
static void take_unread(arcp_client *client, arcp__client_item *item)
{
    DL_DELETE(client->unread, item);
    if (item->event.job != NULL) {
        DL_DELETE2(item->event.job->unread, item, job_prev, job_next);
    }
    client->unread_bytes -= sizeof *item + item->size;
}

void arcp__client_drop_unread(arcp_client *client, arcp_job *job)
{
    while (job->unread != NULL) {
        arcp__client_item *item = job->unread;
        take_unread(client, item);
        discard(client, item);
    }
    notice_read(client);
}

/* ---- reading ---- */

/* Waits for the next item of the job (NULL: of the client). */
static arcp_status next_item(arcp_client *client, arcp_job *job, const arcp__client_wait *wait,
                             arcp__client_item **out, arcp_error *err)
{
    const arcp_error *end = &client->session->failure;
    arcp_status status = ARCP_OK;
    while (status == ARCP_OK) {
        arcp__client_item *item = job != NULL ? job->unread : client->unread;
        if (item != NULL) {
            arcp_job *of = item->event.job;
            take_unread(client, item);
            if (of != NULL) { /* the result's sink may block, so the lock is released meanwhile */
                uv_mutex_unlock(&client->mutex);
                arcp__client_job_hand_over(of, item);
                uv_mutex_lock(&client->mutex);
                arcp__client_session_reap(of);
            }
            notice_read(client);
            if (client->is_paused && arcp__client_wants_to_read(client)) {
                (void)uv_async_send(&client->wake);
            }
            if (of == NULL || !of->outcome_only || item->event.type != ARCP_CLIENT_JOB_EVENT) {
                *out = item;
                return ARCP_OK;
            }
            arcp__client_item_free(item); /* the program wants only the outcome */
        } else if (job != NULL && atomic_load(&job->over)) {
            status = arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
        } else if (arcp__client_is_over(client) && end->status == ARCP_OK) {
            status = arcp_error_set(err, ARCP_E_CLOSED, "the client is closed");
        } else if (arcp__client_is_over(client) && end->status == ARCP_E_DEADLINE) {
            /* ARCP_E_DEADLINE would mean that only this wait has timed out. */
            status = arcp_error_set(err, ARCP_E_CLOSED, "%s", end->message);
        } else if (arcp__client_is_over(client)) {
            status = arcp_error_copy(err, end);
        } else if (client->unread_bytes / UNREAD_FACTOR > client->given->unread_bytes_max) {
            status =
                arcp_error_set(err, ARCP_E_LIMIT, "%zu bytes of other events have not been read",
                               client->unread_bytes);
        } else {
            status = arcp__client_wait_more(client, wait, err);
        }
    }
    return status;
}

arcp_status arcp_client_next_event(arcp_client *client, int64_t timeout_ms,
                                   const arcp_client_event **out, arcp_error *err)
{
    arcp__client_wait wait;
    arcp__client_begin_wait(client, timeout_ms, &wait);
    arcp__client_item_free(client->current);
    client->current = NULL;
    const arcp_status status = next_item(client, NULL, &wait, &client->current, err);
    if (status == ARCP_OK) {
        *out = &client->current->event;
    }
    arcp__client_end_wait(client);
    return status;
}

/* Reads the job's next event into job->current (`out` is NULL: all events until the job is over).
 * Only one thread at a time may do this. */
static arcp_status read_job(arcp_job *job, int64_t timeout_ms, const arcp_client_event **out,
                            arcp_error *err)
{
    arcp_client *client = job->owner;
    arcp__client_wait wait;
    arcp_status status = ARCP_OK;
    if (client == NULL) {
        return arcp_error_set(err, ARCP_E_CLOSED,
                              atomic_load(&job->over) ? "the job has ended"
                                                      : "the client was freed");
    }
    arcp__client_begin_wait(client, timeout_ms, &wait);
    if (job->is_being_read) {
        arcp__client_end_wait(client);
        return arcp_error_set(err, ARCP_E_USAGE, "another thread is reading the job's events");
    }
    job->is_being_read = true;
    do {
        /* The item is kept without its reference to the job, which would keep itself alive. */
        arcp__client_item_free(job->current);
        job->current = NULL;
        if (out != NULL || !atomic_load(&job->over)) {
            status = next_item(client, job, &wait, &job->current, err);
        }
    } while (out == NULL && status == ARCP_OK && job->current != NULL);
    if (out != NULL && status == ARCP_OK) {
        *out = &job->current->event;
    }
    job->is_being_read = false;
    arcp__client_end_wait(client);
    return status;
}

arcp_status arcp_job_next_event(arcp_job *job, int64_t timeout_ms, const arcp_client_event **out,
                                arcp_error *err)
{
    return read_job(job, timeout_ms, out, err);
}

arcp_status arcp_job_wait(arcp_job *job, int64_t timeout_ms, const arcp_outcome **out,
                          arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (!atomic_load(&job->over)) {
        status = read_job(job, timeout_ms, NULL, err);
    }
    if (atomic_load(&job->over)) {
        *out = &job->outcome;
        return ARCP_OK;
    }
    return status;
}

/* ---- the loop's thread ---- */

/* With the mutex. */
static void take_interruption(arcp_client *client)
{
    if (atomic_exchange(&client->is_interrupted, false)) {
        client->interruptions++;
        uv_cond_broadcast(&client->changed);
    }
}

static void on_wake(uv_async_t *wake)
{
    arcp_client *client = wake->data;
    uv_mutex_lock(&client->mutex);
    take_interruption(client);
    if (client->stops) {
        uv_stop(wake->loop);
    } else {
        arcp__client_pump(client);
    }
    uv_mutex_unlock(&client->mutex);
}

static void *run_loop(void *user)
{
    arcp_client *client = user;
    arcp__client_timer_fired(&client->timer);
    (void)uv_run(&client->own_loop, UV_RUN_DEFAULT);

    arcp__client_drop_connection(client);
    uv_close((uv_handle_t *)&client->wake, NULL);
    uv_close((uv_handle_t *)&client->timer, NULL);
    (void)uv_run(&client->own_loop, UV_RUN_DEFAULT);
    return NULL;
}

static arcp_status start_thread(arcp_client *client, arcp_error *err)
{
    int result = uv_loop_init(&client->own_loop);
    if (result != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create an event loop: %s",
                              uv_strerror(result));
    }
    client->loop = &client->own_loop;
    client->wake.data = client;
    client->timer.data = client;
    (void)uv_timer_init(&client->own_loop, &client->timer);
    const int wake = uv_async_init(&client->own_loop, &client->wake, on_wake);
    const int mutex = uv_mutex_init(&client->mutex);
    const int changed = uv_cond_init(&client->changed);
    const char *what = "event loop";
    result = wake != 0 ? wake : mutex;
    result = result != 0 ? result : changed;
    if (result == 0) {
        what = "thread";
        client->has_thread = true;
        result = -arcp__thread_start(&client->thread, NULL, run_loop, client);
    }
    if (result == 0) {
        return ARCP_OK;
    }
    client->has_thread = false;
    uv_close((uv_handle_t *)&client->timer, NULL);
    if (wake == 0) {
        uv_close((uv_handle_t *)&client->wake, NULL);
    }
    (void)uv_run(&client->own_loop, UV_RUN_DEFAULT);
    if (mutex == 0) {
        uv_mutex_destroy(&client->mutex);
    }
    if (changed == 0) {
        uv_cond_destroy(&client->changed);
    }
    (void)uv_loop_close(&client->own_loop);
    return arcp_error_set(err, ARCP_E_IO, "cannot create the client's %s: %s", what,
                          uv_strerror(result));
}

/* ---- connecting and closing ---- */

arcp_status arcp_client_connect(const arcp_client_options *options, arcp_client **out,
                                arcp_error *err)
{
    arcp_client *client = NULL;
    arcp_status status = arcp__client_new(options, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = start_thread(client, err);
    if (status != ARCP_OK) {
        arcp__client_destroy(client);
        return status;
    }
    arcp__client_wait wait;
    arcp__client_begin_wait(client, ARCP_WAIT_FOREVER, &wait);
    while (client->session->state != ARCP__SESSION_LIVE && !arcp__client_is_over(client)) {
        /* The session's own deadlines limit the wait. */
        (void)arcp__client_wait_more(client, &wait, NULL);
    }
    if (arcp__client_is_over(client)) {
        status = arcp_error_copy(err, &client->session->failure);
    }
    arcp__client_end_wait(client);
    if (status != ARCP_OK) {
        arcp_client_free(client);
        return status;
    }
    *out = client;
    return ARCP_OK;
}

void arcp_client_close(arcp_client *client)
{
    arcp__client_lock(client);
    arcp__client_session_close(client->session, arcp__clock_now());
    arcp__client_settle(client);
    arcp__client_unlock(client);
    if (!client->has_thread) {
        return;
    }
    arcp__client_wait wait;
    arcp__client_begin_wait(client, 3000, &wait);
    take_interruption(client); /* one that came before does not end this wait */
    wait.interruptions = client->interruptions;
    while (!arcp__client_is_over(client) &&
           arcp__client_wait_more(client, &wait, NULL) == ARCP_OK) {
    }
    arcp__client_end_wait(client);
}

void arcp_client_free(arcp_client *client)
{
    if (client == NULL) {
        return;
    }
    if (!client->has_thread) {
        client->is_freed = true;
        if (!client->is_pumping) {
            arcp__client_release_on_loop(client);
        }
        return;
    }
    uv_mutex_lock(&client->mutex);
    client->stops = true;
    uv_mutex_unlock(&client->mutex);
    (void)uv_async_send(&client->wake);
    (void)pthread_join(client->thread, NULL);
    arcp__client_item_free(client->current);
    while (client->unread != NULL) {
        arcp__client_item *item = client->unread;
        take_unread(client, item);
        arcp__client_item_free(item);
    }
    uv_cond_destroy(&client->changed);
    uv_mutex_destroy(&client->mutex);
    (void)uv_loop_close(&client->own_loop);
    arcp__client_destroy(client);
}

void arcp_client_interrupt(arcp_client *client)
{
    atomic_store(&client->is_interrupted, true);
    (void)uv_async_send(&client->wake);
}
