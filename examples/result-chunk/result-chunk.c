/* Receives a streamed result piece by piece, so that it is never completely in memory. The client
 * decodes the pieces and checks that none is missing.
 * cc -o result-chunk result-chunk.c $(pkg-config --cflags --libs libarcp-client) */
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

typedef struct tally {
    unsigned pieces;
    size_t bytes;
} tally;

/* Called for every piece, in order, by the thread that reads the job's events. */
static arcp_status take(void *user, arcp_span bytes, arcp_error *err)
{
    (void)err;
    tally *sum = user;
    sum->pieces++;
    sum->bytes += bytes.size;
    printf("piece %u: %.*s", sum->pieces, (int)bytes.size, bytes.data);
    return ARCP_OK;
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    tally sum = {0, 0};
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("poet");
    submit.result.mode = ARCP_RESULT_CALLBACK; /* or ARCP_RESULT_FD: written to submit.result.fd */
    submit.result.write = take;
    submit.result.user = &sum;
    arcp_job *job = submit_or_exit(client, &submit);

    const arcp_outcome *outcome = NULL;
    arcp_error err = {0};
    if (arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &err) != ARCP_OK ||
        outcome->status != ARCP_OK) {
        (void)fprintf(stderr, "not all of it came\n");
        return 1;
    }
    printf("%u pieces, %zu bytes; summary: %s\n", sum.pieces, sum.bytes, outcome->summary.data);
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
