#include "worker/worker_program.h"

#include <assert.h>
#include <string.h>

#include <arcp/time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "launch/proc_stat.h"
#include "json/json_put.h"

#define STOPPED_EARLY "the job was stopped before its program was started"

typedef arcp__worker_program program;

typedef enum program_state {
    PROGRAM_NEW,
    PROGRAM_WAITING,
    PROGRAM_STARTING,
    PROGRAM_RUNNING, /* or it has ended */
    PROGRAM_FAILED
} program_state;

struct arcp__worker_program {
    program *previous, *next; /* in one of the queue's two lists */
    arcp__worker_queue *queue;
    arcp__worker_program_options options;
    program_state state;
    arcp__agent_process *process;
    arcp__served_job *job; /* of a served process */
    bool is_leasing;       /* its sandbox gets the lease; lines for the program wait in `input` */
    uint64_t round;
    arcp_buf input; /* job.start and the lines after it, while they wait; secret: credentials */
    arcp__worker_program_usage usage;
    int64_t usage_mono_ns; /* 0: never */
};

/* ---- its input ---- */

/* Kills a program that leaves more than the limit of its input unread. */
static void write_line(const program *p, arcp_span line)
{
    if (arcp__agent_process_write(p->process, line) != ARCP_OK) {
        p->options.events->is_deaf(p->options.user);
        arcp__agent_process_kill(p->process);
    }
}

static void write_start(const program *p, arcp_span line)
{
    arcp_buf text = arcp_buf_secret_init();
    p->options.events->fill_start(p->options.user, line, &text);
    if (text.failed) {
        arcp__agent_process_kill(p->process); /* it would wait for the line */
    } else {
        write_line(p, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

/* A plain program gets a string as it is, any other input as JSON, and then the end of input. */
static void write_plain(const program *p, arcp_span start)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_buf scratch = arcp_buf_init();
    arcp_span input = {NULL, 0};
    const bool is_read = arcp_json_scan(&json, start, &limits, NULL) == ARCP_OK;
    if (is_read) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        const arcp_json_ref ref = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("input"));
        input = arcp_json_is(&json, ref, ARCP_JSON_STRING) ? arcp_json_string(&json, ref, &scratch)
                                                           : arcp_json_raw(&json, ref);
    }
    /* A program that got only a part of its input must not continue. */
    if (!is_read || scratch.failed ||
        arcp__agent_process_write_last(p->process, input) != ARCP_OK) {
        arcp__agent_process_kill(p->process);
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

/* ---- its output ---- */

static void on_line(void *user, arcp_span line)
{
    const program *p = user;
    p->options.events->line(p->options.user, line);
}

static void on_line_refused(void *user, arcp_status why)
{
    const program *p = user;
    p->options.events->line_refused(p->options.user, why);
}

static void on_output(void *user, arcp_span bytes)
{
    const program *p = user;
    p->options.events->output(p->options.user, bytes);
}

static void on_log(void *user, arcp_span line)
{
    const program *p = user;
    p->options.events->log(p->options.user, line);
}

static void on_record(void *user, arcp_span record)
{
    const program *p = user;
    p->options.events->record(p->options.user, record);
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    const program *p = user;
    p->options.events->listeners(p->options.user, sockets, count, proxy_secret);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    const program *p = user;
    p->options.events->exited(p->options.user, end, stderr_tail);
}

static void on_leased(void *user)
{
    program *p = user;
    p->is_leasing = false;
    if (p->input.failed) {
        arcp__agent_process_kill(p->process); /* it would wait for the line */
    } else {
        write_start(p, arcp_buf_span(&p->input));
    }
    arcp_buf_fini(&p->input);
}

/* ---- starting ---- */

static void on_started(void *user, arcp_status status, const char *why);

static void end_starting(program *p)
{
    if (p->state == PROGRAM_STARTING) {
        p->state = PROGRAM_RUNNING;
        p->queue->starting--;
    }
}

static void fail(program *p, arcp_status status, const char *why)
{
    end_starting(p);
    p->state = PROGRAM_FAILED;
    p->options.events->started(p->options.user, status, why);
}

/* Requests the start of its program, or takes a process, and gives that its lease. */
static arcp_status begin(program *p, arcp_error *err)
{
    const arcp__agent_process_callbacks callbacks = {
        .started = on_started,
        .line = on_line,
        .line_refused = on_line_refused,
        .output = on_output,
        .log = on_log,
        .record = on_record,
        .listeners = on_listeners,
        .leased = on_leased,
        .exited = on_exited,
        .user = p,
    };
    arcp__worker_begun begun = {.process = NULL};
    const arcp_status status = p->options.events->begin(p->options.user, &callbacks, &begun, err);
    p->process = begun.process;
    if (p->process == NULL) {
        return status;
    }
    p->state = begun.is_warm ? PROGRAM_RUNNING : PROGRAM_STARTING;
    p->queue->starting += !begun.is_warm;
    arcp__agent_process_set_callbacks(p->process, &callbacks);
    arcp__agent_process_set_job(p->process, arcp_span_cstr(p->options.job));
    if (status == ARCP_OK) {
        arcp__agent_process_take_listeners(p->process);
    }
    if (status != ARCP_OK || begun.lease.size == 0) {
        return status;
    }
    p->is_leasing = true;
    return arcp__agent_process_lease(p->process, begun.lease, err);
}

static void launch(program *p, arcp_span line)
{
    arcp_error error = {0};
    const arcp_status status = begin(p, &error);
    if (status != ARCP_OK) {
        fail(p, status, error.message);
        return;
    }
    assert(p->process != NULL);
    arcp__agent_process_pause(p->process, false);
    if (p->is_leasing) {
        if (line.data != p->input.data) {
            arcp_buf_append(&p->input, line);
        }
    } else if (p->options.is_plain) {
        write_plain(p, line);
    } else {
        write_start(p, line);
    }
    if (p->state == PROGRAM_RUNNING) {
        p->options.events->started(p->options.user, ARCP_OK, "");
    }
}

/* ---- the queue ---- */

/* Requests one start at a time, because a job that is queued later may come first. */
static void launch_next(arcp__worker_queue *queue)
{
    while (queue->waiting != NULL && queue->starting == 0) {
        program *p = queue->waiting;
        queue->round = p->round;
        DL_DELETE2(queue->waiting, p, previous, next);
        DL_APPEND2(queue->programs, p, previous, next);
        launch(p, arcp_buf_span(&p->input));
        if (!p->is_leasing) {
            arcp_buf_fini(&p->input);
        }
    }
}

static void on_started(void *user, arcp_status status, const char *why)
{
    program *p = user;
    arcp__worker_queue *queue = p->queue;
    if (p->state == PROGRAM_FAILED) {
        return; /* its lease could not be sent; its end follows */
    }
    end_starting(p);
    if (status == ARCP_OK) {
        p->options.events->started(p->options.user, ARCP_OK, "");
    } else {
        fail(p, status, why);
    }
    launch_next(queue);
}

/* The program before it in the queue; NULL for the first. */
static program *previous_in_queue(const program *p)
{
    return p == p->queue->waiting ? NULL : p->previous;
}

static void enqueue(program *p)
{
    arcp__worker_queue *queue = p->queue;
    program *before = queue->waiting == NULL ? NULL : queue->waiting->previous; /* the last */
    p->state = PROGRAM_WAITING;
    /* The round after that of the owner's last program in the queue, or else the next round. */
    p->round = queue->round + 1;
    for (const program *other = before; other != NULL; other = previous_in_queue(other)) {
        if (other->options.owner == p->options.owner) {
            p->round = other->round + 1;
            break;
        }
    }
    while (before != NULL && before->round > p->round) {
        before = previous_in_queue(before);
    }
    DL_APPEND_ELEM2(queue->waiting, before, p, previous, next);
    launch_next(queue);
}

/* A program that waits will not be started. */
static void abandon(program *p, const char *why)
{
    DL_DELETE2(p->queue->waiting, p, previous, next);
    DL_APPEND2(p->queue->programs, p, previous, next);
    p->state = PROGRAM_FAILED;
    p->options.events->abandoned(p->options.user, why);
}

/* ---- jobs of served processes ---- */

static void on_served_started(void *user, arcp_status status, const char *why)
{
    program *p = user;
    if (status == ARCP_OK) {
        p->options.events->started(p->options.user, ARCP_OK, "");
    } else {
        fail(p, status, why);
    }
}

static void on_left(void *user, arcp__served_end how, const arcp_process_exit *exit)
{
    const program *p = user;
    p->options.events->left(p->options.user, how, exit);
}

static const arcp__served_events served_events = {
    .started = on_served_started, .line = on_line, .ended = on_left};

/* Makes the job of the process and gives it its first line. */
static arcp_status join(program *p, arcp_span line, arcp_error *err)
{
    arcp__worker_begun nothing = {.process = NULL};
    arcp_buf text = arcp_buf_secret_init();
    arcp_status status = p->options.events->begin(p->options.user, NULL, &nothing, err);
    if (status == ARCP_OK) {
        p->options.events->fill_start(p->options.user, line, &text);
        status = text.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    if (status == ARCP_OK) {
        status = arcp__served_job_new(p->options.served, p->options.job, &served_events, p, &p->job,
                                      err);
    }
    if (status == ARCP_OK) {
        arcp__served_job_write(p->job, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    return status;
}

static void start_served(program *p, arcp_span line)
{
    arcp_error error = {0};
    DL_APPEND2(p->queue->programs, p, previous, next);
    p->state = PROGRAM_RUNNING;
    const arcp_status status = join(p, line, &error);
    if (status != ARCP_OK) {
        fail(p, status, error.message);
    } else if (arcp__served_job_runs(p->job)) {
        p->options.events->started(p->options.user, ARCP_OK, "");
    }
}

static void stop_served(program *p, uint64_t grace_ms)
{
    if (p->job == NULL) {
        return;
    }
    if (!arcp__served_job_waits(p->job)) {
        arcp__served_job_stop(p->job, grace_ms);
        return;
    }
    arcp__served_job_free(p->job);
    p->job = NULL;
    p->state = PROGRAM_FAILED;
    p->options.events->abandoned(p->options.user, STOPPED_EARLY);
}

/* ---- calls ---- */

program *arcp__worker_program_new(arcp__worker_queue *queue,
                                  const arcp__worker_program_options *options)
{
    program *p = arcp__alloc(sizeof *p);
    if (p != NULL) {
        p->queue = queue;
        p->options = *options;
        p->state = PROGRAM_NEW;
        p->input = arcp_buf_secret_init();
    }
    return p;
}

void arcp__worker_program_start(program *p, bool is_warm, arcp_span line)
{
    assert(p->state == PROGRAM_NEW);
    if (p->options.served != NULL) {
        start_served(p, line);
        return;
    }
    if (!is_warm) {
        arcp_buf_append(&p->input, line);
    }
    if (is_warm || p->input.failed) {
        DL_APPEND2(p->queue->programs, p, previous, next);
        launch(p, line);
    } else {
        enqueue(p);
    }
}

void arcp__worker_program_forget(program *p)
{
    arcp__worker_queue *queue = p->queue;
    if (p->state == PROGRAM_WAITING) {
        DL_DELETE2(queue->waiting, p, previous, next);
    } else if (p->state != PROGRAM_NEW) {
        DL_DELETE2(queue->programs, p, previous, next);
    }
    end_starting(p);
    arcp_buf_fini(&p->input);
    arcp__served_job_free(p->job);
    arcp__agent_process_free(p->process);
    arcp__free(p);
    launch_next(queue);
}

void arcp__worker_program_write(program *p, arcp_span line)
{
    if (p->options.is_plain) {
        return;
    }
    if (p->job != NULL) {
        arcp__served_job_write(p->job, line);
        return;
    }
    if (p->state != PROGRAM_WAITING && !p->is_leasing) {
        if (p->process != NULL) {
            write_line(p, line);
        }
        return;
    }
    arcp_buf_append_byte(&p->input, '\n');
    arcp_buf_append(&p->input, line);
    if (p->input.failed && p->state == PROGRAM_WAITING) {
        /* With a process, on_leased sees it. */
        abandon(p, "out of memory for lines to the agent");
    }
}

void arcp__worker_program_cancel(program *p, arcp_span line)
{
    const bool waits =
        p->state == PROGRAM_WAITING || (p->job != NULL && arcp__served_job_waits(p->job));
    if (p->options.is_plain || waits) {
        arcp__worker_program_kill(p, false, 0);
    } else {
        arcp__worker_program_write(p, line);
    }
}

void arcp__worker_program_kill(program *p, bool at_once, uint64_t grace_ms)
{
    if (p->options.served != NULL) {
        stop_served(p, grace_ms);
    } else if (p->state == PROGRAM_WAITING) {
        abandon(p, STOPPED_EARLY);
    } else if (p->process != NULL && at_once) {
        arcp__agent_process_kill(p->process);
    } else if (p->process != NULL) {
        arcp__agent_process_terminate(p->process);
    }
}

void arcp__worker_program_read(const program *p, bool reads)
{
    if (p->job != NULL) {
        arcp__served_job_pause(p->job, !reads);
    } else if (p->process != NULL) {
        arcp__agent_process_pause(p->process, !reads);
    }
}

arcp__agent_process *arcp__worker_program_process(const program *p)
{
    return p->process;
}

void *arcp__worker_program_user(const program *p)
{
    return p->options.user;
}

/* ---- what is shown of it ---- */

arcp__worker_program_usage arcp__worker_program_use(program *p, int64_t now_mono_ns)
{
    arcp__proc_usage usage;
    if (p->job != NULL) { /* the process is used by other jobs, too */
        return (arcp__worker_program_usage){.pid = (uint64_t)arcp__served_job_pid(p->job)};
    }
    if (p->process == NULL || p->state == PROGRAM_STARTING) {
        return (arcp__worker_program_usage){0};
    }
    if (p->usage_mono_ns == 0 || now_mono_ns - p->usage_mono_ns >= ARCP_NS_PER_SEC) {
        const int pid = (int)arcp__agent_process_pid(p->process);
        p->usage_mono_ns = now_mono_ns;
        p->usage = (arcp__worker_program_usage){0};
        if (pid > 0 && arcp__proc_usage_read(pid, &usage)) {
            p->usage =
                (arcp__worker_program_usage){(uint64_t)pid, usage.cpu_ms, usage.memory_bytes};
        }
    }
    return p->usage;
}

static void dump(const program *p, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "kind", "program");
    arcp__put_cstr(&writer, "job", p->options.job);
    if (p->process != NULL && p->state != PROGRAM_STARTING) {
        arcp__put_i64(&writer, "pid", arcp__agent_process_pid(p->process));
    } else if (p->job != NULL && arcp__served_job_runs(p->job)) {
        arcp__put_i64(&writer, "pid", arcp__served_job_pid(p->job));
    }
    arcp__put_array(&writer, "waits_for");
    if (p->state == PROGRAM_WAITING) {
        arcp_json_write_cstr(&writer, "its turn: programs are started one after the other");
    } else if (p->job != NULL && arcp__served_job_waits(p->job)) {
        arcp_json_write_cstr(&writer, "a served process: none may be started now");
    } else if (p->job != NULL && !arcp__served_job_runs(p->job)) {
        arcp_json_write_cstr(&writer, "the start of its served process");
    } else if (p->state == PROGRAM_STARTING) {
        arcp_json_write_cstr(&writer, "the start of its program");
    } else if (p->is_leasing) {
        arcp_json_write_cstr(&writer, "its lease in the sandbox of its program");
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

void arcp__worker_programs_dump(const arcp__worker_queue *queue, size_t lines_max, arcp_buf *out)
{
    const program *lists[] = {queue->waiting, queue->programs};
    size_t lines = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const program *p = lists[i]; p != NULL && lines < lines_max; p = p->next) {
            dump(p, out);
            lines++;
        }
    }
}
