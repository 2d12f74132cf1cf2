/* Runs three jobs and lists them, two to a page, then only the failed ones. A listing has the jobs
 * of the client's principal, from all of its sessions.
 * cc -o list-jobs list-jobs.c $(pkg-config --cflags --libs libarcp-client) */
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

static void run(arcp_client *client, const char *agent)
{
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = arcp_span_cstr(agent);
    arcp_job *job = submit_or_exit(client, &submit);
    const arcp_outcome *outcome = NULL;
    arcp_error err = {0};
    if (arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &err) != ARCP_OK) {
        exit(1);
    }
    arcp_job_unref(job);
}

static void list(arcp_client *client, arcp_list_options *options)
{
    arcp_error err = {0};
    arcp_job_page *page = NULL;
    arcp_job_page *before = NULL;
    do {
        if (arcp_client_list(client, options, ARCP_WAIT_DEFAULT, &page, &err) != ARCP_OK) {
            (void)fprintf(stderr, "no list: %s\n", err.message);
            exit(1);
        }
        printf("-- a page --\n");
        for (size_t i = 0; i < arcp_job_page_count(page); i++) {
            const arcp_job_row row = arcp_job_page_row(page, i);
            printf("%s %s %s\n", row.job_id.data, row.agent.data, row.status_text.data);
        }
        options->cursor = arcp_job_page_next_cursor(page); /* valid as long as the page */
        arcp_job_page_free(before);
        before = page;
    } while (options->cursor.size > 0);
    arcp_job_page_free(page);
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    run(client, "good");
    run(client, "bad");
    run(client, "good");
    arcp_list_options all = arcp_list_options_init();
    all.limit = 2;
    list(client, &all);
    arcp_list_options failed = arcp_list_options_init();
    failed.statuses = 1u << ARCP_JOB_ERROR;
    list(client, &failed);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
