/* Loses its connection in the middle of a job, and resumes the session from the saved state: no
 * event is missing or repeated. Another process could resume it, too.
 * cc -o resume resume.c $(pkg-config --cflags --libs libarcp-client) */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

/* The arcpd of this folder, or the one that ARCP_URL names; with a state, that session. */
static arcp_client *connect_or_exit(const arcp_session_state *state)
{
    const char *url = getenv("ARCP_URL");
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(url != NULL ? url : "ws://127.0.0.1:7777/arcp");
    options.token = ARCP_SPAN_LITERAL("example");
    options.observe_all = true; /* the second client has no handle of the job yet */
    if (state != NULL) {
        options.resume = *state;
    }
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect(&options, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "cannot connect: %s\n", err.message);
        exit(1);
    }
    return client;
}

/* Prints up to `most` log events, or until the job ends. */
static void read_logs(arcp_client *client, int most)
{
    const arcp_client_event *event = NULL;
    arcp_error err = {0};
    while (most > 0 && arcp_client_next_event(client, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK) {
        if (event->type == ARCP_CLIENT_JOB_EVENT && event->kind == ARCP_EVENT_LOG) {
            printf("%s\n", event->body.data);
            most--;
        } else if (event->type == ARCP_CLIENT_JOB_ENDED) {
            printf("result %s\n", arcp_job_outcome(event->job)->result.data);
            most = 0;
        }
    }
}

int main(void)
{
    arcp_client *client = connect_or_exit(NULL);
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("count");
    arcp_job *job = NULL;
    arcp_error err = {0};
    if (arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &job, &err) != ARCP_OK) {
        (void)fprintf(stderr, "refused: %s\n", err.message);
        return 1;
    }
    read_logs(client, 2);

    arcp_buf storage = arcp_buf_init();
    arcp_session_state state;
    if (arcp_client_session_state(client, &storage, &state, &err) != ARCP_OK) {
        return 1;
    }
    arcp_job_unref(job);
    arcp_client_free(client); /* without close: for the runtime the connection is lost */
    printf("-- the connection is gone --\n");

    client = connect_or_exit(&state);
    arcp_buf_fini(&storage); /* which wipes the resume token */
    read_logs(client, 100);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
