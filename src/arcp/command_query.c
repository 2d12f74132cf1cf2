/* `arcp agents` and `arcp ping`: commands that send one request and print its response. */
#include "arcp/command.h"
#include "cli/cli.h"
#include "json/json_put.h"

/* ---- agents ---- */

typedef struct printer {
    arcp__program *program;
    arcp__format format;
    bool failed;
    size_t count;
} printer;

static void append_agent_json(const arcp_agent_row *agent, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "name", agent->name);
    arcp__put_array(&writer, "versions");
    for (size_t i = 0; i < agent->version_count; i++) {
        arcp_json_write_string(&writer, agent->versions[i]);
    }
    arcp_json_end_array(&writer);
    arcp__put_text(&writer, "default", agent->default_version);
    if (agent->is_unconfined) {
        arcp__put_bool(&writer, "unconfined", true);
    }
    arcp_json_end_object(&writer);
}

/* The name and its versions, the default version first, and `unconfined` if it is. */
static void append_agent_line(const arcp_agent_row *agent, arcp_buf *out)
{
    arcp__append_safe(out, agent->name, 256);
    arcp_buf_append_cstr(out, agent->default_version.size != 0 ? "@" : "");
    arcp__append_safe(out, agent->default_version, 256);
    for (size_t i = 0; i < agent->version_count; i++) {
        if (!arcp_span_equal(agent->versions[i], agent->default_version)) {
            arcp_buf_append_byte(out, ' ');
            arcp__append_safe(out, agent->versions[i], 256);
        }
    }
    arcp_buf_append_cstr(out, agent->is_unconfined ? " unconfined" : "");
}

static void print_agent(void *user, const arcp_agent_row *agent)
{
    printer *p = user;
    arcp_buf text = arcp_buf_init();
    p->count++;
    if (p->format == ARCP__FORMAT_YAML) {
        arcp_json json = ARCP__JSON_INIT;
        arcp_buf yaml = arcp_buf_init();
        append_agent_json(agent, &text);
        yaml.failed = arcp_json_scan(&json, arcp_buf_span(&text), NULL, NULL) != ARCP_OK;
        arcp__append_yaml(&json, true, &yaml);
        p->failed = !arcp__program_print_buf(p->program, &yaml) || p->failed;
        arcp__json_fini(&json);
        arcp_buf_fini(&text);
        return;
    }
    if (p->format == ARCP__FORMAT_JSON) {
        append_agent_json(agent, &text);
    } else if (p->format == ARCP__FORMAT_NAME) {
        arcp__append_safe(&text, agent->name, 256);
    } else {
        append_agent_line(agent, &text);
    }
    p->failed = !arcp__program_print_buf_line(p->program, &text) || p->failed;
}

static int list_agents(arcp__program *program, arcp_client *client, void *user)
{
    printer p = {.program = program, .format = *(const arcp__format *)user};
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp_client_agents(client, print_agent, &p, &err) != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (!p.failed) {
        exit_status = ARCP__EXIT_SUCCESS;
        if (p.count == 0 && !program->is_quiet) {
            arcp__screen_format(&program->screen,
                                "no agents: `arcpd --agent NAME=COMMAND`, or `agents` of its "
                                "configuration, adds one");
        }
    }
    return exit_status;
}

int arcp__command_agents(arcp__program *program)
{
    arcp__format format = ARCP__FORMAT_TABLE;
    arcp_error err = {0};
    return arcp__format_read(program, ARCP__OPTION_AGENTS_OUTPUT, &format, &err) == ARCP_OK
               ? arcp__program_request(program, list_agents, &format)
               : arcp__program_usage(program, &err);
}

/* ---- ping ---- */

static int ping(arcp__program *program, arcp_client *client, void *user)
{
    arcp_error err = {.details = &program->error_details};
    int64_t round_trip_ns = 0;
    if (arcp_client_ping(client, ARCP_WAIT_DEFAULT, &round_trip_ns, &err) != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    arcp_buf runtime = arcp_buf_init();
    arcp_buf line = arcp_buf_init();
    const long long us = round_trip_ns / 1000;
    arcp__runtime_name(client, &runtime);
    if (program->is_json) {
        arcp_buf_append_cstr(&line, "{\"runtime\":");
        arcp_json_quote(arcp_buf_span(&runtime), &line);
        arcp_buf_append_format(&line, ",\"round_trip_ms\":%lld.%03lld}", us / 1000, us % 1000);
    } else {
        arcp_buf_append(&line, arcp_buf_span(&runtime));
        arcp_buf_append_format(&line, ": %lld.%03lld ms", us / 1000, us % 1000);
    }
    arcp_buf_fini(&runtime);
    return arcp__program_print_buf_line(program, &line) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

int arcp__command_ping(arcp__program *program)
{
    return arcp__program_request(program, ping, NULL);
}
