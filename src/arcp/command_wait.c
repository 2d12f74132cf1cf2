/* `arcp wait`: waits until jobs have ended, and prints a line for each in the order in which they
 * do. */
#include "arcp/command.h"
#include "arcp/jobs.h"
#include "base/alloc.h"
#include "base/clock.h"

typedef struct waiting {
    arcp_job *job;
    bool has_ended;
    int exit_status; /* after the end */
} waiting;

typedef struct wait {
    arcp__program *program;
    arcp_client *client;
    waiting *jobs; /* in the order of the arguments */
    size_t count;
    size_t left;
} wait;

static bool is_listed(const wait *w, arcp_span id)
{
    for (size_t i = 0; i < w->count; i++) {
        if (arcp_span_equal(arcp_job_id(w->jobs[i].job), id)) {
            return true;
        }
    }
    return false;
}

/* Attaches to a job, so that its end arrives: that of an ended job is the last event of its
 * history.
 */
static arcp_status attach(const wait *w, arcp_span id, arcp_job **out, arcp_error *err)
{
    uint64_t newest = 0;
    arcp_status status = arcp__job_attach(w->client, id, NULL, out, err);
    if (status != ARCP_OK || !arcp_job_status_is_terminal(arcp_job_current_status(*out))) {
        return status;
    }
    const uint64_t from = arcp__job_newest_seq(*out, &newest) && newest > 0 ? newest - 1 : 0;
    status = arcp__job_detach(w->client, out, err);
    return status == ARCP_OK ? arcp__job_attach(w->client, id, &from, out, err) : status;
}

/* Returns 0, or the exit status. */
static int attach_all(wait *w)
{
    arcp__program *program = w->program;
    const arcp__arguments *arguments = &program->arguments;
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_SUCCESS;
    for (size_t i = 0; i < arguments->word_count && exit_status == ARCP__EXIT_SUCCESS; i++) {
        arcp_buf id = arcp_buf_init();
        if (arcp__job_resolve(program, w->client, arguments->words[i], &id, &exit_status) &&
            !is_listed(w, arcp_buf_span(&id))) {
            if (attach(w, arcp_buf_span(&id), &w->jobs[w->count].job, &err) == ARCP_OK) {
                w->count++;
            } else {
                exit_status = arcp__program_fail(program, &err);
            }
        }
        arcp_buf_fini(&id);
    }
    w->left = w->count;
    return exit_status;
}

static bool print_end(const wait *w, const arcp_client_event *event)
{
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    arcp_buf line = arcp_buf_init();
    if (w->program->is_json) {
        return arcp__program_print_line(w->program, arcp_client_event_payload(event));
    }
    arcp__append_safe(&line, arcp_job_id(event->job), 256);
    arcp_buf_append_format(&line, " %s", arcp_job_status_name(outcome->final_status));
    if (outcome->error != NULL) {
        arcp_buf_append_byte(&line, ' ');
        arcp__append_safe(&line, arcp_span_cstr(outcome->error->message), ARCP_ERROR_MESSAGE_MAX);
    }
    return arcp__program_print_text_line(w->program, &line);
}

static bool on_end(wait *w, const arcp_client_event *event)
{
    for (size_t i = 0; i < w->count; i++) {
        waiting *one = &w->jobs[i];
        if (one->job == event->job && !one->has_ended) {
            one->has_ended = true;
            one->exit_status = arcp__exit_of_outcome(arcp_job_outcome(event->job));
            w->left--;
            return print_end(w, event);
        }
    }
    return true;
}

/* The first job that did not succeed decides. */
static int exit_of_all(const wait *w)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->jobs[i].exit_status != ARCP__EXIT_SUCCESS) {
            return w->jobs[i].exit_status;
        }
    }
    return ARCP__EXIT_SUCCESS;
}

static int wait_for_all(wait *w, int64_t timeout_ns)
{
    arcp_error err = {.details = &w->program->error_details};
    const int64_t begun = arcp__clock_ns(CLOCK_MONOTONIC);
    while (w->left != 0) {
        const arcp_client_event *event = NULL;
        const int64_t passed = arcp__clock_ns(CLOCK_MONOTONIC) - begun;
        const int64_t left_ms = timeout_ns == INT64_MAX ? ARCP_WAIT_FOREVER
                                : passed >= timeout_ns
                                    ? 0
                                    : (timeout_ns - passed + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS;
        const arcp_status status = arcp_client_next_event(w->client, left_ms, &event, &err);
        if (status == ARCP_E_DEADLINE) {
            arcp__program_say(w->program, "%zu job%s not ended in time", w->left,
                              w->left == 1 ? " has" : "s have");
            return ARCP__EXIT_TIMED_OUT;
        }
        if (status != ARCP_OK) {
            return arcp__program_fail(w->program, &err);
        }
        if (event->type == ARCP_CLIENT_JOB_ENDED && !on_end(w, event)) {
            return ARCP__EXIT_ERROR;
        }
    }
    return exit_of_all(w);
}

static int run(arcp__program *program, arcp_client *client, void *user)
{
    const int64_t *timeout_ns = user;
    wait w = {.program = program, .client = client};
    arcp_error err = {0};
    w.jobs = arcp__alloc_array(program->arguments.word_count, sizeof *w.jobs);
    if (w.jobs == NULL) {
        (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
        return arcp__program_fail(program, &err);
    }
    int exit_status = attach_all(&w);
    if (exit_status == ARCP__EXIT_SUCCESS) {
        exit_status = wait_for_all(&w, *timeout_ns);
    }
    for (size_t i = 0; i < w.count; i++) {
        arcp_job_unref(w.jobs[i].job);
    }
    arcp__free(w.jobs);
    return exit_status;
}

int arcp__command_wait(arcp__program *program)
{
    int64_t timeout_ns = INT64_MAX;
    arcp_error err = {0};
    return arcp__duration_option(&program->arguments, ARCP__OPTION_WAIT_TIMEOUT, &timeout_ns,
                                 &err) == ARCP_OK
               ? arcp__program_request(program, run, &timeout_ns)
               : arcp__program_usage(program, &err);
}
