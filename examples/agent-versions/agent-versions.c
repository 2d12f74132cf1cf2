/* Lists the agents of the runtime with their versions, and submits to one by name, by version, and
 * with a version that does not exist.
 * cc -o agent-versions agent-versions.c $(pkg-config --cflags --libs libarcp-client) */
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

static void print_agent(void *user, const arcp_agent_row *agent)
{
    (void)user;
    printf("%s:", agent->name.data);
    for (size_t i = 0; i < agent->version_count; i++) {
        printf(" %s", agent->versions[i].data);
    }
    printf(" (default %s)\n", agent->default_version.data);
}

static void ask(arcp_client *client, const char *agent)
{
    arcp_submit_options submit = arcp_submit_options_init();
    submit.agent = arcp_span_cstr(agent);
    arcp_error err = {0};
    arcp_job *job = NULL;
    if (arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &job, &err) != ARCP_OK) {
        printf("%s: %s\n", agent, err.code);
    } else {
        printf("%s: runs %s\n", agent, arcp_job_agent(job).data);
    }
    arcp_job_unref(job);
}

int main(void)
{
    arcp_client *client = connect_or_exit();
    arcp_error err = {0};
    if (arcp_client_agents(client, print_agent, NULL, &err) != ARCP_OK) {
        (void)fprintf(stderr, "no agents: %s\n", err.message);
        return 1;
    }
    ask(client, "greet");
    ask(client, "greet@1.0.0");
    ask(client, "greet@3.0.0");
    ask(client, "nobody");
    arcp_client_close(client);
    arcp_client_free(client);
    return 0;
}
