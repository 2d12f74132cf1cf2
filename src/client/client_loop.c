/* The client on a program's own loop. */
#include "base/alloc.h"
#include "base/clock.h"
#include "client/client_driver.h"

static void free_on_loop(uv_handle_t *timer)
{
    arcp_client *client = timer->data;
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
