/* Vendor capabilities and events: every runtime accepts x-vendor.* names. The gate checks vendor
 * capabilities like any other; event bodies may have any content.
 * cc -o vendor-extensions vendor-extensions.c $(pkg-config --cflags --libs libarcp-client) */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/client.h>

#include <arcp/json.h>

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

/* A body is JSON: scan it, then ask for members. */
static void print_mail(arcp_span body)
{
    arcp_json *json = arcp_json_new();
    arcp_buf scratch = arcp_buf_init();
    if (json != NULL && arcp_json_scan(json, body, NULL, NULL) == ARCP_OK) {
        const arcp_json_ref to = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("to"));
        const arcp_span name = arcp_json_string(json, to, &scratch); /* points into the body */
        printf("mail sent to %.*s\n", (int)name.size, name.data);
    }
    arcp_buf_fini(&scratch);
    arcp_json_free(json);
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("mailer");
    submit.lease = ARCP_SPAN_LITERAL("{\"x-vendor.acme.mail.send\":[\"*@acme.example\"]}");
    arcp_job *job = submit_or_exit(client, &submit);

    arcp_error err = {0};
    const arcp_client_event *event = NULL;
    while (arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &err) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        if (event->type != ARCP_CLIENT_JOB_EVENT) {
            continue;
        }
        if (arcp_span_equal_cstr(event->kind_text, "x-vendor.acme.mail.sent")) {
            print_mail(event->body);
        } else if (event->kind == ARCP_EVENT_LOG) {
            printf("log %s\n", event->body.data);
        }
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
