/* One served process: the lines that it writes, and its end. */
#include <stdio.h>

#include "base/alloc.h"
#include "launch/proc_stat.h"
#include "process/served_line.h"
#include "process/served_state.h"

#define EARLY_MS      10000u
#define PAUSE_MS      10000u
#define RETIRE_MS     60000u
#define EARLY_EXITS   3u
#define LOOK_AGAIN_NS ARCP_NS_PER_SEC /* at the memory of a process */

static uint64_t or_default(uint32_t ms, uint32_t otherwise)
{
    return ms == 0 ? otherwise : ms;
}

void arcp__served_report(const arcp__served *served, bool is_error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    served->options.report(served->options.user, is_error, text);
}

const char *arcp__served_program(const arcp__served *served)
{
    return served->options.spec->argv[0];
}

/* ---- the end of a job and of a process ---- */

void arcp__served_process_end_if_idle(arcp__served_process *process)
{
    if ((process->is_retired || process->served->is_retired) && process->jobs == NULL &&
        !process->is_ending) {
        process->is_retired = true;
        process->is_ending = true;
        process->kill_ns = ARCP__SERVED_NEVER_NS;
        arcp__agent_process_terminate(process->process);
    }
}

void arcp__served_process_read(const arcp__served_process *process)
{
    arcp__agent_process_pause(process->process, process->paused != 0);
}

void arcp__served_job_detach(arcp__served_job *job)
{
    arcp__served_process *process = job->process;
    if (job->is_stopped) {
        DL_DELETE2(job->served->stopped, job, previous_stopped, next_stopped);
        job->is_stopped = false;
    }
    if (process == NULL) {
        return;
    }
    HASH_DEL(process->jobs, job);
    job->process = NULL;
    process->current = process->current == job ? NULL : process->current;
    if (job->is_paused) {
        process->paused--;
        arcp__served_process_read(process);
    }
}

void arcp__served_job_end(arcp__served_job *job, arcp__served_end how,
                          const arcp_process_exit *exit)
{
    arcp__served_job_detach(job);
    job->events->ended(job->user, how, exit);
}

void arcp__served_process_retire(arcp__served_process *process, bool is_stuck, const char *why)
{
    arcp__served *served = process->served;
    if (!process->is_retired) {
        process->is_retired = true;
        arcp__served_report(served, false, "a process of %s gets no more jobs: %s",
                            arcp__served_program(served), why);
    }
    if (is_stuck && process->kill_ns == ARCP__SERVED_NEVER_NS && !process->is_ending) {
        process->kill_ns = arcp__served_after_ms(or_default(served->options.retire_ms, RETIRE_MS));
    }
    arcp__served_process_end_if_idle(process);
}

bool arcp__served_can_replace(const arcp__served *served)
{
    size_t count = 0;
    for (const arcp__served_process *process = served->processes; process != NULL;
         process = process->next) {
        count++;
    }
    return count < 2 * served->options.processes;
}

void arcp__served_process_retire_if_due(arcp__served_process *process)
{
    const arcp__served *served = process->served;
    const int64_t now = arcp__served_now_ns();
    arcp__proc_usage usage;
    if (process->is_retired || !arcp__served_can_replace(served)) {
        return;
    }
    if (served->options.jobs_max != 0 && process->given >= served->options.jobs_max) {
        arcp__served_process_retire(process, false, "it has had jobs_per_process jobs");
    } else if (served->options.memory_bytes != 0 && process->is_running &&
               now - process->looked_ns >= LOOK_AGAIN_NS) {
        process->looked_ns = now;
        if (arcp__proc_usage_read(arcp__agent_process_pid(process->process), &usage) &&
            usage.memory_bytes > served->options.memory_bytes) {
            arcp__served_process_retire(process, false, "it uses more than process_memory_bytes");
        }
    }
}

static void note_end(arcp__served *served, const arcp__served_process *process)
{
    const int64_t early_ns =
        (int64_t)or_default(served->options.early_ms, EARLY_MS) * ARCP_NS_PER_MS;
    if (process->is_retired) {
        return; /* it was to end */
    }
    if (arcp__served_now_ns() - process->started_ns > early_ns) {
        served->early_exits = 0;
    } else if (++served->early_exits == EARLY_EXITS) {
        const uint64_t pause_ms = or_default(served->options.pause_ms, PAUSE_MS);
        served->early_exits = 0;
        served->pause_until_ns = arcp__served_after_ms(pause_ms);
        arcp__served_report(
            served, true,
            "%s has ended %u times soon after its start; the next start is in %llu ms",
            arcp__served_program(served), EARLY_EXITS, (unsigned long long)pause_ms);
    }
}

void arcp__served_process_free(arcp__served_process *process, bool has_run)
{
    const arcp__served_options *options = &process->served->options;
    if (options->ended != NULL) {
        options->ended(options->user, process->sandbox, has_run ? process->process : NULL);
    }
    arcp__agent_process_free(process->process);
    arcp__free(process);
}

/* ---- what a process says ---- */

/* A line, or the rest of one, is lost, and with it what its job waits for. */
static void on_line_refused(void *user, arcp_status why)
{
    arcp__served_process *process = user;
    arcp__served_report(process->served, true, "a process of %s was killed: %s",
                        arcp__served_program(process->served),
                        why == ARCP_E_LIMIT ? "it wrote a line longer than limits.agent_line_bytes"
                                            : "out of memory for a line of it");
    arcp__agent_process_kill(process->process);
}

static void on_line(void *user, arcp_span line)
{
    arcp__served_process *process = user;
    arcp__served *served = process->served;
    arcp__served_line found = {.is_last = false};
    arcp__served_job *job = NULL;
    const arcp_status status = arcp__served_line_read(&served->json, line, &found);
    if (status == ARCP_E_NO_MEMORY) {
        on_line_refused(process, status);
        return;
    }
    if (status == ARCP_OK) {
        HASH_FIND(hh, process->jobs, found.job_id.data, found.job_id.size, job);
    }
    if (job == NULL) {
        served->options.log(served->options.user, arcp__agent_process_pid(process->process), line);
        return;
    }
    process->current = job;
    job->events->line(job->user, line);
    if (process->current != NULL && found.is_last) {
        arcp__served_job_end(job, ARCP__SERVED_DONE, NULL);
        arcp__served_process_retire_if_due(process);
        arcp__served_process_end_if_idle(process);
        arcp__served_place_waiting(served);
    }
    process->current = NULL;
}

static void on_log(void *user, arcp_span line)
{
    const arcp__served_process *process = user;
    const arcp__served_options *options = &process->served->options;
    options->log(options->user, arcp__agent_process_pid(process->process), line);
}

static void on_record(void *user, arcp_span record)
{
    const arcp__served_process *process = user;
    const arcp__served_options *options = &process->served->options;
    if (options->record != NULL) {
        options->record(options->user, process->sandbox, record);
    }
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    const arcp__served_process *process = user;
    const arcp__served_options *options = &process->served->options;
    options->listeners(options->user, process->sandbox, process->process, sockets, count,
                       proxy_secret);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__served_process *process = user;
    arcp__served *served = process->served;
    if (status == ARCP_OK) {
        arcp__served_job *job = NULL;
        arcp__served_job *next = NULL;
        process->is_running = true;
        HASH_ITER (hh, process->jobs, job, next) {
            job->events->started(job->user, ARCP_OK, "");
        }
        return;
    }
    DL_DELETE(served->processes, process);
    note_end(served, process);
    while (process->jobs != NULL) {
        arcp__served_job *job = process->jobs;
        arcp__served_job_detach(job);
        job->events->started(job->user, status, why);
    }
    arcp__served_process_free(process, false);
    arcp__served_place_waiting(served);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__served_process *process = user;
    arcp__served *served = process->served;
    (void)stderr_tail; /* its lines were logged, and belong to no job */
    DL_DELETE(served->processes, process);
    if (!process->is_ending) {
        const arcp_span failure =
            arcp_span_first(arcp__agent_process_failure(process->process, NULL), 300);
        arcp__served_report(
            served, false, "a process of %s ended with %s %d, and %u jobs with it%s%.*s",
            arcp__served_program(served), end->by_signal ? "signal" : "status", end->code,
            HASH_COUNT(process->jobs), failure.size == 0 ? "" : ": sandbox: ", (int)failure.size,
            failure.size == 0 ? "" : failure.data);
    }
    note_end(served, process);
    while (process->jobs != NULL) {
        arcp__served_job_end(process->jobs, ARCP__SERVED_EXITED, end);
    }
    arcp__served_process_free(process, true);
    arcp__served_place_waiting(served);
}

/* ---- starting a process ---- */

static arcp_status request_start(arcp__served_process *process, arcp_error *err)
{
    char directory[4096];
    arcp__served *served = process->served;
    const arcp__served_options *options = &served->options;
    arcp__process_spec spec = *options->spec;
    arcp_status status = ARCP_OK;
    const arcp__agent_process_callbacks callbacks = {
        .started = on_started,
        .line = on_line,
        .line_refused = on_line_refused,
        .log = on_log,
        .record = on_record,
        .listeners = options->listeners == NULL ? NULL : on_listeners,
        .exited = on_exited,
        .user = process};
    if (spec.makes_cwd) {
        const int written =
            snprintf(directory, sizeof directory, "%s/served-%llu", spec.cwd,
                     (unsigned long long)arcp__process_table_number(options->table));
        if (written < 0 || (size_t)written >= sizeof directory) {
            return arcp_error_set(err, ARCP_E_USAGE, "the path of the work directory is too long");
        }
        spec.cwd = directory;
    }
    if (options->prepare != NULL) {
        status = options->prepare(options->user, &spec, &process->sandbox, err);
    }
    if (status == ARCP_OK) {
        status =
            arcp__agent_process_start(options->table, &spec, &callbacks, &process->process, err);
    }
    if (options->prepared != NULL) {
        options->prepared(options->user, process->sandbox);
    }
    return status;
}

arcp__served_process *arcp__served_process_start(arcp__served *served, arcp_error *err)
{
    arcp__served_process *process = arcp__alloc(sizeof *process);
    if (process == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        return NULL;
    }
    *process = (arcp__served_process){
        .served = served, .started_ns = arcp__served_now_ns(), .kill_ns = ARCP__SERVED_NEVER_NS};
    if (request_start(process, err) != ARCP_OK) {
        note_end(served, process);
        arcp__served_process_free(process, false);
        return NULL;
    }
    DL_APPEND(served->processes, process);
    return process;
}
