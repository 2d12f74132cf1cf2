/* Submits with an idempotency key: however often it is sent, there is one job. Then
 * arcp_client_submit_with_retry submits, follows, and retries if the error is retryable.
 * cc -o idempotent-retry idempotent-retry.c $(pkg-config --cflags --libs libarcp-client) */
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

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("invoice");
    submit.input = ARCP_SPAN_LITERAL("{\"order\":17}");
    submit.idempotency_key = ARCP_SPAN_LITERAL("invoice-for-order-17");

    arcp_error err = {0};
    arcp_job *first = NULL;
    arcp_job *again = NULL;
    if (arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &first, &err) != ARCP_OK ||
        arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &again, &err) != ARCP_OK) {
        (void)fprintf(stderr, "refused: %s\n", err.message);
        return 1;
    }
    printf("the same key again: %s\n", arcp_span_equal(arcp_job_id(first), arcp_job_id(again))
                                           ? "the same job"
                                           : "another job");

    /* The key identifies exactly this request. */
    arcp_job *other = NULL;
    submit.input = ARCP_SPAN_LITERAL("{\"order\":18}");
    if (arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &other, &err) != ARCP_OK) {
        printf("the same key, other input: %s\n", err.code);
    }

    /* Without a key of the program, the function generates one for each job, and retries retryable
     * errors. */
    arcp_job *flaky = NULL;
    arcp_submit_options retried = arcp_submit_options_init();
    arcp_retry_options retry = arcp_retry_options_init();
    retried.agent = ARCP_SPAN_LITERAL("flaky");
    retry.first_ms = 10;
    if (arcp_client_submit_with_retry(client, &retried, &retry, &flaky, &err) != ARCP_OK) {
        (void)fprintf(stderr, "not run: %s\n", err.message);
        return 1;
    }
    printf("after a failure: %s\n", arcp_job_outcome(flaky)->result.data);

    arcp_job_unref(first);
    arcp_job_unref(again);
    arcp_job_unref(flaky);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
