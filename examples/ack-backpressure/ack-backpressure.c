/* Acknowledges events manually. Whenever the number of unacknowledged events exceeds
 * session.ack_lag_events (here: 5), the job gets one status event back_pressure.
 * cc -o ack-backpressure ack-backpressure.c $(pkg-config --cflags --libs libarcp-client) */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

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

int main(void)
{
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    options.manual_ack = true; /* otherwise automatic, see ack_events and ack_ms */
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect(&options, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", err.message);
        return 1;
    }
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("talker");
    arcp_job *job = submit_or_exit(client, &submit);

    unsigned logs = 0;
    unsigned told = 0;
    uint64_t last = 0;
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        last = event->event_seq;
        const arcp_event_body *body = arcp_client_event_body(event);
        logs += body->kind == ARCP_EVENT_LOG;
        told += body->kind == ARCP_EVENT_STATUS &&
                arcp_span_equal_cstr(body->status.phase, "back_pressure");
    }
    printf("%u logs, back_pressure %u times\n", logs, told);
    /* The runtime may now delete these events, which it kept for a resume. */
    if (arcp_client_ack(client, last, &err) == ARCP_OK) {
        printf("acknowledged\n");
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
