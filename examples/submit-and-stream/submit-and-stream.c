/* Submits a job, prints each event when it comes, then the result.
 * A job speaks while it works; what it said and its result come over one connection.
 * cc -o submit-and-stream submit-and-stream.c $(pkg-config --cflags --libs libarcp-client) */
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

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("count");
    submit.input = ARCP_SPAN_LITERAL("{\"to\":3}");
    arcp_job *job = submit_or_exit(client, &submit);
    printf("accepted by %.*s\n", TEXT(arcp_job_agent(job)));

    arcp_failure failure = ARCP_FAILURE_INIT;
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &failure) == ARCP_OK) {
        if (event->type == ARCP_CLIENT_JOB_EVENT) {
            printf("%.*s %.*s\n", TEXT(event->kind_text), TEXT(event->body));
        } else if (event->type == ARCP_CLIENT_JOB_ENDED) {
            break;
        }
    }
    const arcp_outcome *outcome = arcp_job_outcome(job); /* NULL if the connection is gone */
    const int is_good = outcome != NULL && outcome->status == ARCP_OK;
    if (is_good) {
        printf("result %.*s\n", TEXT(outcome->result));
    } else {
        (void)fprintf(stderr, "failed: %s\n",
                      outcome != NULL ? outcome->failure->error.message : failure.error.message);
    }
    arcp_failure_fini(&failure);
    arcp_job_release(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return is_good ? 0 : 1;
}
