/* `arcp cancel`: only the session that submitted a job may cancel it, so this command resumes that
 * session. If its `arcp submit` still runs, it loses the connection for that moment and resumes
 * afterwards. */
#include <time.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
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

static int cancel(arcp__program *program, arcp_client *client, arcp_span job)
{
    arcp_error err = {.details = &program->error_details};
    const arcp_span reason = arcp_span_cstr(arcp__value(&program->arguments, ARCP__OPTION_REASON));
    const arcp_status status = arcp_client_cancel(client, job, reason, ARCP_WAIT_DEFAULT, &err);
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

/* The id that the word names, in `id`. A search has a session of its own: the one that may cancel
 * is found by the id. */
static bool find_job(arcp__program *program, const arcp_client_options *options, arcp_buf *id,
                     int *exit_status)
{
    const char *word = program->arguments.words[0];
    if (arcp__job_id_is_whole(arcp_span_cstr(word))) {
        arcp_buf_append_cstr(id, word);
        return true;
    }
    arcp_client *client = arcp__program_connect(program, options, exit_status);
    if (client == NULL) {
        return false;
    }
    const bool is_found = arcp__job_resolve(program, client, word, id, exit_status);
    arcp_client_close(client);
    arcp_client_free(client);
    return is_found;
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
    arcp_buf id = arcp_buf_init();
    if (!find_job(program, &options, &id, &exit_status)) {
        arcp_buf_fini(&id);
        return exit_status;
    }
    const arcp_span job = arcp_buf_span(&id);
    arcp__session_file *file = borrow_session(program, options.url, job);
    arcp_client *client = connect_to(program, &options, file, &exit_status);
    if (client != NULL) {
        exit_status = cancel(program, client, job);
        arcp_client_close(client);
        arcp_client_free(client);
    }
    arcp__session_file_free(file);
    arcp_buf_fini(&id);
    return exit_status;
}
