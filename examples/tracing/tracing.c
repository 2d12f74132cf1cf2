/* Passes a W3C trace context to a job. The agent gets a context that continues the trace, for its
 * own requests; the job's frames and its entry in listings have the trace id.
 * cc -o tracing tracing.c $(pkg-config --cflags --libs libarcp-client) */
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

/* Prints the job's events until it ends. */
static void follow(arcp_job *job)
{
    const arcp_client_event *event = NULL;
    arcp_error err = {0};
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        if (event->type == ARCP_CLIENT_JOB_EVENT) {
            printf("%s %s\n", event->kind_text.data, event->body.data);
        }
    }
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("tracer");
    /* Usually the current span of your tracing library. */
    submit.traceparent =
        ARCP_SPAN_LITERAL("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    arcp_job *job = submit_or_exit(client, &submit);
    printf("trace %s\n", arcp_job_trace_id(job).data);
    follow(job);
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
