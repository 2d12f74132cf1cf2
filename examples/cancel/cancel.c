/* Cancels a job. The agent gets the reason and a time limit; here it ends by itself. An agent that
 * does not end in time gets SIGTERM, then SIGKILL.
 * cc -o cancel cancel.c $(pkg-config --cflags --libs libarcp-client) */
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

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("waiter");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_error err = {0};
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        if (event->type != ARCP_CLIENT_JOB_EVENT) {
            continue;
        }
        printf("%s %s\n", event->kind_text.data, event->body.data);
        if (event->kind == ARCP_EVENT_PROGRESS &&
            arcp_client_cancel(client, arcp_job_id(job), ARCP_SPAN_LITERAL("changed my mind"),
                               ARCP_WAIT_DEFAULT, &err) != ARCP_OK) {
            (void)fprintf(stderr, "not cancelled: %s\n", err.message);
            return 1;
        }
    }
    const arcp_outcome *outcome = arcp_job_outcome(job);
    const int is_cancelled = outcome != NULL && outcome->final_status == ARCP_JOB_CANCELLED;
    if (is_cancelled) {
        printf("ended: %s, retryable: %s\n", outcome->error->code,
               outcome->error->retryable ? "yes" : "no");
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return is_cancelled ? 0 : 1;
}
