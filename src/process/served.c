/* Served processes: which one a job gets, and the jobs that wait (served_state.h). */
#include "base/alloc.h"
#include "process/served_line.h"
#include "process/served_state.h"

/* ---- the timer ---- */

static void on_timer(uv_timer_t *timer);

static void set_timer(arcp__served *served)
{
    const int64_t now = arcp__served_now_ns();
    int64_t due_ns = served->waiting != NULL && served->pause_until_ns > now
                         ? served->pause_until_ns
                         : ARCP__SERVED_NEVER_NS;
    for (const arcp__served_job *job = served->stopped; job != NULL; job = job->next_stopped) {
        due_ns = job->leave_ns < due_ns ? job->leave_ns : due_ns;
    }
    for (const arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        due_ns = process->kill_ns < due_ns ? process->kill_ns : due_ns;
    }
    if (due_ns == ARCP__SERVED_NEVER_NS) {
        (void)uv_timer_stop(&served->timer);
        return;
    }
    const int64_t left_ns = due_ns - now;
    uv_update_time(served->options.table->loop);
    /* A part of a millisecond counts as a whole one: the timer must not be early. */
    (void)uv_timer_start(&served->timer, on_timer,
                         left_ns <= 0 ? 0 : (uint64_t)(left_ns / ARCP_NS_PER_MS) + 1, 0);
}

/* ---- a process for a job ---- */

static size_t count_not_retired(const arcp__served *served)
{
    size_t count = 0;
    for (const arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        count += process->is_retired ? 0 : 1;
    }
    return count;
}

/* Of the processes that are not retired, the one with the fewest jobs; NULL: there is none. */
static arcp__served_process *find_least(const arcp__served *served)
{
    arcp__served_process *least = NULL;
    for (arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        if (!process->is_retired &&
            (least == NULL || HASH_COUNT(process->jobs) < HASH_COUNT(least->jobs))) {
            least = process;
        }
    }
    return least;
}

/* *out stays NULL if the job must wait. An error: why a process could not be started for it. */
static arcp_status choose(arcp__served *served, arcp__served_process **out, arcp_error *err)
{
    const arcp__served_options *options = &served->options;
    arcp__served_process *least = find_least(served);
    const bool is_complete = count_not_retired(served) >= options->processes;
    arcp_status status = ARCP_OK;
    if ((least == NULL || (HASH_COUNT(least->jobs) != 0 && !is_complete)) &&
        arcp__served_can_replace(served) && arcp__served_now_ns() >= served->pause_until_ns) {
        *out = arcp__served_process_start(served, err);
        status = *out == NULL ? err->status : ARCP_OK;
    }
    /* The runtime gives more jobs than there is room for where parents wait for their children:
     * these do not wait for a process. */
    if (*out == NULL && least != NULL &&
        (is_complete || HASH_COUNT(least->jobs) < options->concurrency)) {
        *out = least;
        status = ARCP_OK;
    }
    return status;
}

static void send_text(const arcp__served_job *job, arcp_span text)
{
    arcp__served_process *process = job->process;
    if (arcp__agent_process_write(process->process, text) != ARCP_OK) {
        arcp__served_report(job->served, true,
                            "a process of %s was killed: it does not read its input",
                            arcp__served_program(job->served));
        arcp__agent_process_kill(process->process);
    }
}

/* Gives the job to the process. False when out of memory. */
static bool attach(arcp__served_job *job, arcp__served_process *process)
{
    HASH_ADD_KEYPTR(hh, process->jobs, job->id, strlen(job->id), job);
    if (!ARCP__HASH_ADDED(job)) {
        arcp__served_process_end_if_idle(process);
        return false;
    }
    job->process = process;
    process->given++;
    if (job->is_paused) {
        process->paused++;
        arcp__served_process_read(process);
    }
    arcp__served_process_retire_if_due(process);
    return true;
}

void arcp__served_place_waiting(arcp__served *served)
{
    while (served->waiting != NULL) {
        arcp__served_job *job = served->waiting;
        arcp__served_process *process = NULL;
        arcp_error error = {0};
        arcp_status status = choose(served, &process, &error);
        if (status == ARCP_OK && process == NULL) {
            break;
        }
        DL_DELETE(served->waiting, job);
        job->is_waiting = false;
        if (status == ARCP_OK && (job->input.failed || !attach(job, process))) {
            status =
                arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory for lines to the agent");
        }
        if (status == ARCP_OK && job->input.size != 0) {
            send_text(job, arcp_buf_span(&job->input));
        }
        arcp_buf_fini(&job->input);
        if (status != ARCP_OK || process->is_running) {
            job->events->started(job->user, status, error.message);
        }
    }
    set_timer(served);
}

static void on_timer(uv_timer_t *timer)
{
    arcp__served *served = timer->data;
    const int64_t now = arcp__served_now_ns();
    for (arcp__served_job *job = served->stopped, *next = NULL; job != NULL; job = next) {
        next = job->next_stopped;
        if (job->leave_ns <= now) {
            arcp__served_process *process = job->process;
            arcp__served_job_end(job, ARCP__SERVED_LEFT, NULL);
            arcp__served_process_retire(process, true, "it does not end a job that was stopped");
        }
    }
    for (arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        if (process->kill_ns <= now) {
            process->kill_ns = ARCP__SERVED_NEVER_NS;
            arcp__agent_process_kill(process->process);
        }
    }
    arcp__served_place_waiting(served);
}

/* ---- jobs ---- */

arcp_status arcp__served_job_new(arcp__served *served, const char *id,
                                 const arcp__served_events *events, void *user,
                                 arcp__served_job **out, arcp_error *err)
{
    arcp__served_job *job = arcp__alloc(sizeof *job);
    arcp__served_process *process = NULL;
    if (job == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *job = (arcp__served_job){.served = served,
                              .id = id,
                              .events = events,
                              .user = user,
                              .input = arcp_buf_secret_init()};
    /* Jobs that wait come first. */
    arcp_status status = served->waiting == NULL ? choose(served, &process, err) : ARCP_OK;
    if (status == ARCP_OK && process != NULL && !attach(job, process)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        arcp__free(job);
        return status;
    }
    if (process == NULL) {
        job->is_waiting = true;
        DL_APPEND(served->waiting, job);
        set_timer(served);
    }
    *out = job;
    return ARCP_OK;
}

void arcp__served_job_free(arcp__served_job *job)
{
    if (job == NULL) {
        return;
    }
    arcp__served_process *process = job->process;
    if (job->is_waiting) {
        DL_DELETE(job->served->waiting, job);
    }
    arcp__served_job_detach(job);
    arcp_buf_fini(&job->input);
    arcp__free(job);
    if (process != NULL) {
        arcp__served_process_end_if_idle(process);
    }
}

bool arcp__served_job_runs(const arcp__served_job *job)
{
    return job->process != NULL && job->process->is_running;
}

bool arcp__served_job_waits(const arcp__served_job *job)
{
    return job->is_waiting;
}

pid_t arcp__served_job_pid(const arcp__served_job *job)
{
    return arcp__served_job_runs(job) ? arcp__agent_process_pid(job->process->process) : 0;
}

void arcp__served_job_write(arcp__served_job *job, arcp_span line)
{
    arcp_buf *text = &job->served->text;
    if (job->is_waiting) {
        if (job->input.size != 0) {
            arcp_buf_append_byte(&job->input, '\n');
        }
        arcp__served_line_write(line, job->id, &job->input);
    } else if (job->process != NULL) {
        arcp_buf_clear(text);
        arcp__served_line_write(line, job->id, text);
        if (text->failed) {
            arcp__agent_process_kill(job->process->process); /* it would wait for the line */
        } else {
            send_text(job, arcp_buf_span(text));
        }
    }
}

void arcp__served_job_pause(arcp__served_job *job, bool paused)
{
    if (job->is_paused == paused) {
        return;
    }
    job->is_paused = paused;
    if (job->process != NULL) {
        job->process->paused += paused ? 1 : (size_t)-1;
        arcp__served_process_read(job->process);
    }
}

void arcp__served_job_stop(arcp__served_job *job, uint64_t grace_ms)
{
    const int64_t leave_ns = arcp__served_after_ms(grace_ms);
    if (job->process == NULL) {
        return;
    }
    if (!job->is_stopped) {
        job->is_stopped = true;
        job->leave_ns = leave_ns;
        DL_APPEND2(job->served->stopped, job, previous_stopped, next_stopped);
    }
    job->leave_ns = leave_ns < job->leave_ns ? leave_ns : job->leave_ns;
    set_timer(job->served);
}

/* ---- all of them ---- */

arcp_status arcp__served_new(const arcp__served_options *options, arcp__served **out,
                             arcp_error *err)
{
    arcp__served *served = arcp__alloc(sizeof *served);
    if (served == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *served = (arcp__served){
        .options = *options, .json = ARCP__JSON_INIT, .text = arcp_buf_secret_init()};
    (void)uv_timer_init(options->table->loop, &served->timer);
    uv_unref((uv_handle_t *)&served->timer);
    served->timer.data = served;
    *out = served;
    return ARCP_OK;
}

void arcp__served_retire(arcp__served *served)
{
    served->is_retired = true;
    for (arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        arcp__served_process_end_if_idle(process);
    }
}

bool arcp__served_is_idle(const arcp__served *served)
{
    return served->processes == NULL && served->waiting == NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

void arcp__served_free(arcp__served *served)
{
    if (served == NULL) {
        return;
    }
    while (served->processes != NULL) {
        arcp__served_process *process = served->processes;
        DL_DELETE(served->processes, process);
        arcp__served_process_free(process, true);
    }
    arcp__json_fini(&served->json);
    arcp_buf_fini(&served->text);
    uv_close((uv_handle_t *)&served->timer, on_timer_closed);
}
