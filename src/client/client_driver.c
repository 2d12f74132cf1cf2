#include "client/client_driver.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/options.h"

/* Flush threshold: batches frames without starving the runtime. */
#define FLUSH_BYTES 4096u

/* ---- random numbers for the session ---- */

static void draw_random(void *user, void *out, size_t size)
{
    arcp_client *client = user;
    arcp__random_pool_draw(&client->random, out, size);
}

/* ---- making ---- */

arcp_status arcp__client_new(const arcp_client_options *options, arcp_client **out, arcp_error *err)
{
    arcp_client *client = arcp__alloc(sizeof *client);
    if (client == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        return ARCP_E_NO_MEMORY;
    }
    const arcp_status status =
        arcp__client_session_new(options, draw_random, client, &client->session, err);
    if (status != ARCP_OK) {
        arcp__free(client);
        return status;
    }
    client->given = &client->session->given;
    client->timer_due_ns = ARCP_TIME_NEVER;
    atomic_init(&client->is_interrupted, false);
    *out = client;
    return ARCP_OK;
}

void arcp__client_destroy(arcp_client *client)
{
    arcp__client_session_free(client->session);
    arcp__random_pool_fini(&client->random);
    arcp__free(client);
}

/* ---- callbacks of the transport ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    arcp_client *client = user;
    arcp__client_lock(client);
    arcp__client_session_receive(client->session, arcp__clock_now(), frame);
    arcp__client_pump(client);
    arcp__client_unlock(client);
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    arcp_client *client = user;
    client->unflushed = 0; /* the transport itself writes the rest */
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    arcp_client *client = user;
    arcp_connection_info info = arcp_connection_info_init();
    arcp_error why = {0};
    const char *colon = reason[0] == '\0' ? "" : ": ";
    arcp__client_lock(client);
    connection->ops->info(connection, &info);
    /* Whether the close code blames a frame that we sent; ARCP_E_IO: it does not. */
    arcp_status verdict = ARCP_E_IO;
    if (info.closed_by_peer && code == ARCP_CLOSE_TOO_BIG) {
        verdict = ARCP_E_LIMIT;
    } else if (info.closed_by_peer &&
               (code == ARCP_CLOSE_PROTOCOL_ERROR || code == ARCP_CLOSE_UNSUPPORTED ||
                code == ARCP_CLOSE_BAD_DATA || code == ARCP_CLOSE_POLICY)) {
        verdict = ARCP_E_INVALID_REQUEST;
    }
    if (code == ARCP_CLOSE_ABNORMAL) {
        (void)arcp_error_set(&why, ARCP_E_IO, "the connection was lost%s%s", colon, reason);
    } else {
        (void)arcp_error_set(&why, verdict, "the runtime closed the connection (%d%s%s)", (int)code,
                             colon, reason);
    }
    client->connection = NULL;
    client->is_cutting = false;
    client->is_paused = false;
    connection->ops->free(connection);
    arcp__client_session_disconnected(client->session, arcp__clock_now(), &why);
    arcp__client_pump(client);
    arcp__client_unlock(client);
}

/* The caller holds the lock. */
static void take_connection(arcp_client *client, arcp_connection *connection)
{
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .drained = on_drained, .closed = on_closed, .user = client};
    client->connection = connection;
    client->unflushed = 0;
    client->is_paused = false;
    connection->ops->set_callbacks(connection, &callbacks);
    arcp__client_session_connected(client->session, arcp__clock_now());
}

static void on_connected(void *user, arcp_connection *connection)
{
    arcp_client *client = user;
    arcp__client_lock(client);
    client->connector = NULL;
    take_connection(client, connection);
    arcp__client_pump(client);
    arcp__client_unlock(client);
}

static void on_failed(void *user, const arcp_error *err)
{
    arcp_client *client = user;
    arcp__client_lock(client);
    client->connector = NULL;
    arcp__client_session_disconnected(client->session, arcp__clock_now(), err);
    arcp__client_pump(client);
    arcp__client_unlock(client);
}

/* ---- the session's actions ---- */

static void dial(arcp_client *client)
{
    const arcp_client_options *given = client->given;
    const arcp_client_hooks *hooks = &given->hooks;
    arcp_error err = {0};
    bool go_on = true;
    if (hooks->before_resume != NULL && client->session->has_session) {
        arcp_buf token = arcp_buf_secret_init();
        go_on = hooks->before_resume(hooks->user, &token) &&
                (token.size == 0 || arcp__client_session_set_resume_token(
                                        client->session, arcp_buf_span(&token)) == ARCP_OK);
        arcp_buf_fini(&token);
    }
    if (!go_on) {
        arcp__client_session_postpone(client->session, arcp__clock_now(), ARCP__CLIENT_POSTPONE_MS);
        return;
    }
    arcp_connection *connection = NULL;
    arcp_status status = ARCP_OK;
    if (given->dial != NULL) {
        connection = given->dial(given->dial_user, client->loop, &err);
        status = connection == NULL
                     ? ARCP_E_IO
                     : arcp__vtable_check(connection->ops, ARCP__END_OF(arcp_connection_ops, free),
                                          sizeof(arcp_connection_ops), "arcp_connection_ops", &err);
    } else {
        arcp_connect_options options = arcp_connect_options_init();
        options.ca_file = given->tls_ca_file.data;
        options.frame_bytes_max = given->frame_bytes_max;
        options.timeout_ms = given->connect_timeout_ms > UINT32_MAX
                                 ? UINT32_MAX
                                 : (uint32_t)given->connect_timeout_ms;
        const arcp_connect_callbacks callbacks = {
            .connected = on_connected, .failed = on_failed, .user = client};
        status = arcp_connect(client->loop, given->url.data, &options, &callbacks,
                              &client->connector, &err);
    }
    if (status != ARCP_OK) {
        arcp__client_session_disconnected(client->session, arcp__clock_now(), &err);
    } else if (connection != NULL) {
        take_connection(client, connection);
    }
}

static void cut(arcp_client *client)
{
    if (client->connection != NULL) {
        if (!client->is_cutting) {
            client->is_cutting = true;
            client->connection->ops->abort(client->connection);
        }
        return;
    }
    if (client->connector != NULL) {
        arcp_connector_cancel(client->connector);
        client->connector = NULL;
    }
    arcp_error why = {0};
    (void)arcp_error_set(&why, ARCP_E_IO, "the connection was given up");
    arcp__client_session_disconnected(client->session, arcp__clock_now(), &why);
}

/* Returns whether something was done. */
static bool act(arcp_client *client)
{
    switch (arcp__client_session_take_action(client->session)) {
    case ARCP__SESSION_NOTHING:
        return false;
    case ARCP__SESSION_DIAL:
        dial(client);
        return true;
    case ARCP__SESSION_CLOSE:
        if (client->connection != NULL && !client->is_cutting) {
            client->connection->ops->close(client->connection, ARCP_CLOSE_NORMAL, "");
        }
        return true;
    case ARCP__SESSION_ABORT: {
        const bool was_cutting = client->is_cutting;
        cut(client);
        return !was_cutting;
    }
    }
    return false;
}

/* Returns whether something was sent. */
static bool send_frames(arcp_client *client)
{
    arcp_span frame = {NULL, 0};
    bool sent = false;
    while (arcp__client_session_next_frame(client->session, &frame)) {
        if (client->connection == NULL || client->is_cutting) {
            continue;
        }
        sent = true;
        client->unflushed += frame.size;
        if (client->connection->ops->send(client->connection, frame) == ARCP_E_NO_MEMORY) {
            /* The session counts the frame as sent: only a new connection restores its state. */
            cut(client);
        }
    }
    /* The rest is written at the end of the loop's turn. */
    if (client->unflushed >= FLUSH_BYTES && client->connection != NULL && !client->is_cutting) {
        client->connection->ops->flush(client->connection);
        client->unflushed = 0;
    }
    return sent;
}

/* ---- delivery to the program ---- */

static void hand_item(arcp_client *client, arcp__client_item *item)
{
    const arcp__client_session *session = client->session;
    const arcp_client_hooks *hooks = &client->given->hooks;
    const arcp_client_event_type type = item->event.type;
    if (item->is_reply) {
        item->on_reply(item->reply_user, client, &item->reply);
        item->reply.job = NULL; /* now owned by the receiver */
        item->reply.page = NULL;
        arcp__client_item_free(item);
        return;
    }
    if (hooks->welcomed != NULL && (type == ARCP_CLIENT_CONNECTED || type == ARCP_CLIENT_RESUMED)) {
        const arcp_session_state state = {
            .session_id = arcp_buf_span(&session->id),
            .resume_token = arcp__client_session_resume_token(session),
            .last_event_seq = session->handed_seq,
        };
        hooks->welcomed(hooks->user, &state);
    }
    if (client->has_thread) {
        arcp__client_queue_unread(client, item);
        return;
    }
    arcp_job *job = item->event.job;
    if (job != NULL) {
        arcp__client_job_hand_over(job, item);
    }
    if (job == NULL || !job->outcome_only || type != ARCP_CLIENT_JOB_EVENT) {
        client->on_event(client->user, client, &item->event);
    }
    if (job != NULL && !client->is_freed) {
        arcp__client_session_reap(job);
    }
    arcp__client_item_free(item);
}

/* Returns whether there were items. */
static bool hand_items(arcp_client *client)
{
    arcp__client_item *item = arcp__client_session_next_item(client->session);
    const bool any = item != NULL;
    for (; item != NULL; item = arcp__client_session_next_item(client->session)) {
        hand_item(client, item);
        if (client->is_freed) {
            return false;
        }
    }
    const uint64_t last_seq = client->session->last_seq;
    if (!client->has_thread && last_seq != client->session->handed_seq) {
        arcp__client_session_handed_over(client->session, arcp__clock_now(), last_seq);
    }
    return any;
}

static void arm_timer(arcp_client *client)
{
    const int64_t due = arcp__client_session_deadline(client->session);
    if (due >= client->timer_due_ns) {
        return; /* it fires earlier, and is armed again then: cheaper than moving it each time */
    }
    client->timer_due_ns = due;
    const int64_t ahead = due - arcp__clock_now().mono_ns;
    const uint64_t ms = ahead <= 0 ? 0 : (uint64_t)(ahead / ARCP_NS_PER_MS) + 1;
    (void)uv_timer_start(&client->timer, arcp__client_timer_fired, ms, 0);
}

void arcp__client_timer_fired(uv_timer_t *timer)
{
    arcp_client *client = timer->data;
    arcp__client_lock(client);
    client->timer_due_ns = ARCP_TIME_NEVER;
    arcp__client_session_start(client->session, arcp__clock_now()); /* at the first turn */
    arcp__client_session_tick(client->session, arcp__clock_now());
    arcp__client_pump(client);
    arcp__client_unlock(client);
}

void arcp__client_drop_connection(arcp_client *client)
{
    if (client->connector != NULL) {
        arcp_connector_cancel(client->connector);
        client->connector = NULL;
    }
    if (client->connection != NULL) {
        client->connection->ops->free(client->connection);
        client->connection = NULL;
    }
}

void arcp__client_pump(arcp_client *client)
{
    if (client->is_pumping) {
        return; /* the outer call continues until nothing is left to do */
    }
    client->is_pumping = true;
    bool busy = true;
    while (busy && !client->is_freed) {
        busy = hand_items(client);
        if (client->is_freed) {
            break;
        }
        busy = send_frames(client) || busy;
        busy = act(client) || busy;
    }
    client->is_pumping = false;
    if (client->is_freed) {
        arcp__client_release_on_loop(client);
        return;
    }
    if (client->has_thread && client->connection != NULL && !client->is_cutting &&
        client->is_paused == arcp__client_wants_to_read(client)) {
        client->is_paused = !client->is_paused;
        arcp__client_session_set_reading(client->session, arcp__clock_now(), !client->is_paused);
        if (client->is_paused) {
            client->connection->ops->pause(client->connection);
        } else {
            client->connection->ops->resume(client->connection);
        }
    }
    arm_timer(client);
}

void arcp__client_settle(arcp_client *client)
{
    if (client->has_thread) {
        (void)hand_items(client);
        (void)uv_async_send(&client->wake);
    } else if (!client->is_pumping && client->timer_due_ns != 0) {
        client->timer_due_ns = 0;
        (void)uv_timer_start(&client->timer, arcp__client_timer_fired, 0, 0);
    }
}

/* ---- on a program's own loop ---- */

static void free_on_loop(uv_handle_t *timer)
{
    arcp__client_destroy(timer->data);
}

void arcp__client_release_on_loop(arcp_client *client)
{
    arcp__client_drop_connection(client);
    arcp__client_session_free(client->session);
    client->session = NULL;
    uv_close((uv_handle_t *)&client->timer, free_on_loop);
}

arcp_status arcp_client_connect_start(const arcp_client_options *options, struct uv_loop_s *loop,
                                      arcp_client_event_fn on_event, void *user, arcp_client **out,
                                      arcp_error *err)
{
    arcp_client *client = NULL;
    const arcp_status status = arcp__client_new(options, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    client->loop = loop;
    client->on_event = on_event;
    client->user = user;
    (void)uv_timer_init(loop, &client->timer);
    client->timer.data = client;
    client->timer_due_ns = 0;
    /* No callback is called from inside this function: the first turn begins on the loop. */
    (void)uv_timer_start(&client->timer, arcp__client_timer_fired, 0, 0);
    *out = client;
    return ARCP_OK;
}
