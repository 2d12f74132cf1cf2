/* An agent delegates parts of its work to another agent, with a lease that is a subset of its own.
 * A request for more is refused: LEASE_SUBSET_VIOLATION.
 * cc -o delegate delegate.c $(pkg-config --cflags --libs libarcp-client) */
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
    submit.agent = ARCP_SPAN_LITERAL("editor");
    submit.lease = ARCP_SPAN_LITERAL("{\"agent.delegate\":[\"reader\"],\"fs.read\":[\"/srv/**\"]}");
    arcp_job *job = submit_or_exit(client, &submit);
    follow(job);
    const arcp_outcome *outcome = arcp_job_outcome(job);
    const int is_good = outcome != NULL && outcome->status == ARCP_OK;
    printf("%s\n", is_good ? "the editor is done" : "the editor failed");
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return is_good ? 0 : 1;
}
