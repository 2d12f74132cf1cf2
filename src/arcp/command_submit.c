#include "arcp/command.h"
#include "base/digits.h"
#include "base/utf8.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Session files older than this are removed. */
#define SWEEP_SECONDS INT64_C(2592000) /* 30 days */

#define RETRIES_MAX    1000
#define PAUSE_FIRST_MS 1000 /* before a retry; it doubles, up to PAUSE_MAX_MS */
#define PAUSE_MAX_MS   60000

typedef struct submission {
    arcp__program *program;
    arcp_buf input, lease, constraints;
    uint64_t max_runtime_sec;
    uint64_t retries;  /* --retry */
    uint64_t attempts; /* made so far */
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

/* ---- options ---- */

/* The text as a JSON string: what an agent of `mode: plain` reads as it is. */
static arcp_status quote_input(const char *option, arcp_span text, arcp_buf *out, arcp_error *err)
{
    if (!arcp__utf8_is_valid(text)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s: the text is not UTF-8", option);
    }
    arcp_json_quote(text, out);
    return !out->failed ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static arcp_status read_input_file(const char *path, arcp_buf *out, arcp_error *err)
{
    arcp_buf argument = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp_error why = {0};
    arcp_buf_append_format(&argument, "%s%s", strcmp(path, "-") == 0 ? "" : "@", path);
    const char *name = arcp_buf_cstr(&argument);
    arcp_status status = name == NULL ? arcp_error_set(&why, ARCP_E_NO_MEMORY, "out of memory")
                                      : arcp__file_text(name, true, &text, &why);
    status = status == ARCP_OK ? quote_input("input-file", arcp_buf_span(&text), out, err)
                               : arcp_error_set(err, status, "--input-file: %s", why.message);
    arcp_buf_fini(&argument);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status read_input(submission *s, arcp_error *err)
{
    const arcp__arguments *arguments = &s->program->arguments;
    const char *json = arcp__value(arguments, ARCP__OPTION_INPUT);
    const char *text = arcp__value(arguments, ARCP__OPTION_INPUT_TEXT);
    const char *file = arcp__value(arguments, ARCP__OPTION_INPUT_FILE);
    if ((json != NULL) + (text != NULL) + (file != NULL) > 1) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "only one of --input, --input-text and --input-file can be given");
    }
    return text != NULL   ? quote_input("input-text", arcp_span_cstr(text), &s->input, err)
           : file != NULL ? read_input_file(file, &s->input, err)
                          : arcp__json_text("input", json, true, &s->input, err);
}

/* --timeout, or --max-runtime, which is the same. */
static arcp_status read_timeout(submission *s, arcp_error *err)
{
    const arcp__arguments *arguments = &s->program->arguments;
    const bool has_timeout = arcp__has(arguments, ARCP__OPTION_TIMEOUT);
    if (has_timeout && arcp__has(arguments, ARCP__OPTION_MAX_RUNTIME)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--timeout and --max-runtime cannot be given together");
    }
    return arcp__seconds_option(arguments,
                                has_timeout ? ARCP__OPTION_TIMEOUT : ARCP__OPTION_MAX_RUNTIME,
                                &s->max_runtime_sec, err);
}

static arcp_status read_retries(submission *s, arcp_error *err)
{
    const char *retry = arcp__value(&s->program->arguments, ARCP__OPTION_RETRY);
    return retry == NULL || (arcp__digits_parse(arcp_span_cstr(retry), &s->retries) &&
                             s->retries <= RETRIES_MAX)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--retry: '%.64s' is not a number from 0 to %d",
                                retry, RETRIES_MAX);
}

/* Checks everything that can be checked before connecting. */
static arcp_status prepare(submission *s, arcp_error *err)
{
    const arcp__arguments *arguments = &s->program->arguments;
    if (read_input(s, err) != ARCP_OK || read_timeout(s, err) != ARCP_OK ||
        read_retries(s, err) != ARCP_OK ||
        arcp__lease_request(arguments, &lease_source, arcp__now_wall_ns(), &s->lease,
                            &s->constraints, err) != ARCP_OK) {
        return err->status;
    }
    if (arcp__has(arguments, ARCP__OPTION_EXPLAIN)) {
        return ARCP_OK; /* there is no result to write */
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

/* The agent whose name is most like the one that was given. */
typedef struct guess {
    char given[128]; /* without its version */
    char best[128];
    size_t most;
} guess;

static void compare_agent(void *user, const arcp_agent_row *agent)
{
    guess *g = user;
    const char *best = NULL;
    arcp__keep_most_similar(g->given, agent->name.data, &best, &g->most);
    if (best != NULL) {
        (void)snprintf(g->best, sizeof g->best, "%s", best);
    }
}

static void suggest_agent(const submission *s, arcp_client *client)
{
    arcp_error err = {0};
    guess g = {.most = 0};
    (void)snprintf(g.given, sizeof g.given, "%s", s->program->arguments.words[0]);
    g.given[strcspn(g.given, "@")] = '\0';
    if (arcp_client_agents(client, compare_agent, &g, &err) == ARCP_OK && g.most != 0) {
        arcp_buf line = arcp_buf_init();
        arcp_buf_append_cstr(&line, "       did you mean ");
        arcp__append_safe(&line, arcp_span_cstr(g.best), sizeof g.best);
        arcp_buf_append_byte(&line, '?');
        arcp__screen_line(&s->program->screen, arcp_buf_span(&line));
        arcp_buf_fini(&line);
    }
}

/* Whether another attempt follows an error. */
static bool may_retry(const submission *s, const arcp_error *err)
{
    return err->retryable && s->attempts <= s->retries;
}

/* Sets *again when the submit was refused and may be retried. */
static int submit(submission *s, arcp_client *client, arcp_job **out, bool *again)
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
    if (status == ARCP_OK) {
        return ARCP__EXIT_SUCCESS;
    }
    *again = may_retry(s, &err);
    const int exit_status = arcp__program_fail(s->program, &err);
    if (status == ARCP_E_AGENT_NOT_AVAILABLE) {
        suggest_agent(s, client);
    } else if (status == ARCP_E_INTERRUPTED) {
        arcp__screen_format(&s->program->screen,
                            "interrupted before the response: the job may exist, see `arcp jobs`");
    }
    return exit_status;
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

/* Whether the job failed in a way that another job may not. The job of an idempotency key is the
 * only one, and a result that was written in part cannot be taken back. */
static bool may_follow_another(const submission *s, const arcp_outcome *outcome)
{
    return outcome != NULL && outcome->error != NULL && may_retry(s, outcome->error) &&
           outcome->streamed_bytes == 0 &&
           !arcp__has(&s->program->arguments, ARCP__OPTION_IDEMPOTENCY_KEY);
}

static int follow(submission *s, arcp_client *client, arcp_job *job, bool *again)
{
    arcp__follow follow = {.program = s->program,
                           .client = client,
                           .job = job,
                           .writer = &s->writer,
                           .file = s->file,
                           .may_cancel = true,
                           .has_all_events = true};
    const int exit_status = arcp__follow_run(&follow);
    *again = exit_status != ARCP__EXIT_DETACHED && may_follow_another(s, arcp_job_outcome(job));
    if (arcp_job_outcome(job) != NULL && s->file != NULL && !*again) {
        arcp__session_file_remove(s->file); /* there is no job left to cancel */
    }
    return exit_status;
}

/* Submits once, and follows the job. Sets *again when it failed and may be retried. */
static int attempt(submission *s, arcp_client *client, bool *again)
{
    arcp_job *job = NULL;
    s->attempts++;
    int exit_status = submit(s, client, &job, again);
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
        /* Where any session of the principal may cancel, this one is not needed again. */
        if (s->file != NULL &&
            (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW)) != 0) {
            arcp__session_file_remove(s->file);
        }
        exit_status =
            arcp__program_print_line(s->program, text) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    } else if (job != NULL) {
        exit_status = follow(s, client, job, again);
    }
    arcp_job_unref(job);
    return exit_status;
}

/* Waits before the next attempt; false: the user has interrupted that. */
static bool pause_before_retry(const submission *s)
{
    int64_t ms = PAUSE_FIRST_MS;
    for (uint64_t i = 1; i < s->attempts && ms < PAUSE_MAX_MS; i++) {
        ms *= 2;
    }
    ms = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
    if (!s->program->is_quiet) {
        arcp__screen_format(&s->program->screen, "retrying in %lld s (%llu of %llu)",
                            (long long)(ms / 1000), (unsigned long long)s->attempts,
                            (unsigned long long)s->retries);
    }
    return arcp__interrupt_pause(ms);
}

static int run(submission *s, const arcp_client_options *options)
{
    int exit_status = ARCP__EXIT_ERROR;
    bool again = true;
    arcp_client *client = arcp__program_connect(s->program, options, &exit_status);
    if (client == NULL) {
        return exit_status;
    }
    arcp__interrupt_watch(client);
    while (again) {
        again = false;
        exit_status = attempt(s, client, &again);
        if (again && !pause_before_retry(s)) {
            arcp__screen_format(&s->program->screen, "interrupted: not retried");
            again = false;
        }
    }
    if (exit_status != ARCP__EXIT_DETACHED) {
        arcp_client_close(client);
    }
    arcp__interrupt_watch(NULL);
    arcp_client_free(client);
    return exit_status;
}

int arcp__command_submit(arcp__program *program)
{
    submission s = {.program = program, .writer = {.fd = -1}};
    arcp_error err = {0};
    arcp_client_options options = arcp_client_options_init();
    int exit_status = 0;
    if (prepare(&s, &err) != ARCP_OK) {
        exit_status = arcp__program_usage(program, &err);
    } else if (arcp__has(&program->arguments, ARCP__OPTION_EXPLAIN)) {
        exit_status =
            arcp__submit_explain(program, arcp_buf_span(&s.lease), arcp_buf_span(&s.constraints));
    } else if (arcp__program_options(program, &options, &err) != ARCP_OK) {
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
