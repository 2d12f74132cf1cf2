#include "arcp/command.h"
#include "cli/cli.h"
#include "json/json_put.h"

typedef struct printer {
    arcp__program *program;
    bool failed;
} printer;

static void append_json(const arcp_agent_row *agent, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "name", agent->name);
    arcp__put_array(&writer, "versions");
    for (size_t at = 0; at < agent->version_count; at++) {
        arcp_json_write_string(&writer, agent->versions[at]);
    }
    arcp_json_end_array(&writer);
    if (agent->default_version.size != 0) {
        arcp__put_string(&writer, "default", agent->default_version);
    }
    arcp_json_end_object(&writer);
}

/* name and versions, the default one in front. */
static void append_text(const arcp_agent_row *agent, arcp_buf *out)
{
    arcp__append_safe(out, agent->name, 256);
    if (agent->default_version.size != 0) {
        arcp_buf_append_byte(out, '@');
        arcp__append_safe(out, agent->default_version, 256);
    }
    for (size_t at = 0; at < agent->version_count; at++) {
        if (!arcp_span_equal(agent->versions[at], agent->default_version)) {
            arcp_buf_append_byte(out, ' ');
            arcp__append_safe(out, agent->versions[at], 256);
        }
    }
}

static void print_agent(void *user, const arcp_agent_row *agent)
{
    printer *p = user;
    arcp_buf line = ARCP_BUF_INIT;
    (p->program->is_json ? append_json : append_text)(agent, &line);
    p->failed = !arcp__program_print_buf_line(p->program, &line) || p->failed;
}

static int list(arcp__program *program, arcp_client *client, void *user)
{
    printer p = {.program = program};
    arcp_failure failure = ARCP_FAILURE_INIT;
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp_client_agents(client, print_agent, &p, &failure.error) != ARCP_OK) {
        exit_status = arcp__program_fail(program, &failure);
    } else if (!p.failed) {
        exit_status = ARCP__EXIT_SUCCESS;
    }
    arcp_failure_fini(&failure);
    return exit_status;
}

int arcp__command_agents(arcp__program *program)
{
    return arcp__program_ask(program, list, NULL);
}
