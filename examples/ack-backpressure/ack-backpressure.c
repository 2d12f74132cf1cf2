/* Acknowledges events by hand. While more than session.ack_lag_events of them (here: 5) are
 * not acknowledged, the job is told once per crossing: a status back_pressure.
 * cc -o ack-backpressure ack-backpressure.c $(pkg-config --cflags --libs libarcp-client) */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

/* A span's two arguments for %.*s. */
#define TEXT(span) (int)(span).size, (span).data

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

int main(void)
{
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = ARCP_CLIENT_OPTIONS_INIT;
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    options.manual_ack = true; /* else by count and time, see ack_events and ack_ms */
    arcp_client *client = NULL;
    arcp_failure failure = ARCP_FAILURE_INIT;
    if (arcp_client_connect(&options, &client, &failure) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", failure.error.message);
        return 1;
    }
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("talker");
    arcp_job *job = submit_or_exit(client, &submit);

    unsigned logs = 0;
    unsigned told = 0;
    uint64_t last = 0;
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &failure) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        last = event->event_seq;
        if (event->type != ARCP_CLIENT_JOB_EVENT ||
            arcp_event_view_read(&view, event, &failure.error) != ARCP_OK) {
            continue;
        }
        logs += event->kind == ARCP_EVENT_LOG;
        told +=
            event->kind == ARCP_EVENT_STATUS && arcp_span_equal_cstr(view.phase, "back_pressure");
    }
    printf("%u logs, back_pressure %u times\n", logs, told);
    /* The runtime may now forget what it kept for a resume. */
    if (arcp_client_ack(client, last, &failure.error) == ARCP_OK) {
        printf("acknowledged\n");
    }
    arcp_event_view_fini(&view);
    arcp_failure_fini(&failure);
    arcp_job_release(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
