/* Draws a bar from progress events. An event view reads bodies by the draft's names;
 * an agent that does not know how much there is leaves the total out.
 * cc -o progress progress.c $(pkg-config --cflags --libs libarcp-client) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

/* A span's two arguments for %.*s. */
#define TEXT(span) (int)(span).size, (span).data

/* The arcpd of this folder, or the one that ARCP_URL names. */
static arcp_client *connect_or_exit(void)
{
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = ARCP_CLIENT_OPTIONS_INIT;
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    arcp_client *client = NULL;
    arcp_failure failure = ARCP_FAILURE_INIT;
    if (arcp_client_connect(&options, &client, &failure) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", failure.error.message);
        exit(1);
    }
    return client;
}

/* Submits, and leaves when that is refused. */
static arcp_job *submit_or_exit(arcp_client *client, const arcp_submit_options *submit)
{
    arcp_job *job = NULL;
    arcp_failure failure = ARCP_FAILURE_INIT;
    if (arcp_client_submit(client, submit, ARCP_WAIT_DEFAULT, &job, &failure) != ARCP_OK) {
        (void)fprintf(stderr, "refused: %s: %s\n", failure.code, failure.error.message);
        exit(1);
    }
    return job;
}

static uint64_t number(arcp_span text)
{
    uint64_t value = 0;
    for (size_t at = 0; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        value = value * 10 + (uint64_t)(text.data[at] - '0');
    }
    return value;
}

static void draw(const arcp_event_view *view)
{
    const uint64_t current = number(view->current);
    const uint64_t total = number(view->total);
    if (total == 0) {
        printf("[   ...    ] %" PRIu64 " so far\n", current);
        return;
    }
    printf("[");
    for (uint64_t at = 0; at < 10; at++) {
        (void)putchar(at < current * 10 / total ? '#' : ' ');
    }
    printf("] %" PRIu64 " of %" PRIu64 " %.*s: %.*s\n", current, total, TEXT(view->units),
           TEXT(view->message));
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("packer");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    arcp_failure failure = ARCP_FAILURE_INIT;
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &failure) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        if (event->type == ARCP_CLIENT_JOB_EVENT && event->kind == ARCP_EVENT_PROGRESS &&
            arcp_event_view_read(&view, event, &failure.error) == ARCP_OK) {
            draw(&view);
        }
    }
    arcp_event_view_fini(&view);
    arcp_failure_fini(&failure);
    arcp_job_release(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
