#include "worker/main/jobs.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/hash.h"
#include "worker/worker_spec.h"

struct arcp__hosted_job {
    arcp__hosted_job *prev, *next;
    arcp__hosted_jobs *jobs;
    arcp__worker_job *job; /* of the core */
    arcp__worker_program *program;
    arcp__arena arena; /* of the spec */
    arcp__process_spec spec;
    bool is_unread; /* as the core wishes */
    /* To be reported to the core. */
    bool has_started, has_failed, is_deaf;
    char why[256]; /* it has failed */
};

/* ---- reports to the core ---- */

/* Reports what came before. */
static void settle(arcp__hosted_job *hosted)
{
    arcp__worker_core *core = hosted->jobs->core;
    if (hosted->is_deaf) {
        hosted->is_deaf = false;
        arcp__worker_core_log(core, hosted->job,
                              ARCP_SPAN_LITERAL("agent killed: it does not read its input"));
    }
    if (hosted->has_started) {
        hosted->has_started = false;
        arcp__worker_core_started(
            core, hosted->job,
            (uint64_t)arcp__agent_process_pid(arcp__worker_program_process(hosted->program)));
    }
}

static void on_report(arcp__task *task)
{
    arcp__hosted_jobs *jobs =
        (arcp__hosted_jobs *)((char *)task - offsetof(arcp__hosted_jobs, report));
    arcp__hosted_job *hosted = NULL;
    arcp__hosted_job *next = NULL;
    DL_FOREACH_SAFE (jobs->first, hosted, next) {
        settle(hosted);
        if (hosted->has_failed) { /* which frees it */
            arcp__worker_core_refuse(jobs->core, hosted->job, ARCP__WORKER_CANNOT_START,
                                     arcp_span_cstr(hosted->why));
        }
    }
    jobs->changed(jobs->user);
}

static void report_later(const arcp__hosted_job *hosted)
{
    arcp__task_post(hosted->jobs->share, &hosted->jobs->report);
}

/* ---- what a program does ---- */

static arcp_status begin(void *user, const arcp__agent_process_callbacks *callbacks,
                         arcp__worker_begun *out, arcp_error *err)
{
    const arcp__hosted_job *hosted = user;
    return arcp__agent_process_start(hosted->jobs->processes, &hosted->spec, callbacks,
                                     &out->process, err);
}

static void fill_start(void *user, arcp_span line, arcp_buf *out)
{
    arcp_buf_append(out, line);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__hosted_job *hosted = user;
    hosted->has_started = status == ARCP_OK;
    hosted->has_failed = status != ARCP_OK;
    (void)snprintf(hosted->why, sizeof hosted->why, "%s", why);
    if (status == ARCP_OK) {
        arcp__worker_program_read(hosted->program, !hosted->is_unread);
    }
    report_later(hosted);
}

static void on_abandoned(void *user, const char *why)
{
    on_started(user, ARCP_E_INTERNAL_ERROR, why);
}

static void add_item(arcp__hosted_job *hosted, arcp__worker_item what, arcp_span text)
{
    settle(hosted);
    arcp__worker_core_item(hosted->jobs->core, hosted->job, what, text);
    hosted->jobs->changed(hosted->jobs->user);
}

static void on_line(void *user, arcp_span line)
{
    add_item(user, ARCP__WORKER_ITEM_LINE, line);
}

static void on_line_refused(void *user, arcp_status why)
{
    add_item(user, ARCP__WORKER_ITEM_TOO_LONG, arcp_span_make(NULL, 0));
}

static void on_record(void *user, arcp_span record)
{
    add_item(user, ARCP__WORKER_ITEM_RECORD, record);
}

static void on_output(void *user, arcp_span bytes)
{
    arcp__hosted_job *hosted = user;
    settle(hosted);
    arcp__worker_core_output(hosted->jobs->core, hosted->job, bytes);
    hosted->jobs->changed(hosted->jobs->user);
}

static void on_log(void *user, arcp_span line)
{
    arcp__hosted_job *hosted = user;
    settle(hosted);
    if (hosted->spec.is_plain) {
        arcp__worker_core_error_line(hosted->jobs->core, hosted->job, line);
    } else {
        arcp__worker_core_log(hosted->jobs->core, hosted->job, line);
    }
    hosted->jobs->changed(hosted->jobs->user);
}

/* No program has a sandbox, so there are none. */
static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    for (size_t i = 0; i < count; i++) {
        arcp__close(sockets[i]);
    }
}

static void on_deaf(void *user)
{
    arcp__hosted_job *hosted = user;
    hosted->is_deaf = true;
    report_later(hosted);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__hosted_job *hosted = user;
    arcp__hosted_jobs *jobs = hosted->jobs;
    const arcp__agent_process *process = arcp__worker_program_process(hosted->program);
    const char *step = NULL;
    const arcp_span failure = arcp__agent_process_failure(process, &step);
    const arcp__worker_exited exited = {
        .by_signal = end->by_signal,
        .is_known = end->is_known,
        .has_run_out = arcp__agent_process_has_run_out(process),
        .code = (uint64_t)end->code,
        .user_us = end->user_us,
        .system_us = end->system_us,
        .memory_bytes = end->memory_bytes,
        .failed_step = arcp_span_cstr(step == NULL ? "" : step),
        .failure = failure,
    };
    settle(hosted);
    arcp__worker_core_exited(jobs->core, hosted->job, &exited, stderr_tail);
    jobs->changed(jobs->user);
}

static const arcp__worker_program_events events = {
    .begin = begin,
    .fill_start = fill_start,
    .started = on_started,
    .abandoned = on_abandoned,
    .line = on_line,
    .line_refused = on_line_refused,
    .output = on_output,
    .log = on_log,
    .record = on_record,
    .listeners = on_listeners,
    .is_deaf = on_deaf,
    .exited = on_exited,
};

/* ---- what the core decides ---- */

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    arcp__hosted_jobs *jobs = user;
    arcp__hosted_job *hosted = arcp__alloc(sizeof *hosted);
    arcp_error error = {0};
    if (hosted == NULL) {
        (void)snprintf(message, 256, "out of memory");
        return NULL;
    }
    *hosted = (arcp__hosted_job){.jobs = jobs, .job = job};
    const arcp_status status =
        arcp__worker_spec_read(order->start.row, &hosted->arena, &hosted->spec, &error);
    const arcp__worker_program_options options = {
        .job = arcp__worker_job_id(job),
        .owner = jobs,
        .is_plain = hosted->spec.is_plain,
        .events = &events,
        .user = hosted,
    };
    hosted->program = status == ARCP_OK ? arcp__worker_program_new(&jobs->queue, &options) : NULL;
    if (hosted->program == NULL) {
        (void)snprintf(message, 256, "%s", status == ARCP_OK ? "out of memory" : error.message);
        arcp__arena_fini(&hosted->arena);
        arcp__free(hosted);
        return NULL;
    }
    DL_APPEND(jobs->first, hosted);
    arcp__worker_program_start(hosted->program, false, order->body);
    return hosted;
}

static void write_line(void *user, void *program, arcp_span line)
{
    arcp__worker_program_write(((arcp__hosted_job *)program)->program, line);
}

static void kill_program(void *user, void *program, bool at_once)
{
    arcp__worker_program_kill(((arcp__hosted_job *)program)->program, at_once, 0);
}

static void read_program(void *user, void *program, bool reads)
{
    arcp__hosted_job *hosted = program;
    hosted->is_unread = !reads;
    arcp__worker_program_read(hosted->program, reads);
}

/* No program has a sandbox, so only the gate denies. */
static void revoke_lease(void *user, void *program, arcp_span code)
{
}

/* The runtime keeps the warm processes of local agents itself. */
static void warm(void *user, arcp_span rows)
{
}

static void forget(void *user, void *program)
{
    arcp__hosted_job *hosted = program;
    DL_DELETE(hosted->jobs->first, hosted);
    arcp__worker_program_forget(hosted->program);
    arcp__arena_fini(&hosted->arena);
    arcp__free(hosted);
}

/* ---- all of them ---- */

void arcp__hosted_jobs_init(arcp__hosted_jobs *jobs)
{
    jobs->report.run = on_report;
}

arcp__worker_programs arcp__hosted_jobs_programs(arcp__hosted_jobs *jobs)
{
    return (arcp__worker_programs){
        .start = start,
        .write = write_line,
        .kill = kill_program,
        .read = read_program,
        .revoke = revoke_lease,
        .warm = warm,
        .forget = forget,
        .user = jobs,
    };
}

void arcp__hosted_jobs_cancel(arcp__hosted_jobs *jobs, uint64_t grace_ms)
{
    char line[128];
    arcp__hosted_job *hosted = NULL;
    (void)snprintf(
        line, sizeof line,
        "{\"type\":\"job.cancel\",\"payload\":{\"reason\":\"shutdown\",\"grace_ms\":%llu}"
        "}",
        (unsigned long long)grace_ms);
    DL_FOREACH (jobs->first, hosted) {
        arcp__worker_program_cancel(hosted->program, arcp_span_cstr(line));
    }
}

void arcp__hosted_jobs_fini(arcp__hosted_jobs *jobs)
{
    arcp__task_cancel(jobs->share, &jobs->report);
}
