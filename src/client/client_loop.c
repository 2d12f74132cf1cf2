/* The client on a program's own loop, and requests that answer by a callback. */
#include "base/alloc.h"
#include "base/clock.h"
#include "client/client_driver.h"

static void free_on_loop(uv_handle_t *timer)
{
    arcp_client *client = timer->data;
    arcp__free(client->url);
    arcp__free(client->ca_file);
    arcp__free(client);
}

void arcp__client_release_on_loop(arcp_client *client)
{
    arcp__client_drop_connection(client);
    arcp__client_session_free(client->session);
    client->session = NULL;
    uv_close((uv_handle_t *)&client->timer, free_on_loop);
}

/* Nothing is called back from inside arcp_client_open: the first turn begins on the loop. */
static void on_begin(uv_timer_t *timer)
{
    arcp_client *client = timer->data;
    client->timer_due_ns = ARCP_TIME_NEVER;
    arcp__client_session_start(client->session, arcp__clock_now());
    arcp__client_pump(client);
}

arcp_status arcp_client_open(const arcp_client_options *options, struct uv_loop_s *loop,
                             arcp_client_event_fn on_event, void *user, arcp_client **out,
                             arcp_error *err)
{
    arcp_client *client = NULL;
    arcp_status status = arcp__client_new(options, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    client->loop = loop;
    client->on_event = on_event;
    client->user = user;
    (void)uv_timer_init(loop, &client->timer);
    client->timer.data = client;
    client->timer_due_ns = 0;
    (void)uv_timer_start(&client->timer, on_begin, 0, 0);
    *out = client;
    return ARCP_OK;
}

void arcp__client_settle_later(arcp_client *client)
{
    if (client->is_pumping || client->timer_due_ns == 0) {
        return;
    }
    client->timer_due_ns = 0;
    (void)uv_timer_start(&client->timer, arcp__client_timer_fired, 0, 0);
}

static void settle_call(arcp_client *client)
{
    if (client->has_thread) {
        arcp__client_settle(client);
    } else {
        arcp__client_settle_later(client);
    }
}

arcp_status arcp_client_submit_start(arcp_client *client, const arcp_submit_options *options,
                                     arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status = arcp__client_session_submit(client->session, arcp__clock_now(), options,
                                                     on_reply, user, NULL, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_subscribe_start(arcp_client *client, const arcp_subscribe_options *options,
                                        arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status = arcp__client_session_subscribe(client->session, arcp__clock_now(), options,
                                                        on_reply, user, NULL, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_cancel_start(arcp_client *client, arcp_span job_id, arcp_span reason,
                                     arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status = arcp__client_session_cancel(client->session, arcp__clock_now(), job_id,
                                                     reason, on_reply, user, NULL, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_list_start(arcp_client *client, const arcp_list_options *options,
                                   arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status = arcp__client_session_list(client->session, arcp__clock_now(), options,
                                                   on_reply, user, NULL, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_ping_start(arcp_client *client, arcp_reply_fn on_reply, void *user,
                                   arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_ping(client->session, arcp__clock_now(), on_reply, user, NULL, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_unsubscribe(arcp_client *client, arcp_span job_id, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_unsubscribe(client->session, arcp__clock_now(), job_id, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_ack(arcp_client *client, uint64_t event_seq, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_ack(client->session, arcp__clock_now(), event_seq, err);
    settle_call(client);
    arcp__client_unlock(client);
    return status;
}
