/* The jobs of a worker, their programs, and time. */
#include <assert.h>
#include <string.h>

#include "worker/worker_state.h"

/* Until a runtime has set others. */
#define UNKEPT_BYTES 8388608u
#define UNKEPT_TOTAL 268435456u

bool arcp__worker_core_has_failed(const arcp__worker_core *core)
{
    return core->has_failed;
}

const char *arcp__worker_job_id(const arcp__worker_job *job)
{
    return job->id;
}

/* ---- who speaks ---- */

bool arcp__worker_is_ours(const arcp__worker_core *core, const arcp__worker_job *job)
{
    return core->link == ARCP__WORKER_LINK_READY && job->store == core->store;
}

static bool has_unsent(const arcp__worker_job *job)
{
    return job->streams[ARCP__WORKER_STREAM_ITEMS].unsent != NULL ||
           job->streams[ARCP__WORKER_STREAM_OUTPUT].unsent != NULL ||
           job->streams[ARCP__WORKER_STREAM_ERRORS].unsent != NULL;
}

static bool has_message(const arcp__worker_core *core, const arcp__worker_job *job)
{
    return arcp__worker_is_ours(core, job) && !job->is_forgotten &&
           (job->state == ARCP__WORKER_JOB_REFUSED || job->due.started || job->due.got ||
            job->due.exited || job->log.size != 0 || has_unsent(job));
}

void arcp__worker_let_speak(arcp__worker_core *core, arcp__worker_job *job)
{
    if (!job->speaks && has_message(core, job)) {
        job->speaks = true;
        DL_APPEND2(core->speaking, job, previous_speaking, next_speaking);
    }
}

void arcp__worker_silence(arcp__worker_core *core, arcp__worker_job *job)
{
    if (job->speaks) {
        job->speaks = false;
        DL_DELETE2(core->speaking, job, previous_speaking, next_speaking);
    }
}

/* ---- what is read ---- */

size_t arcp__worker_kept_bytes(const arcp__worker_job *job)
{
    return job->streams[ARCP__WORKER_STREAM_ITEMS].kept_bytes +
           job->streams[ARCP__WORKER_STREAM_OUTPUT].kept_bytes +
           job->streams[ARCP__WORKER_STREAM_ERRORS].kept_bytes;
}

static size_t unsent_bytes(const arcp__worker_job *job)
{
    return job->streams[ARCP__WORKER_STREAM_ITEMS].unsent_bytes +
           job->streams[ARCP__WORKER_STREAM_OUTPUT].unsent_bytes +
           job->streams[ARCP__WORKER_STREAM_ERRORS].unsent_bytes;
}

static bool may_read(const arcp__worker_core *core, const arcp__worker_job *job)
{
    return job->is_forgotten ||
           (!job->is_paused && !core->is_full &&
            arcp__worker_kept_bytes(job) < core->unkept_bytes_max &&
            (!arcp__worker_is_ours(core, job) || unsent_bytes(job) < ARCP__WORKER_UNSENT_MAX));
}

void arcp__worker_update_reading(arcp__worker_core *core, arcp__worker_job *job)
{
    const bool reads = may_read(core, job);
    if (job->program != NULL && job->state != ARCP__WORKER_JOB_EXITED && reads != job->reads) {
        job->reads = reads;
        core->programs.read(core->programs.user, job->program, reads);
    }
}

void arcp__worker_update_all_reading(arcp__worker_core *core)
{
    for (arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        arcp__worker_update_reading(core, job);
    }
}

void arcp__worker_streams_changed(arcp__worker_core *core, arcp__worker_job *job, size_t before)
{
    core->unkept_bytes += arcp__worker_kept_bytes(job) - before;
    const bool is_full = core->unkept_bytes >= core->unkept_total_max;
    if (is_full != core->is_full) {
        core->is_full = is_full;
        arcp__worker_update_all_reading(core);
    }
    arcp__worker_update_reading(core, job);
}

/* ---- jobs ---- */

static void drop_streams(arcp__worker_core *core, arcp__worker_job *job)
{
    const size_t before = arcp__worker_kept_bytes(job);
    for (size_t i = 0; i < 3; i++) {
        arcp__worker_stream_fini(&job->streams[i]);
    }
    arcp__worker_streams_changed(core, job, before);
}

void arcp__worker_free_job(arcp__worker_core *core, arcp__worker_job *job)
{
    arcp__worker_silence(core, job);
    drop_streams(core, job);
    if (job->program != NULL) {
        core->programs.forget(core->programs.user, job->program);
    }
    HASH_DEL(core->jobs, job);
    core->refused = core->refused == job ? NULL : core->refused;
    core->log_job = core->log_job == job ? NULL : core->log_job;
    arcp__worker_answers_fini(&job->answers);
    arcp_buf_fini(&job->log);
    arcp_buf_fini(&job->tail);
    arcp_buf_fini(&job->step);
    arcp_buf_fini(&job->failure);
    arcp__free(job);
}

void arcp__worker_kill_job(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_end why,
                           bool at_once)
{
    if (job->state == ARCP__WORKER_JOB_STARTING || job->state == ARCP__WORKER_JOB_RUNNING) {
        job->why = job->why == ARCP__WORKER_END_ITSELF ? why : job->why;
        job->is_killed = job->is_killed || at_once;
        core->programs.kill(core->programs.user, job->program, at_once);
    }
}

void arcp__worker_forget_job(arcp__worker_core *core, arcp__worker_job *job)
{
    if (job->state == ARCP__WORKER_JOB_EXITED || job->state == ARCP__WORKER_JOB_REFUSED) {
        arcp__worker_free_job(core, job);
        return;
    }
    job->is_forgotten = true;
    arcp__worker_silence(core, job);
    drop_streams(core, job);
    arcp__worker_update_reading(core, job); /* so that its end is seen */
    arcp__worker_kill_job(core, job, ARCP__WORKER_END_KILLED, true);
}

arcp__worker_core *arcp__worker_core_new(const arcp__worker_hello *hello,
                                         const arcp__worker_programs *programs, int64_t now_ns)
{
    arcp__worker_core *core = arcp__alloc(sizeof *core);
    if (core != NULL) {
        core->hello = *hello;
        core->programs = *programs;
        core->heard_ns = now_ns;
        core->unkept_bytes_max = UNKEPT_BYTES;
        core->unkept_total_max = UNKEPT_TOTAL;
    }
    return core;
}

void arcp__worker_core_set_hello(arcp__worker_core *core, const arcp__worker_hello *hello)
{
    core->hello = *hello;
}

void arcp__worker_core_free(arcp__worker_core *core)
{
    if (core == NULL) {
        return;
    }
    while (core->jobs != NULL) {
        core->jobs->is_forgotten = true; /* no reading is asked for */
        arcp__worker_free_job(core, core->jobs);
    }
    while (core->stores != NULL) {
        arcp__worker_store *first = core->stores;
        DL_DELETE(core->stores, first);
        arcp__free(first);
    }
    arcp_buf_fini(&core->rows);
    arcp__free(core);
}

arcp__worker_figures arcp__worker_core_figures(const arcp__worker_core *core)
{
    arcp__worker_figures figures = {.jobs = HASH_COUNT(core->jobs),
                                    .unkept_bytes = core->unkept_bytes,
                                    .is_linked = core->link == ARCP__WORKER_LINK_READY,
                                    .is_draining = core->is_draining};
    for (const arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        figures.programs +=
            job->state == ARCP__WORKER_JOB_STARTING || job->state == ARCP__WORKER_JOB_RUNNING;
    }
    return figures;
}

void arcp__worker_refuse_job(arcp__worker_core *core, arcp__worker_job *job,
                             arcp__worker_refusal why, arcp_span message)
{
    job->state = ARCP__WORKER_JOB_REFUSED;
    job->refusal = why;
    arcp_buf_append(&job->tail, arcp_span_first(message, ARCP__WORKER_REASON_MAX));
    arcp__worker_let_speak(core, job);
}

/* ---- time ---- */

void arcp__worker_note_contact(arcp__worker_core *core, uint64_t number)
{
    const int64_t sent_ns = core->pings_ns[number % ARCP__WORKER_PINGS];
    if (core->store != NULL && sent_ns > core->store->contact_ns) {
        core->store->contact_ns = sent_ns;
    }
}

/* The job has ended, and its runtime, which calls it lost by now, is not the one that is linked. */
static bool is_left_over(const arcp__worker_core *core, const arcp__worker_job *job, int64_t now_ns)
{
    return job->state == ARCP__WORKER_JOB_EXITED && core->link == ARCP__WORKER_LINK_READY &&
           job->store != core->store && now_ns - job->store->contact_ns >= job->store->keep_ns;
}

static void check_job(arcp__worker_core *core, arcp__worker_job *job, int64_t now_ns)
{
    const int64_t grace_ns = arcp__worker_is_ours(core, job) ? ARCP__WORKER_DEADLINE_GRACE_NS : 0;
    if (now_ns - job->store->contact_ns >= job->store->keep_ns) {
        arcp__worker_kill_job(core, job, ARCP__WORKER_END_ALONE, true);
    } else if (job->deadline_ns != ARCP_TIME_NEVER && now_ns - grace_ns >= job->deadline_ns) {
        arcp__worker_kill_job(core, job, ARCP__WORKER_END_DEADLINE, true);
    }
}

bool arcp__worker_core_tick(arcp__worker_core *core, int64_t now_ns)
{
    arcp__worker_job *job = NULL;
    arcp__worker_job *next = NULL;
    HASH_ITER (hh, core->jobs, job, next) {
        if (is_left_over(core, job, now_ns)) {
            arcp__worker_free_job(core, job);
        } else if (!job->is_killed) {
            check_job(core, job, now_ns);
        }
    }
    if (core->link == ARCP__WORKER_LINK_AWAY) {
        return true;
    }
    core->ping_is_due =
        core->ping_is_due ||
        (core->link == ARCP__WORKER_LINK_READY &&
         now_ns - core->pings_ns[core->last_ping % ARCP__WORKER_PINGS] >= ARCP__WORKER_PING_NS);
    if (core->link == ARCP__WORKER_LINK_READY && core->programs.use != NULL &&
        now_ns - core->usage_ns >= ARCP__WORKER_USAGE_NS) {
        core->usage_is_due = true;
        core->usage_ns = now_ns;
    }
    return now_ns - core->heard_ns < ARCP__WORKER_SILENT_NS;
}

/* ---- the end of the worker ---- */

void arcp__worker_begin_drain(arcp__worker_core *core, int64_t now_ns)
{
    if (!core->is_draining) {
        core->is_draining = true;
        core->drains_ns = now_ns;
    }
}

void arcp__worker_core_stop(arcp__worker_core *core, int64_t now_ns)
{
    arcp__worker_begin_drain(core, now_ns);
    for (arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        if (job->state != ARCP__WORKER_JOB_EXITED && job->why == ARCP__WORKER_END_ITSELF) {
            job->why = ARCP__WORKER_END_KILLED;
        }
    }
}

void arcp__worker_core_kill_all(arcp__worker_core *core)
{
    for (arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        arcp__worker_kill_job(core, job, ARCP__WORKER_END_KILLED, true);
    }
}

/* ---- programs ---- */

void arcp__worker_core_started(arcp__worker_core *core, arcp__worker_job *job, uint64_t pid)
{
    assert(job->state == ARCP__WORKER_JOB_STARTING);
    job->state = ARCP__WORKER_JOB_RUNNING;
    job->pid = pid;
    job->due.started = true;
    arcp__worker_let_speak(core, job);
}

void arcp__worker_core_refuse(arcp__worker_core *core, arcp__worker_job *job,
                              arcp__worker_refusal why, arcp_span message)
{
    assert(job->state == ARCP__WORKER_JOB_STARTING);
    arcp__worker_refuse_job(core, job, why, message); /* before what it may borrow from is freed */
    core->programs.forget(core->programs.user, job->program);
    job->program = NULL;
    if (!arcp__worker_is_ours(core, job) || job->is_forgotten) {
        arcp__worker_free_job(core, job);
    }
}

static void add(arcp__worker_core *core, arcp__worker_job *job, size_t which,
                arcp__worker_item what, arcp_span text)
{
    const size_t before = arcp__worker_kept_bytes(job);
    assert(job->state == ARCP__WORKER_JOB_STARTING || job->state == ARCP__WORKER_JOB_RUNNING);
    if (job->is_forgotten) {
        return;
    }
    if (!arcp__worker_stream_add(&job->streams[which], what, text)) {
        arcp__worker_fail(core);
    }
    arcp__worker_streams_changed(core, job, before);
    arcp__worker_let_speak(core, job);
}

void arcp__worker_core_item(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_item what,
                            arcp_span text)
{
    add(core, job, ARCP__WORKER_STREAM_ITEMS, what, text);
}

void arcp__worker_core_output(arcp__worker_core *core, arcp__worker_job *job, arcp_span bytes)
{
    while (bytes.size != 0) {
        const arcp_span first = arcp_span_first(bytes, ARCP__WORKER_RUN_BYTES);
        add(core, job, ARCP__WORKER_STREAM_OUTPUT, ARCP__WORKER_ITEM_LINE, first);
        bytes = arcp_span_from(bytes, first.size);
    }
}

void arcp__worker_core_error_line(arcp__worker_core *core, arcp__worker_job *job, arcp_span line)
{
    add(core, job, ARCP__WORKER_STREAM_ERRORS, ARCP__WORKER_ITEM_LINE, line);
}

void arcp__worker_core_log(arcp__worker_core *core, arcp__worker_job *job, arcp_span line)
{
    arcp_buf *log = &job->log;
    arcp__worker_end_message(core);
    if (log->size + line.size + 1 > ARCP__WORKER_LOG_MAX) { /* the older half goes */
        const size_t half = log->size < ARCP__WORKER_LOG_MAX / 2 ? log->size : log->size / 2;
        const char *end =
            half == log->size ? NULL : memchr(log->data + half, '\n', log->size - half);
        const size_t gone = end == NULL ? log->size : (size_t)(end - log->data) + 1;
        arcp_buf_consume(log, gone);
        job->log_dropped += gone;
    }
    line = arcp_span_first(line, ARCP__WORKER_RUN_BYTES);
    arcp_buf_append(log, line);
    arcp_buf_append_byte(log, '\n');
    if (log->failed) { /* it is only for people */
        job->log_dropped += log->size;
        arcp_buf_fini(log);
    }
    arcp__worker_let_speak(core, job);
}

void arcp__worker_core_exited(arcp__worker_core *core, arcp__worker_job *job,
                              const arcp__worker_exited *exited, arcp_span stderr_tail)
{
    assert(job->state == ARCP__WORKER_JOB_STARTING || job->state == ARCP__WORKER_JOB_RUNNING);
    job->state = ARCP__WORKER_JOB_EXITED;
    if (job->is_forgotten) {
        arcp__worker_free_job(core, job);
        return;
    }
    job->exited = *exited;
    arcp_buf_append(&job->tail, arcp_span_first(stderr_tail, ARCP__WORKER_TAIL_MAX));
    arcp_buf_append(&job->step, exited->failed_step);
    arcp_buf_append(&job->failure, arcp_span_first(exited->failure, ARCP__WORKER_REASON_MAX));
    if (job->tail.failed || job->step.failed || job->failure.failed) {
        arcp__worker_fail(core);
    }
    job->due.exited = true;
    arcp__worker_let_speak(core, job);
}
