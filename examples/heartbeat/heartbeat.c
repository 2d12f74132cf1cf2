/* Heartbeats keep a quiet connection alive. Here the interval is two seconds, and a job works for
 * five seconds without sending; without pings, two silent intervals would end the connection.
 * cc -o heartbeat heartbeat.c $(pkg-config --cflags --libs libarcp-client) */
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
    options.observe_all = true; /* also report a lost connection */
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect(&options, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", err.message);
        return 1;
    }
    const arcp_feature_set features = arcp_client_features(client);
    printf("heartbeats are %s\n",
           features & ARCP_FEATURE_BIT(ARCP_FEATURE_HEARTBEAT) ? "agreed on" : "not to be had");

    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("thinker");
    arcp_job *job = submit_or_exit(client, &submit);
    unsigned lost = 0;
    const arcp_client_event *event = NULL;
    while (arcp_client_next_event(client, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        lost += event->type == ARCP_CLIENT_DISCONNECTED;
    }
    printf("the job has ended; the connection was lost %u times\n", lost);

    int64_t round_trip_ns = 0;
    if (arcp_client_ping(client, ARCP_WAIT_DEFAULT, &round_trip_ns, &err) == ARCP_OK) {
        printf("a ping of our own: answered\n");
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
