/* `arcp cancel`: arcpd ends a job for its principal from any session (x-vendor.arcpd.end). With
 * other runtimes only the session that submitted a job may cancel it, so this command resumes that
 * session. If its `arcp submit` still runs, it loses the connection for that moment and resumes
 * afterwards. */
#include <time.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "base/alloc.h"
#include "cli/cli.h"

#define LOCK_TRIES    200
#define LOCK_PAUSE_MS 50

/* Called on the client's thread: the new token must be on disk before the old one expires. */
static void welcomed(void *user, const arcp_session_state *state)
{
    const arcp_status ignored = arcp__session_file_set_session(user, state, NULL);
    (void)ignored;
}

/* Returns the saved session of the job, locked, or NULL. */
static arcp__session_file *borrow_session(arcp__program *program, arcp_span url, arcp_span job)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * ARCP_NS_PER_MS};
    const arcp_span directory = arcp_buf_span(&program->state_directory);
    arcp__session_file *file = NULL;
    arcp_error err = {0};
    if (directory.size == 0 ||
        arcp__session_file_find(directory, url, job, &file, &err) != ARCP_OK) {
        return NULL;
    }
    bool is_ours = arcp__session_file_lock(file);
    for (int tries = 1; tries < LOCK_TRIES && !is_ours; tries++) {
        (void)nanosleep(&pause, NULL);
        is_ours = arcp__session_file_lock(file);
    }
    if (!is_ours || arcp__session_file_reload(file, &err) != ARCP_OK) {
        arcp__session_file_free(file);
        return NULL;
    }
    return file;
}

/* The resume was refused as unauthenticated: either the token is not valid at all, or the session
 * belongs to another principal. A new session tells which, so that the right error is printed. */
static arcp_client *explain_refused_resume(arcp__program *program,
                                           const arcp_client_options *options, int *exit_status)
{
    arcp_error err = {0};
    arcp_client *client = arcp__program_connect(program, options, exit_status);
    if (client != NULL) {
        arcp_client_close(client);
        arcp_client_free(client);
        (void)arcp_error_set(&err, ARCP_E_PERMISSION_DENIED,
                             "the job was submitted by another principal than that of the token in "
                             "use");
        *exit_status = arcp__program_fail(program, &err);
    }
    return NULL;
}

/* Resumes the saved session or, if there is none or it has expired, opens a new one; then the
 * runtime decides whether that may cancel the job. */
static arcp_client *connect_to(arcp__program *program, const arcp_client_options *options,
                               arcp__session_file *file, int *exit_status)
{
    if (file == NULL) {
        return arcp__program_connect(program, options, exit_status);
    }
    arcp_client_options resuming = *options;
    arcp_error err = {.details = &program->error_details};
    arcp_client *client = NULL;
    resuming.resume = arcp__session_file_state(file);
    resuming.hooks = (arcp_client_hooks){NULL, welcomed, file};
    const arcp_status status = arcp_client_connect(&resuming, &client, &err);
    if (status == ARCP_E_UNAUTHENTICATED) {
        client = explain_refused_resume(program, options, exit_status);
    } else if (status == ARCP_E_RESUME_WINDOW_EXPIRED) {
        arcp__session_file_remove(file);
        client = arcp__program_connect(program, options, exit_status);
    } else if (status != ARCP_OK) {
        (void)arcp__program_fail(program, &err);
        *exit_status = ARCP__EXIT_NOT_CONNECTED;
    }
    return client;
}

/* Whether the runtime ends jobs for any session of their principal. */
static bool has_end(arcp_client *client)
{
    return (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW)) != 0;
}

/* A job that had ended before is reported like the refusal of job.cancel. */
static arcp_status check_end(arcp_span answer, arcp_error *err)
{
    arcp_json *json = arcp_json_new();
    arcp_buf scratch = arcp_buf_init();
    arcp_status status = json == NULL ? ARCP_E_NO_MEMORY : arcp_json_scan(json, answer, NULL, err);
    if (status == ARCP_OK) {
        const arcp_span word = arcp_json_string(
            json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("status")), &scratch);
        const arcp_json_ref had_ended =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("had_ended"));
        if (arcp_json_is(json, had_ended, ARCP_JSON_TRUE)) {
            status = arcp_error_set(err, ARCP_E_JOB_NOT_FOUND, "the job has ended already (%.*s)",
                                    (int)word.size, word.data);
        }
    }
    arcp_buf_fini(&scratch);
    arcp_json_free(json);
    return status;
}

static arcp_status end(arcp__program *program, arcp_client *client, arcp_span job, arcp_error *err)
{
    const bool is_now = arcp__has(&program->arguments, ARCP__OPTION_CANCEL_NOW);
    const arcp_span reason = arcp_span_cstr(arcp__value(&program->arguments, ARCP__OPTION_REASON));
    arcp_buf payload = arcp_buf_init();
    arcp_buf answer = arcp_buf_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &payload);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "job_id");
    arcp_json_write_string(&writer, job);
    if (reason.size != 0) {
        arcp_json_name(&writer, "reason");
        arcp_json_write_string(&writer, reason);
    }
    if (is_now) {
        arcp_json_name(&writer, "grace_ms");
        arcp_json_write_u64(&writer, 0);
    }
    arcp_json_end_object(&writer);
    arcp_status status = arcp_buf_status(&payload);
    if (status == ARCP_OK) {
        status = arcp_client_view(client, "end", arcp_buf_span(&payload), ARCP_WAIT_DEFAULT,
                                  &answer, err);
    }
    if (status == ARCP_OK) {
        status = check_end(arcp_buf_span(&answer), err);
    }
    arcp_buf_fini(&payload);
    arcp_buf_fini(&answer);
    return status;
}

static arcp_status request_cancel(arcp__program *program, arcp_client *client, arcp_span job,
                                  arcp_error *err)
{
    if (has_end(client)) {
        return end(program, client, job, err);
    }
    if (arcp__has(&program->arguments, ARCP__OPTION_CANCEL_NOW)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this runtime has no cancel without a grace period (--now)");
    }
    return arcp_client_cancel(client, job,
                              arcp_span_cstr(arcp__value(&program->arguments, ARCP__OPTION_REASON)),
                              ARCP_WAIT_DEFAULT, err);
}

static int cancel(arcp__program *program, arcp_client *client, arcp_span job)
{
    arcp_error err = {.details = &program->error_details};
    const arcp_status status = request_cancel(program, client, job, &err);
    int exit_status = ARCP__EXIT_SUCCESS;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (program->is_json) {
        arcp_buf line = arcp_buf_init();
        arcp_buf_append_cstr(&line, "{\"job_id\":");
        arcp_json_quote(job, &line);
        arcp_buf_append_cstr(&line, ",\"cancelled\":true}");
        exit_status =
            arcp__program_print_buf_line(program, &line) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    } else if (!program->is_quiet) {
        arcp__screen_format(&program->screen, "cancelling %.*s", (int)job.size, job.data);
        /* The runtime does not say how long its grace period is. */
        arcp__screen_format(&program->screen,
                            "       its agent may run until a grace period ends (arcpd: 30 s by "
                            "default)");
    }
    return exit_status;
}

/* Cancels by the session that submitted the job, which is found by the id. */
static int cancel_by_owner(arcp__program *program, const arcp_client_options *options,
                           arcp_span job)
{
    int exit_status = ARCP__EXIT_ERROR;
    arcp__session_file *file = borrow_session(program, options->url, job);
    arcp_client *client = connect_to(program, options, file, &exit_status);
    if (client != NULL) {
        exit_status = cancel(program, client, job);
        arcp_client_close(client);
        arcp_client_free(client);
    }
    arcp__session_file_free(file);
    return exit_status;
}

/* The job that a word of the command line names; empty when there is none. */
static arcp_buf find(arcp__program *program, arcp_client *client, const char *word,
                     int *exit_status)
{
    arcp_buf id = arcp_buf_init();
    if (arcp__job_id_is_whole(arcp_span_cstr(word))) {
        arcp_buf_append_cstr(&id, word);
    } else if (!arcp__job_resolve(program, client, word, &id, exit_status)) {
        arcp_buf_clear(&id);
    }
    return id;
}

/* All jobs are tried; the exit status is that of the first one that could not be cancelled. Ends
 * the client. */
static int cancel_jobs(arcp__program *program, const arcp_client_options *options,
                       arcp_client *client)
{
    const arcp__arguments *arguments = &program->arguments;
    const bool is_ended_here = has_end(client);
    arcp_buf *ids = arcp__alloc_array(arguments->word_count, sizeof *ids);
    int first = ids == NULL ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
    for (size_t i = 0; i < arguments->word_count && ids != NULL; i++) {
        int one = ARCP__EXIT_SUCCESS;
        ids[i] = find(program, client, arguments->words[i], &one);
        if (ids[i].size != 0 && is_ended_here) {
            one = cancel(program, client, arcp_buf_span(&ids[i]));
        }
        first = first == ARCP__EXIT_SUCCESS ? one : first;
    }
    arcp_client_close(client);
    arcp_client_free(client);
    for (size_t i = 0; i < arguments->word_count && ids != NULL; i++) {
        const int one = ids[i].size == 0 || is_ended_here
                            ? ARCP__EXIT_SUCCESS
                            : cancel_by_owner(program, options, arcp_buf_span(&ids[i]));
        first = first == ARCP__EXIT_SUCCESS ? one : first;
        arcp_buf_fini(&ids[i]);
    }
    arcp__free(ids);
    return first;
}

int arcp__command_cancel(arcp__program *program)
{
    arcp_client_options options;
    arcp_error err = {0};
    if (arcp__program_options(program, &options, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    options.manual_ack =
        true; /* events replayed to this command were not processed by the submit */
    int exit_status = ARCP__EXIT_ERROR;
    arcp_client *client = arcp__program_connect(program, &options, &exit_status);
    if (client == NULL) {
        return exit_status;
    }
    return cancel_jobs(program, &options, client);
}
