#include "arcp/command.h"
#include "cli/cli.h"

static bool print_answer(arcp__program *program, arcp_client *client, int64_t round_trip_ns)
{
    arcp_buf runtime = ARCP_BUF_INIT;
    arcp_buf line = ARCP_BUF_INIT;
    long long us = (long long)(round_trip_ns / 1000);
    arcp__runtime_name(client, &runtime);
    if (program->is_json) {
        arcp_buf_append_cstr(&line, "{\"runtime\":");
        arcp_json_quote(arcp_buf_span(&runtime), &line);
        arcp_buf_append_format(&line, ",\"round_trip_ms\":%lld.%03lld}", us / 1000, us % 1000);
    } else {
        arcp_buf_append(&line, arcp_buf_span(&runtime));
        arcp_buf_append_format(&line, ": %lld.%03lld ms", us / 1000, us % 1000);
    }
    bool printed = arcp__program_print_buf_line(program, &line);
    arcp_buf_fini(&line);
    arcp_buf_fini(&runtime);
    return printed;
}

int arcp__command_ping(arcp__program *program)
{
    int exit_status = ARCP__EXIT_ERROR;
    arcp_client *client = arcp__program_open(program, &exit_status);
    if (client == NULL) {
        return exit_status;
    }
    int64_t round_trip_ns = 0;
    arcp_failure failure = ARCP_FAILURE_INIT;
    if (arcp_client_ping(client, ARCP_WAIT_DEFAULT, &round_trip_ns, &failure) != ARCP_OK) {
        exit_status = arcp__program_fail(program, &failure);
    } else {
        exit_status =
            print_answer(program, client, round_trip_ns) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    }
    arcp_failure_fini(&failure);
    arcp_client_close(client);
    arcp_client_free(client);
    return exit_status;
}
