/* Starts an arcpd as a child process and connects to it over pipes: no port, no token. The arcpd
 * ends with the connection.
 * cc -o stdio stdio.c $(pkg-config --cflags --libs libarcp-client) */
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
    arcp_client_options options = arcp_client_options_init();
    options.url = ARCP_SPAN_LITERAL("stdio:arcpd --stdio --log-level error --store memory: "
                                    "--agent hello=./hello.sh");
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect(&options, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "cannot start arcpd: %s\n", err.message);
        return 1;
    }
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("hello");
    arcp_job *job = submit_or_exit(client, &submit);
    follow(job);
    const arcp_outcome *outcome = arcp_job_outcome(job);
    if (outcome != NULL) {
        printf("result %s\n", outcome->result.data);
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
