#include "arcp/command.h"
#include "cli/cli.h"

#include <stdlib.h>

/* Session files older than this are removed. */
#define SWEEP_SECONDS INT64_C(2592000) /* 30 days */

typedef struct submission {
    arcp__program *program;
    arcp_buf input, lease, constraints;
    uint64_t max_runtime_sec;
    arcp__result_writer writer;
    arcp__session_file *file; /* NULL when there is no state directory */
} submission;

static const arcp__lease_source lease_source = {
    .lease = ARCP__OPTION_LEASE,
    .grant = ARCP__OPTION_GRANT,
    .budget = ARCP__OPTION_BUDGET,
    .expires_in = ARCP__OPTION_EXPIRES_IN,
    .expires_at = ARCP__OPTION_EXPIRES_AT,
};

/* Checks everything that can be checked before connecting. */
static arcp_status prepare(submission *s, arcp_error *err)
{
    const arcp__arguments *arguments = &s->program->arguments;
    const char *max_runtime = arcp__value(arguments, ARCP__OPTION_MAX_RUNTIME);
    const char *input = arcp__value(arguments, ARCP__OPTION_INPUT);
    if (arcp__json_text("input", input, true, &s->input, err) != ARCP_OK ||
        arcp__lease_request(arguments, &lease_source, arcp__now_wall_ns(), &s->lease,
                            &s->constraints, err) != ARCP_OK ||
        (max_runtime != NULL &&
         arcp__seconds_parse("max-runtime", max_runtime, &s->max_runtime_sec, err) != ARCP_OK)) {
        return err->status;
    }
    if (arcp__has(arguments, ARCP__OPTION_DETACH) && arcp__has(arguments, ARCP__OPTION_OUTPUT)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--detach and --output cannot be given together");
    }
    return arcp__result_writer_open(&s->writer, s->program,
                                    arcp__value(arguments, ARCP__OPTION_OUTPUT), err);
}

/* ---- the session's file ---- */

static bool before_resume(void *user, arcp_buf *token)
{
    const submission *s = user;
    if (!arcp__session_file_lock(s->file)) {
        return false; /* an `arcp cancel` is using the session */
    }
    if (arcp__session_file_reload(s->file, NULL) == ARCP_OK) {
        arcp_buf_append(token, arcp__session_file_state(s->file).resume_token);
    }
    return true;
}

static void welcomed(void *user, const arcp_session_state *state)
{
    const submission *s = user;
    const arcp_status ignored = arcp__session_file_set_session(s->file, state, NULL);
    (void)ignored; /* then `arcp cancel` cannot resume; the job is not affected */
    arcp__session_file_unlock(s->file);
}

/* ---- submitting ---- */

static int submit(submission *s, arcp_client *client, arcp_job **out)
{
    const arcp__arguments *arguments = &s->program->arguments;
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {.details = &s->program->error_details};
    options.agent = arcp_span_cstr(arguments->words[0]);
    options.input = arcp_buf_span(&s->input);
    options.lease = arcp_buf_span(&s->lease);
    options.constraints = arcp_buf_span(&s->constraints);
    options.idempotency_key = arcp_span_cstr(arcp__value(arguments, ARCP__OPTION_IDEMPOTENCY_KEY));
    options.max_runtime_sec = s->max_runtime_sec;
    options.traceparent = arcp_span_cstr(getenv("TRACEPARENT"));
    options.tracestate = arcp_span_cstr(getenv("TRACESTATE"));
    options.result = arcp__result_writer_sink(&s->writer);
    const arcp_status status = arcp_client_submit(client, &options, ARCP_WAIT_DEFAULT, out, &err);
    return status == ARCP_OK ? ARCP__EXIT_SUCCESS : arcp__program_fail(s->program, &err);
}

static void print_accepted(submission *s, arcp_job *job)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf line = arcp_buf_init();
    arcp_job_budget budget;
    arcp_buf_append(&text, arcp_job_id(job));
    arcp_buf_append_byte(&text, ' ');
    arcp_buf_append(&text, arcp_job_agent(job));
    for (size_t i = 0; arcp_job_budget_at(job, i, &budget); i++) {
        /* The initial amount: events may already have changed the remaining one. */
        arcp_buf_append_format(&text, ", %s %s", budget.currency,
                               budget.initial[0] != '\0' ? budget.initial : budget.remaining);
    }
    const arcp__line_style style = arcp__program_style(s->program, 0);
    arcp__plain_line(&style, "accepted", ARCP__COLOR_GREEN, arcp_buf_span(&text), &line);
    if (!s->program->is_quiet) {
        arcp__screen_line(&s->program->screen, arcp_buf_span(&line));
    }
    arcp_buf_fini(&line);
    arcp_buf_fini(&text);
}

static int follow(submission *s, arcp_client *client, arcp_job *job)
{
    arcp__follow follow = {.program = s->program,
                           .client = client,
                           .job = job,
                           .writer = &s->writer,
                           .file = s->file,
                           .may_cancel = true};
    const int exit_status = arcp__follow_run(&follow);
    if (arcp_job_outcome(job) != NULL && s->file != NULL) {
        arcp__session_file_remove(s->file); /* there is no job left to cancel */
    }
    if (exit_status != ARCP__EXIT_DETACHED) {
        arcp_client_close(client);
    }
    return exit_status;
}

static int run(submission *s, const arcp_client_options *options)
{
    int exit_status = ARCP__EXIT_ERROR;
    arcp_job *job = NULL;
    arcp_client *client = arcp__program_connect(s->program, options, &exit_status);
    if (client == NULL) {
        return exit_status;
    }
    arcp__interrupt_watch(client);
    exit_status = submit(s, client, &job);
    if (job != NULL) {
        arcp_error err = {0};
        if (s->file != NULL &&
            arcp__session_file_add_job(s->file, arcp_job_id(job), &err) != ARCP_OK) {
            arcp__screen_format(&s->program->screen,
                                "warning: arcp cancel cannot find this job: %s", err.message);
        }
        print_accepted(s, job);
    }
    if (job != NULL && arcp__has(&s->program->arguments, ARCP__OPTION_DETACH)) {
        const arcp_span text = s->program->is_json ? arcp_job_descriptor(job) : arcp_job_id(job);
        exit_status =
            arcp__program_print_line(s->program, text) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
        arcp_client_close(client);
    } else if (job != NULL) {
        exit_status = follow(s, client, job);
    }
    arcp__interrupt_watch(NULL);
    arcp_job_unref(job);
    arcp_client_free(client);
    return exit_status;
}

int arcp__command_submit(arcp__program *program)
{
    submission s = {.program = program, .writer = {.fd = -1}};
    arcp_error err = {0};
    arcp_client_options options = arcp_client_options_init();
    int exit_status = 0;
    if (prepare(&s, &err) != ARCP_OK || arcp__program_options(program, &options, &err) != ARCP_OK) {
        exit_status = arcp__program_usage(program, &err);
    } else {
        const arcp_span directory = arcp_buf_span(&program->state_directory);
        options.observe_all = true;
        if (directory.size != 0) {
            arcp__session_file_sweep(directory, SWEEP_SECONDS);
            s.file = arcp__session_file_new(directory, options.url);
        }
        if (s.file != NULL) {
            options.hooks = (arcp_client_hooks){before_resume, welcomed, &s};
            options.manual_ack = true;
        }
        exit_status = run(&s, &options);
    }
    arcp__session_file_free(s.file);
    arcp__result_writer_close(&s.writer);
    arcp_buf_fini(&s.input);
    arcp_buf_fini(&s.lease);
    arcp_buf_fini(&s.constraints);
    return exit_status;
}
