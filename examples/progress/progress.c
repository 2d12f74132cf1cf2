/* Draws a bar from progress events. arcp_client_event_body has their members; an agent that does
 * not know the total amount omits `total`.
 * cc -o progress progress.c $(pkg-config --cflags --libs libarcp-client) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

/* The arcpd of this folder, or the one that ARCP_URL names. */
static arcp_client *connect_or_exit(void)
{
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect(&options, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", err.message);
        exit(1);
    }
    return client;
}

/* Submits a job; exits if it is refused. */
static arcp_job *submit_or_exit(arcp_client *client, const arcp_submit_options *submit)
{
    arcp_job *job = NULL;
    arcp_error err = {0};
    if (arcp_client_submit(client, submit, ARCP_WAIT_DEFAULT, &job, &err) != ARCP_OK) {
        (void)fprintf(stderr, "refused: %s: %s\n", err.code, err.message);
        exit(1);
    }
    return job;
}

static void draw(const arcp_progress_body *body)
{
    const uint64_t current = strtoull(body->current.data, NULL, 10);
    const uint64_t total = strtoull(body->total.data, NULL, 10);
    if (total == 0) {
        printf("[   ...    ] %" PRIu64 " so far\n", current);
        return;
    }
    printf("[");
    for (uint64_t i = 0; i < 10; i++) {
        (void)putchar(i < current * 10 / total ? '#' : ' ');
    }
    printf("] %" PRIu64 " of %" PRIu64 " %s: %s\n", current, total, body->units.data,
           body->message.data);
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("packer");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_error err = {0};
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        const arcp_event_body *body = arcp_client_event_body(event);
        if (body->kind == ARCP_EVENT_PROGRESS) {
            draw(&body->progress);
        }
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
