/* `arcp mcp`: starts an MCP server that uses standard input and output, and passes on what a lease
 * allows. */
#include "arcp/command.h"
#include "arcp/mcp.h"
#include "base/alloc.h"
#include "base/clock.h"

static int refuse(arcp__program *program, const arcp_error *err, int exit_status)
{
    if (exit_status == ARCP__EXIT_USAGE) {
        return arcp__program_usage(program, err);
    }
    arcp__program_say(program, "%s", err->message);
    return exit_status;
}

static int exit_of_refusal(arcp_status status)
{
    return status == ARCP_E_USAGE           ? ARCP__EXIT_USAGE
           : status == ARCP_E_LEASE_EXPIRED ? ARCP__EXIT_DENIED
                                            : ARCP__EXIT_ERROR;
}

/* The lease of --lease, --tool, --expires-in and --expires-at. */
static arcp_status read_lease(arcp__mcp *mcp, int64_t now_wall_ns, arcp_error *err)
{
    const arcp__arguments *arguments = &mcp->program->arguments;
    const size_t count = arguments->counts[ARCP__OPTION_MCP_TOOL];
    if (count == 0 && !arcp__has(arguments, ARCP__OPTION_MCP_LEASE)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "no tool is granted: --tool PATTERN or --lease grants some, --tool "
                              "'**' all");
    }
    arcp__lease_grant *grants = arcp__alloc_array(count + 1, sizeof *grants);
    if (grants == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        grants[i] = (arcp__lease_grant){ARCP_SPAN_LITERAL("tool.call"),
                                        arguments->values[ARCP__OPTION_MCP_TOOL][i]};
    }
    const arcp__lease_source source = {
        .lease = ARCP__OPTION_MCP_LEASE,
        .grant = ARCP__OPTION_COUNT,
        .budget = ARCP__OPTION_COUNT,
        .expires_in = ARCP__OPTION_MCP_EXPIRES_IN,
        .expires_at = ARCP__OPTION_MCP_EXPIRES_AT,
        .grants = grants,
        .grant_count = count,
    };
    arcp_buf lease = arcp_buf_init();
    arcp_buf constraints = arcp_buf_init();
    arcp_status status =
        arcp__lease_request(arguments, &source, now_wall_ns, &lease, &constraints, err);
    if (status == ARCP_OK) {
        status = arcp_lease_parse(arcp_buf_span(&lease), arcp_buf_span(&constraints), NULL,
                                  &mcp->lease, err);
        status = status == ARCP_E_INVALID_REQUEST ? ARCP_E_USAGE : status;
    }
    arcp_buf_fini(&lease);
    arcp_buf_fini(&constraints);
    arcp__free(grants);
    return status;
}

/* Everything that the command line says. */
static arcp_status prepare(arcp__mcp *mcp, arcp_error *err)
{
    const arcp__arguments *arguments = &mcp->program->arguments;
    arcp_authority_options options = arcp_authority_options_init();
    options.now = arcp__clock_now();
    mcp->name = arcp__value(arguments, ARCP__OPTION_MCP_NAME);
    if (mcp->name != NULL && !arcp__mcp_name_is_valid(arcp_span_cstr(mcp->name))) {
        return arcp_error_set(err, ARCP_E_USAGE, "--name: '%.80s' is not " ARCP__MCP_NAME_RULE,
                              mcp->name);
    }
    arcp_status status = read_lease(mcp, options.now.wall_ns, err);
    if (status == ARCP_OK) {
        status = arcp_authority_new(mcp->lease, &options, &mcp->authority, err);
    }
    if (status == ARCP_OK && arcp_authority_is_expired(mcp->authority, options.now)) {
        status = arcp_error_set(err, ARCP_E_LEASE_EXPIRED, "the lease has expired");
    }
    return status == ARCP_OK ? arcp__mcp_log_open(mcp, err) : status;
}

int arcp__command_mcp(arcp__program *program)
{
    arcp__mcp mcp = {.program = program};
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    if (!arcp__program_open_descriptors()) {
        return ARCP__EXIT_ERROR;
    }
    arcp_status status = prepare(&mcp, &err);
    if (status != ARCP_OK) {
        exit_status = refuse(program, &err, exit_of_refusal(status));
    } else {
        arcp__mcp_report_lease(&mcp);
        status = arcp__mcp_serve(&mcp, &exit_status, &err);
        if (status != ARCP_OK) {
            exit_status = refuse(program, &err,
                                 status == ARCP_E_NOT_FOUND ? ARCP__EXIT_NO_PROGRAM
                                 : status == ARCP_E_USAGE   ? ARCP__EXIT_NOT_EXECUTABLE
                                                            : ARCP__EXIT_ERROR);
        }
    }
    arcp__mcp_log_close(&mcp);
    arcp_authority_unref(mcp.authority);
    arcp_lease_unref(mcp.lease);
    return exit_status;
}
