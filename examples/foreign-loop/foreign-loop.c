/* The client on the program's own libuv loop: no thread, only callbacks. A timer of the program
 * runs on the same loop.
 * cc -o foreign-loop foreign-loop.c $(pkg-config --cflags --libs libarcp-client libuv) */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

#include <uv.h>

typedef struct program {
    uv_timer_t ticks;
    unsigned tick_count;
    int status;
} program;

static void on_tick(uv_timer_t *timer)
{
    program *p = timer->data;
    p->tick_count++;
}

/* The reply to the submit. */
static void on_submitted(void *user, arcp_client *client, const arcp_reply *reply)
{
    program *p = user;
    if (reply->status != ARCP_OK) {
        (void)fprintf(stderr, "refused: %s\n", reply->error->message);
        p->status = 1;
        arcp_client_close(client);
        return;
    }
    printf("accepted by %s\n", arcp_job_agent(reply->job).data);
    arcp_job_unref(reply->job); /* on_event still gets its events */
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    program *p = user;
    switch (event->type) {
    case ARCP_CLIENT_JOB_EVENT:
        printf("%s %s\n", event->kind_text.data, event->body.data);
        break;
    case ARCP_CLIENT_JOB_ENDED:
        printf("result %s\n", arcp_job_outcome(event->job)->result.data);
        arcp_client_close(client); /* CLOSED follows */
        break;
    case ARCP_CLIENT_CLOSED:
        if (event->error != NULL) {
            (void)fprintf(stderr, "closed: %s\n", event->error->message);
            p->status = 1;
        }
        arcp_client_free(client);
        uv_close((uv_handle_t *)&p->ticks, NULL);
        break;
    case ARCP_CLIENT_CONNECTED:
    case ARCP_CLIENT_DISCONNECTED:
    case ARCP_CLIENT_RESUMED:
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        break;
    }
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    program p = {.status = 0};
    p.ticks.data = &p;
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || uv_timer_init(loop, &p.ticks) != 0 ||
        uv_timer_start(&p.ticks, on_tick, 0, 10) != 0) {
        return 1;
    }
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    arcp_client *client = NULL;
    arcp_error err = {0};
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("hello");
    if (arcp_client_connect_start(&options, loop, on_event, &p, &client, &err) != ARCP_OK ||
        arcp_client_submit_start(client, &submit, on_submitted, &p, &err) != ARCP_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    printf("the timer %s\n", p.tick_count > 0 ? "went on" : "stood still");
    return p.status;
}
