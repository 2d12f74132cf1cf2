/* A complete runtime in one program: an agent that is a C function, and a client, both on one
 * libuv loop and connected in memory. No daemon, no port, no other process.
 * cc -o embed-runtime embed-runtime.c \
 *   $(pkg-config --cflags --libs libarcp-runtime libarcp-client libuv) */
#include <stdio.h>

#include <uv.h>

#include <arcp/client.h>
#include <arcp/runtime.h>

/* The agent; it runs on its own thread of the runtime, and may block. */
static void read_reports(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_error err = {0};
    const arcp_span target = ARCP_SPAN_LITERAL("/srv/a.txt");
    if (arcp_agent_progress(call, 1, 2, "asking", &err) != ARCP_OK) {
        return; /* the job is over */
    }
    if (arcp_agent_authorize(call, ARCP_SPAN_LITERAL("fs.read"), target, NULL, NULL, &err) !=
        ARCP_OK) {
        arcp_agent_fail(call, err.status, err.message, ARCP_SPAN_LITERAL(""));
        return;
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("\"one report\""));
}

static void on_stopped(void *user)
{
    arcp_runtime_free(user);
}

static void on_submitted(void *user, arcp_client *client, const arcp_reply *reply)
{
    (void)user;
    if (reply->status != ARCP_OK) {
        printf("refused: %s\n", reply->error->message);
        arcp_client_close(client);
    }
    arcp_job_unref(reply->job);
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    arcp_runtime *runtime = user;
    if (event->type == ARCP_CLIENT_JOB_EVENT) {
        printf("%s %s\n", event->kind_text.data, event->body.data);
    } else if (event->type == ARCP_CLIENT_JOB_ENDED) {
        printf("result %s\n", arcp_job_outcome(event->job)->result.data);
        arcp_client_close(client);
    } else if (event->type == ARCP_CLIENT_CLOSED) {
        arcp_client_free(client);
        arcp_runtime_stop(runtime, on_stopped, runtime);
    }
}

/* Connects the client: one end of a pair for the client, the other for the runtime, as "me". */
static struct arcp_connection *dial(void *user, struct uv_loop_s *loop, arcp_error *err)
{
    const arcp_memory_options options = arcp_memory_options_init();
    arcp_serve_options serve = arcp_serve_options_init();
    arcp_connection *ours = NULL;
    arcp_connection *theirs = NULL;
    serve.principal = "me";
    if (arcp_memory_pair(loop, &options, &ours, &theirs, err) != ARCP_OK ||
        arcp_runtime_serve(user, theirs, &serve, err) != ARCP_OK) {
        return NULL;
    }
    return ours;
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    arcp_runtime_options options = arcp_runtime_options_init(); /* options.store: in memory */
    arcp_agent agent = arcp_agent_init();
    agent.name = "reports";
    agent.run = read_reports;
    arcp_runtime *runtime = NULL;
    arcp_error err = {0};
    if (arcp_runtime_new(loop, &options, &runtime, &err) != ARCP_OK ||
        arcp_runtime_register(runtime, &agent, &err) != ARCP_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    arcp_client_options with = arcp_client_options_init();
    with.dial = dial;
    with.dial_user = runtime;
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = ARCP_SPAN_LITERAL("reports");
    submit.lease = ARCP_SPAN_LITERAL("{\"fs.read\":[\"/srv/**\"]}");
    arcp_client *client = NULL;
    if (arcp_client_connect_start(&with, loop, on_event, runtime, &client, &err) != ARCP_OK ||
        arcp_client_submit_start(client, &submit, on_submitted, NULL, &err) != ARCP_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
