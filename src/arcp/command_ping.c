#include "arcp/command.h"
#include "cli/cli.h"

static int ping(arcp__program *program, arcp_client *client, void *user)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    int64_t round_trip_ns = 0;
    if (arcp_client_ping(client, ARCP_WAIT_DEFAULT, &round_trip_ns, &failure) != ARCP_OK) {
        const int exit_status = arcp__program_fail(program, &failure);
        arcp_failure_fini(&failure);
        return exit_status;
    }
    arcp_buf runtime = ARCP_BUF_INIT;
    arcp_buf line = ARCP_BUF_INIT;
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
    return arcp__program_ask(program, ping, NULL);
}
