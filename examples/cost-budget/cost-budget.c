/* Gives a job a budget of one dollar. Reported costs are subtracted exactly; when the budget is
 * used up, the gate denies every operation with BUDGET_EXHAUSTED.
 * cc -o cost-budget cost-budget.c $(pkg-config --cflags --libs libarcp-client) */
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

/* As of the last frame received, which may be ahead of the events read so far. */
static void print_budget(arcp_job *job)
{
    arcp_job_budget budget;
    for (size_t i = 0; arcp_job_budget_at(job, i, &budget); i++) {
        printf("  %s: %s of %s left\n", budget.currency, budget.remaining, budget.initial);
    }
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("spender");
    submit.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"search\"],\"cost.budget\":[\"USD:1.00\"]}");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_error err = {0};
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        const arcp_event_body *body = arcp_client_event_body(event);
        if (body->kind == ARCP_EVENT_METRIC) {
            const arcp_metric_body *metric = &body->metric;
            printf("%s %s %s\n", metric->name.data, metric->value.data, metric->unit.data);
        } else if (body->kind == ARCP_EVENT_TOOL_CALL) {
            printf("calls %s\n", body->tool_call.tool.data);
        } else if (body->kind == ARCP_EVENT_TOOL_RESULT) {
            printf("denied: %s\n", body->tool_result.error.data);
        }
    }
    print_budget(job);
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
