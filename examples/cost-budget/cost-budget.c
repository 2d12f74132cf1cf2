/* Gives a job one dollar to spend. What it reports is taken from that, exactly; when it is
 * used up, every operation that asks the gate is denied: BUDGET_EXHAUSTED.
 * cc -o cost-budget cost-budget.c $(pkg-config --cflags --libs libarcp-client) */
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

/* As far as the client has heard, which may be ahead of the events that were read. */
static void print_budget(arcp_job *job)
{
    arcp_job_budget budget;
    for (size_t at = 0; arcp_job_budget_at(job, at, &budget); at++) {
        printf("  %s: %s of %s left\n", budget.currency, budget.remaining, budget.initial);
    }
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("spender");
    submit.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"search\"],\"cost.budget\":[\"USD:1.00\"]}");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    arcp_failure failure = ARCP_FAILURE_INIT;
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &failure) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        if (event->type != ARCP_CLIENT_JOB_EVENT ||
            arcp_event_view_read(&view, event, &failure.error) != ARCP_OK) {
            continue;
        }
        if (event->kind == ARCP_EVENT_METRIC) {
            printf("%.*s %.*s %.*s\n", TEXT(view.name), TEXT(view.value), TEXT(view.unit));
        } else if (event->kind == ARCP_EVENT_TOOL_CALL) {
            printf("calls %.*s\n", TEXT(view.tool));
        } else if (event->kind == ARCP_EVENT_TOOL_RESULT) {
            printf("denied: %.*s\n", TEXT(view.error));
        }
    }
    print_budget(job);
    arcp_event_view_fini(&view);
    arcp_failure_fini(&failure);
    arcp_job_release(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
