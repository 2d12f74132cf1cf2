
#include "arcp/command.h"
#include "arcp/jobs.h"
#include "cli/cli.h"

/* Attaches to the job; on failure prints the error, sets *exit_status and returns NULL.
 * [arcp:7.7-1] */
static arcp_job *subscribe(arcp__program *program, arcp_client *client, arcp_span id, bool history,
                           arcp__result_writer *writer, int *exit_status)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    arcp_error err = {.details = &program->error_details};
    arcp_job *job = NULL;
    options.job_id = id;
    options.history = history;
    options.result = arcp__result_writer_sink(writer);
    const arcp_status status =
        arcp_client_subscribe(client, &options, ARCP_WAIT_DEFAULT, &job, &err);
    if (status != ARCP_OK) {
        *exit_status = arcp__program_fail(program, &err);
        job = NULL;
    }
    return job;
}

static int watch(arcp__program *program, arcp_client *client, arcp_span id,
                 arcp__result_writer *writer)
{
    const bool from_start = arcp__has(&program->arguments, ARCP__OPTION_FROM_START);
    int exit_status = ARCP__EXIT_ERROR;
    arcp_job *job = subscribe(program, client, id, from_start, writer, &exit_status);
    const bool had_ended = job != NULL && arcp_job_status_is_terminal(arcp_job_current_status(job));
    if (had_ended && !from_start) {
        /* The end of such a job is not sent again, but it is in the history: subscribe with history
         * and print only the end. */
        arcp_error err = {.details = &program->error_details};
        arcp_job *ended = job;
        job = NULL;
        if (arcp_client_unsubscribe(client, arcp_job_id(ended), &err) == ARCP_OK) {
            job = subscribe(program, client, id, true, writer, &exit_status);
        } else {
            exit_status = arcp__program_fail(program, &err);
        }
        arcp_job_unref(ended);
    }
    if (job == NULL) {
        return exit_status;
    }
    arcp__follow follow = {.program = program,
                           .client = client,
                           .job = job,
                           .writer = writer,
                           .quiet_until_end = had_ended && !from_start,
                           .has_all_events = from_start};
    exit_status = arcp__follow_run(&follow);
    arcp_job_unref(job);
    return exit_status;
}

int arcp__command_watch(arcp__program *program)
{
    arcp_client_options options;
    arcp_error err = {0};
    arcp__result_writer writer;
    if (arcp__program_options(program, &options, &err) != ARCP_OK ||
        arcp__result_writer_open(&writer, program, NULL, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    int exit_status = ARCP__EXIT_ERROR;
    options.observe_all = true;
    arcp_client *client = arcp__program_connect(program, &options, &exit_status);
    if (client != NULL) {
        arcp__end_watch(client);
        arcp_buf id = arcp_buf_init();
        if (arcp__job_resolve(program, client, program->arguments.words[0], &id, &exit_status)) {
            exit_status = watch(program, client, arcp_buf_span(&id), &writer);
        }
        arcp_buf_fini(&id);
        arcp__end_watch(NULL);
        arcp_client_close(client);
        arcp_client_free(client);
        arcp__end_repeat();
    }
    arcp__result_writer_close(&writer);
    return exit_status;
}
