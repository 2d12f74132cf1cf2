/* Gives a job a lease that expires after three seconds. Then the job is ended with LEASE_EXPIRED
 * (or, with lease.on_expiry: deny, each of its operations is refused).
 * cc -o lease-expires-at lease-expires-at.c $(pkg-config --cflags --libs libarcp-client) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
    char constraints[64];
    const time_t end = time(NULL) + 3;
    struct tm utc;
    if (gmtime_r(&end, &utc) == NULL ||
        strftime(constraints, sizeof constraints, "{\"expires_at\":\"%Y-%m-%dT%H:%M:%SZ\"}",
                 &utc) == 0) {
        return 1;
    }
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("waiter");
    submit.lease = ARCP_SPAN_LITERAL("{\"fs.read\":[\"/srv/**\"]}");
    submit.constraints = arcp_span_cstr(constraints);
    arcp_job *job = submit_or_exit(client, &submit);
    printf("constraints %s\n", arcp_job_constraints(job).data);

    const arcp_outcome *outcome = NULL;
    arcp_error err = {0};
    if (arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &err) != ARCP_OK ||
        outcome->error == NULL) {
        (void)fprintf(stderr, "the job did not end as it should\n");
        return 1;
    }
    printf("ended: %s\n", outcome->error->code);
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
