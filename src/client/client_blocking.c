/* The blocking form: a loop in a thread of its own, and calls that wait for it.
 *
 * A call changes the session under the lock, wakes the loop's thread and waits on `changed`
 * until what it waits for is there, its time is up, or somebody interrupts. Events wait in
 * `unread` for the program. When they are more than unread_bytes_max the connection is not
 * read, so that the runtime feels it; but while some call waits, reading goes on, up to four
 * times as much: what it waits for may stand behind events of a job that nobody reads. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "client/client_driver.h"
#include "client/client_job.h"

/* ---- unread events ---- */

bool arcp__client_wants_to_read(const arcp_client *client)
{
    if (client->unread_bytes > client->given->unread_bytes_max) {
        return client->waiting != 0 &&
               client->unread_bytes / ARCP__CLIENT_UNREAD_FACTOR <= client->given->unread_bytes_max;
    }
    /* Once stopped, it begins again when half of it is gone. */
    return !client->is_paused || client->waiting != 0 ||
           client->unread_bytes <= client->given->unread_bytes_max / 2;
}

void arcp__client_notice_read(arcp_client *client)
{
    uint64_t seq = client->unread != NULL ? client->unread->floor_seq : client->session->last_seq;
    arcp__client_session_handed_over(client->session, arcp__clock_now(), seq);
}

/* Nobody will see the item. */
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
    bool has_reader =
        job != NULL && item->event.type != ARCP_CLIENT_JOB_ADDED && atomic_load(&job->handles) != 0;
    if (!client->given->observe_all && !has_reader) {
        discard(client, item);
        if (client->unread == NULL) {
            arcp__client_notice_read(client);
        }
    } else {
        DL_APPEND(client->unread, item);
        if (job != NULL) {
            DL_APPEND2(job->unread, item, job_prev, job_next);
        }
        client->unread_bytes += sizeof(*item) + item->size;
    }
    if (client->waiting != 0) {
        uv_cond_broadcast(&client->changed);
    }
}

void arcp__client_take_unread(arcp_client *client, arcp__client_item *item)
{
    DL_DELETE(client->unread, item);
    if (item->event.job != NULL) {
        DL_DELETE2(item->event.job->unread, item, job_prev, job_next);
    }
    client->unread_bytes -= sizeof(*item) + item->size;
}

void arcp__client_drop_unread(arcp_client *client, arcp_job *job)
{
    while (job->unread != NULL) {
        arcp__client_item *item = job->unread;
        arcp__client_take_unread(client, item);
        discard(client, item);
    }
    arcp__client_notice_read(client);
}

/* ---- the loop's thread ---- */

static void on_wake(uv_async_t *wake)
{
    arcp_client *client = wake->data;
    uv_mutex_lock(&client->mutex);
    if (atomic_exchange(&client->is_interrupted, false)) {
        client->interruptions++;
        uv_cond_broadcast(&client->changed);
    }
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
        return arcp_error_set(err, ARCP_E_IO, "no event loop: %s", uv_strerror(result));
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
    return arcp_error_set(err, ARCP_E_IO, "no %s: %s", what, uv_strerror(result));
}

/* ---- connecting and closing ---- */

arcp_status arcp_client_connect(const arcp_client_options *options, arcp_client **out,
                                arcp_failure *failure)
{
    arcp_client *client = NULL;
    arcp_error err = {0};
    arcp_status status = arcp__client_new(options, &client, &err);
    if (status != ARCP_OK) {
        return arcp__client_failure_from_error(failure, &err);
    }
    status = start_thread(client, &err);
    if (status != ARCP_OK) {
        arcp__client_destroy(client);
        return arcp__client_failure_from_error(failure, &err);
    }
    arcp__client_wait wait;
    arcp__client_begin_wait(client, ARCP_WAIT_FOREVER, &wait);
    while (client->session->state != ARCP__SESSION_LIVE && !arcp__client_is_over(client)) {
        /* Bounded by the session's own deadlines. */
        (void)arcp__client_wait_more(client, &wait, NULL);
    }
    if (arcp__client_is_over(client)) {
        status = arcp__client_failure_copy(failure, &client->session->failure);
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
        arcp__client_take_unread(client, item);
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
