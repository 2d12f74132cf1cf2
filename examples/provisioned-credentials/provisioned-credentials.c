/* Each job gets its own credential for an upstream, from a pool of arcpd. Only the submitter
 * (once) and the agent (in job.start) get its value. It is revoked when the job ends.
 * cc -o provisioned-credentials provisioned-credentials.c \
 *   $(pkg-config --cflags --libs libarcp-client) */
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

static void show(void *user, const arcp_credential *credential)
{
    (void)user;
    /* Pass the value on; do not print or store it. */
    printf("a %zu byte credential for %s\n", credential->value.size, credential->endpoint.data);
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("caller");
    submit.lease = ARCP_SPAN_LITERAL("{\"model.use\":[\"fast/*\"]}");
    arcp_job *job = submit_or_exit(client, &submit);
    size_t count = arcp_job_take_credentials(job, show, NULL);
    printf("%zu credential, %zu when asked again\n", count,
           arcp_job_take_credentials(job, show, NULL));
    const arcp_outcome *outcome = NULL;
    arcp_error err = {0};
    if (arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &err) != ARCP_OK) {
        return 1;
    }
    printf("the agent: %s\n", outcome->result.data);
    arcp_job_unref(job);

    /* A lease that allows none of the upstream's models: no credential. */
    submit.lease = ARCP_SPAN_LITERAL("{\"model.use\":[\"local/*\"]}");
    job = submit_or_exit(client, &submit);
    count = arcp_job_take_credentials(job, show, NULL);
    printf("%zu credentials for a job without its models\n", count);
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
