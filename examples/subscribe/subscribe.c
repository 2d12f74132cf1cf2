/* A second session of the same principal attaches to a running job and gets its history, then its
 * new events. Only the session that submitted the job may cancel it.
 * cc -o subscribe subscribe.c $(pkg-config --cflags --libs libarcp-client) */
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

/* Prints the job's events up to one of `last`, or its end. */
static void follow(const char *who, arcp_job *job, arcp_event_kind last)
{
    const arcp_client_event *event = NULL;
    arcp_error err = {0};
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK) {
        if (event->type == ARCP_CLIENT_JOB_ENDED) {
            printf("%s: ended, %s\n", who, arcp_job_outcome(job)->error->code);
            return;
        }
        if (event->type == ARCP_CLIENT_JOB_EVENT) {
            printf("%s: %s %s\n", who, event->kind_text.data, event->body.data);
            if (event->kind == last) {
                return;
            }
        }
    }
}

int main(void)
{
    arcp_client *owner = connect_or_exit();
    arcp_client *observer = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("waiter");
    arcp_job *job = submit_or_exit(owner, &submit);
    follow("owner", job, ARCP_EVENT_PROGRESS);

    arcp_subscribe_options subscribe = arcp_subscribe_options_init();
    subscribe.job_id = arcp_job_id(job);
    subscribe.history = true;
    arcp_job *seen = NULL;
    arcp_error err = {0};
    if (arcp_client_subscribe(observer, &subscribe, ARCP_WAIT_DEFAULT, &seen, &err) != ARCP_OK) {
        (void)fprintf(stderr, "not subscribed: %s\n", err.message);
        return 1;
    }
    follow("observer", seen, ARCP_EVENT_PROGRESS);

    const arcp_span why = ARCP_SPAN_LITERAL("enough");
    if (arcp_client_cancel(observer, arcp_job_id(job), why, ARCP_WAIT_DEFAULT, &err) != ARCP_OK) {
        printf("observer: may not cancel, %s\n", err.code);
    }
    if (arcp_client_cancel(owner, arcp_job_id(job), why, ARCP_WAIT_DEFAULT, &err) != ARCP_OK) {
        return 1;
    }
    follow("owner", job, ARCP_EVENT_UNKNOWN);
    follow("observer", seen, ARCP_EVENT_UNKNOWN);
    arcp_job_unref(job);
    arcp_job_unref(seen);
    arcp_client_free(observer);
    arcp_client_free(owner);
    return 0;
}
