#include "cli/cli.h"

arcp_status arcp__program_options(arcp__program *program, arcp_client_options *out, arcp_error *err)
{
    arcp_status status = arcp__target_find(&program->arguments, &program->target, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = (arcp_client_options)ARCP_CLIENT_OPTIONS_INIT;
    out->url = arcp_span_cstr(program->target.url);
    out->tls_ca_file = arcp_span_cstr(program->target.ca_file);
    out->client_name = ARCP_SPAN_LITERAL("arcp");
    out->client_version = ARCP_SPAN_LITERAL(ARCP_VERSION_STRING);
    if (program->target.token != NULL) {
        out->token = arcp_secret_reveal(program->target.token);
    }
    return ARCP_OK;
}

arcp_client *arcp__program_connect(arcp__program *program, const arcp_client_options *options,
                                   int *exit_status)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    arcp_client *client = NULL;
    arcp_status status = arcp_client_connect(options, &client, &failure);
    if (status != ARCP_OK) {
        /* Whatever keeps one from connecting is 3, but for a URL that is none. */
        if (status == ARCP_E_USAGE) {
            *exit_status = arcp__program_usage(program, &failure.error);
        } else {
            (void)arcp__program_fail(program, &failure);
            *exit_status = ARCP__EXIT_NOT_CONNECTED;
        }
        arcp_failure_fini(&failure);
        return NULL;
    }
    return client;
}

arcp_client *arcp__program_open(arcp__program *program, int *exit_status)
{
    arcp_client_options options;
    arcp_error err = {0};
    if (arcp__program_options(program, &options, &err) != ARCP_OK) {
        *exit_status = arcp__program_usage(program, &err);
        return NULL;
    }
    return arcp__program_connect(program, &options, exit_status);
}
