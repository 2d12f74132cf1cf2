/* Process agents: one process per job, started for the job or taken from a pool of warm processes.
 *
 * Starting a program takes about a millisecond, on a thread that starts one after the other. Jobs
 * are queued for it. Each round of the queue has one job of each principal, so that a principal
 * with many jobs delays the others by only one start per job. Lines for a job in the queue are kept
 * for its program. */
#include <assert.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/hash.h"
#include "runtime/agent_process_job.h"
#include "json/json_put.h"

typedef arcp__process_job process_job;

/* ---- its network ---- */

static void on_denied(void *user, const arcp__denial *denial)
{
    const process_job *pj = user;
    arcp__engine_agent_denied(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, denial);
}

static void on_network_failed(void *user, const char *why)
{
    const process_job *pj = user;
    arcp__agent_process_fail_network(pj->process, why);
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    process_job *pj = user;
    arcp_runtime *runtime = pj->runtime;
    arcp__agent_network_options options = {
        .sockets = sockets,
        .socket_count = count,
        .proxy_secret = proxy_secret,
        .events = {.denied = on_denied, .failed = on_network_failed, .user = pj},
        .ca = pj->ca};
    arcp_error err = {0};
    if (pj->is_cut_off || arcp__job_has_ended(pj->job)) {
        for (size_t i = 0; i < count; i++) {
            arcp__close(sockets[i]);
        }
        return;
    }
    pj->ca = NULL;
    arcp__agent_gateway_connect(pj->gateway, &options);
    if (arcp__confinement_open_network(runtime, pj->job, &options, &pj->network, &err) != ARCP_OK) {
        arcp__agent_process_fail_network(pj->process, err.message);
    }
}

/* After what it was denied until now was reported. */
static void cut_off(process_job *pj)
{
    pj->is_cut_off = true;
    if (pj->network != NULL) {
        arcp__agent_network_take(pj->runtime->network);
        arcp__agent_network_close(pj->network);
        pj->network = NULL;
    }
}

static void cut_off_if_ended(process_job *pj)
{
    if (pj->network != NULL && arcp__job_has_ended(pj->job)) {
        cut_off(pj);
    }
}

static void revoke_lease(void *agent, arcp_status code)
{
    process_job *pj = agent;
    cut_off(pj); /* the gate says why; a connection does not */
    if (pj->process != NULL) {
        arcp__agent_process_revoke(pj->process);
    }
    arcp__agent_gateway_revoke(pj->gateway, code);
}

/* ---- output of the process ---- */

static void on_line(void *user, arcp_span line)
{
    process_job *pj = user;
    arcp__engine_agent_line(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, line);
    (void)arcp__runtime_feed_store(pj->runtime);
    cut_off_if_ended(pj);
}

static void on_line_refused(void *user, arcp_status why)
{
    const process_job *pj = user;
    if (why != ARCP_E_LIMIT) {
        arcp__runtime_log(pj->runtime, pj->job, ARCP_LOG_ERROR,
                          "out of memory for a line of the agent");
    }
    arcp__engine_agent_line_too_long(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job);
}

static void on_output(void *user, arcp_span bytes)
{
    const process_job *pj = user;
    arcp__engine_agent_output(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, bytes);
}

static void on_log(void *user, arcp_span line)
{
    process_job *pj = user;
    arcp__process_job_keep_stderr(pj, line);
    if (pj->agent->spec.is_plain) {
        arcp__engine_agent_log(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, "info",
                               line);
        return;
    }
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(pj->runtime, pj->job, ARCP_LOG_INFO, "%.*s", (int)shown.size, shown.data);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    process_job *pj = user;
    cut_off(pj);
    arcp__runtime_log(
        pj->runtime, pj->job, ARCP_LOG_DEBUG,
        "process %d ended with %s %d; %.3f s of CPU time, %.1f MiB",
        (int)arcp__agent_process_pid(pj->process), end->by_signal ? "signal" : "status", end->code,
        (double)(end->user_us + end->system_us) / 1e6, (double)end->memory_bytes / 1048576.0);
    const char *step = NULL;
    const arcp_span failure = arcp__agent_process_failure(pj->process, &step);
    arcp__confinement_failed(pj->runtime, step);
    arcp__agent_exit exit = {
        /* An unknown exit status is a failure. */
        .by_signal = end->by_signal,
        .code = end->is_known ? end->code : 255,
        .stderr_tail = pj->agent->stderr_in_errors ? stderr_tail : arcp_span_make(NULL, 0),
        .failed_step = arcp_span_cstr(step),
        .failure = failure,
        .has_run_out = arcp__agent_process_has_run_out(pj->process),
        .stderr_kept = arcp_buf_span(&pj->stderr_kept),
        .shows_stderr = pj->agent->stderr_in_errors,
    };
    arcp__engine_agent_exited(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, &exit);
}

static void on_record(void *user, arcp_span record)
{
    const process_job *pj = user;
    if (arcp__sandbox_record_type(record) == ARCP__SANDBOX_RECORD_RUNNING) {
        arcp__confinement_started(pj->runtime, pj->level, pj->requested_mono_ns);
    }
    arcp__confinement_record(pj->runtime, pj->job, record);
}

/* ---- starting ---- */

static void on_started(void *user, arcp_status status, const char *why);
static void on_leased(void *user);

/* Whether a process of the agent's pool would do for the job. */
static bool can_be_warm(const process_job *pj, const arcp__job_plan *plan)
{
    return pj->agent->pool != NULL && (plan == NULL || arcp__job_plan_is_late(plan));
}

/* Tells its sandbox the lease, if that has been made before it was known. */
static arcp_status give_lease(process_job *pj, const arcp__job_plan *plan, arcp_error *err)
{
    arcp__agent_process_take_listeners(pj->process);
    if (!arcp__job_plan_is_late(plan)) {
        return ARCP_OK;
    }
    pj->is_leasing = true;
    return arcp__agent_process_lease(pj->process, arcp_buf_span(&plan->text), err);
}

static arcp__agent_process *take_warm(const process_job *pj, const arcp__job_plan *plan)
{
    if (!can_be_warm(pj, plan)) {
        return NULL;
    }
    return plan == NULL ? arcp__process_pool_take(pj->agent->pool)
                        : arcp__warm_take(pj->agent, plan);
}

static arcp_status begin(process_job *pj, arcp_error *err)
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
        .user = pj,
    };
    const arcp__job_plan *plan = NULL;
    const arcp__process_agent *agent = pj->agent;
    const char *cwd = pj->job->live->cwd;
    arcp_status status = arcp__process_job_plan(pj, &plan, err);
    if (status == ARCP_OK && !agent->without_gateways) {
        status = arcp__agent_gateway_open(pj->runtime, pj->job, plan != NULL, &pj->gateway, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    pj->process = take_warm(pj, plan);
    if (pj->process == NULL) {
        status = arcp__process_job_start_program(pj, cwd, plan, &callbacks, err);
    } else if (pj->job->live->owns_cwd) {
        /* A warm process already runs in its directory; rename that to the job's. */
        status = arcp__agent_process_move_directory(pj->process, cwd, err);
    }
    if (pj->process != NULL) {
        arcp__agent_process_set_callbacks(pj->process, &callbacks);
        arcp__agent_process_set_job(pj->process, arcp_span_cstr(pj->job->id));
        status = status == ARCP_OK ? give_lease(pj, plan, err) : status;
    }
    return status;
}

/* Kills a program that leaves more than the limit of its input unread. */
static void write_line(const process_job *pj, arcp_span line)
{
    if (arcp__agent_process_write(pj->process, line) != ARCP_OK) {
        arcp__runtime_log(pj->runtime, pj->job, ARCP_LOG_WARN,
                          "agent killed: it does not read its input");
        arcp__agent_process_kill(pj->process);
    }
}

/* Writes job.start, with the endpoints of its gateways. */
static void write_start(const process_job *pj, arcp_span line)
{
    arcp_buf text = arcp_buf_secret_init();
    arcp__agent_gateway_write_start(pj->gateway, line, &text);
    if (text.failed) {
        arcp__agent_process_kill(pj->process); /* it would wait for the line */
    } else {
        write_line(pj, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

static void on_leased(void *user)
{
    process_job *pj = user;
    pj->is_leasing = false;
    if (pj->start.failed) {
        arcp__agent_process_kill(pj->process); /* it would wait for the line */
    } else {
        write_start(pj, arcp_buf_span(&pj->start));
    }
    arcp_buf_fini(&pj->start);
}

static void report_start(const process_job *pj, arcp_status status, arcp_span message)
{
    arcp__engine_agent_started(pj->runtime->engine, arcp__input_now(pj->runtime), pj->job, status,
                               message);
}

static void report_failure(process_job *pj, arcp_status status, const char *why)
{
    arcp__runtime_log(pj->runtime, pj->job, ARCP_LOG_ERROR, "%s", why);
    report_start(pj, status,
                 pj->agent->stderr_in_errors
                     ? arcp_span_cstr(why)
                     : ARCP_SPAN_LITERAL("the agent's program cannot be started"));
}

static void launch(process_job *pj, arcp_span line)
{
    arcp_error error = {0};
    const arcp_status status = begin(pj, &error);
    if (status != ARCP_OK) {
        report_failure(pj, status, error.message);
        return;
    }
    assert(pj->process != NULL);
    arcp__agent_process_pause(pj->process, false);
    if (pj->is_leasing) {
        if (line.data != pj->start.data) {
            arcp_buf_append(&pj->start, line);
        }
    } else if (pj->agent->spec.is_plain) {
        arcp__agent_plain_write(pj->process, line);
    } else {
        write_start(pj, line);
    }
    if (!pj->is_starting) {
        report_start(pj, ARCP_OK, arcp_span_make(NULL, 0));
    }
}

/* ---- the queue ---- */

static void dequeue(process_job *pj)
{
    pj->is_waiting = false;
    DL_DELETE2(pj->runtime->waiting_process_jobs, pj, previous, next);
    DL_APPEND2(pj->runtime->process_jobs, pj, previous, next);
}

/* Requests one start at a time, because a job that is queued later may come first. */
static void launch_next(arcp_runtime *runtime)
{
    while (runtime->waiting_process_jobs != NULL && runtime->starting_programs == 0) {
        process_job *pj = runtime->waiting_process_jobs;
        runtime->launch_round = pj->round;
        dequeue(pj);
        launch(pj, arcp_buf_span(&pj->start));
        if (!pj->is_leasing) {
            arcp_buf_fini(&pj->start);
        }
    }
}

static void end_starting(process_job *pj)
{
    if (pj->is_starting) {
        pj->is_starting = false;
        pj->runtime->starting_programs--;
    }
}

static void on_started(void *user, arcp_status status, const char *why)
{
    process_job *pj = user;
    arcp_runtime *runtime = pj->runtime;
    end_starting(pj);
    if (status == ARCP_OK) {
        report_start(pj, ARCP_OK, arcp_span_make(NULL, 0));
    } else {
        report_failure(pj, status, why);
    }
    launch_next(runtime);
}

/* The job before it in the queue; NULL for the first. */
static process_job *previous_in_queue(const process_job *pj)
{
    return pj == pj->runtime->waiting_process_jobs ? NULL : pj->previous;
}

static void enqueue(process_job *pj)
{
    arcp_runtime *runtime = pj->runtime;
    const process_job *first = runtime->waiting_process_jobs;
    process_job *before = first == NULL ? NULL : first->previous; /* the last */
    const arcp__principal *principal = pj->job->principal;
    pj->is_waiting = true;
    /* The round after that of the principal's last job in the queue, or else the next round. */
    pj->round = runtime->launch_round + 1;
    for (const process_job *other = before; other != NULL; other = previous_in_queue(other)) {
        if (other->job->principal == principal) {
            pj->round = other->round + 1;
            break;
        }
    }
    while (before != NULL && before->round > pj->round) {
        before = previous_in_queue(before);
    }
    DL_APPEND_ELEM2(runtime->waiting_process_jobs, before, pj, previous, next);
    launch_next(runtime);
}

/* Reports that the program of a queued job will not be started. */
static void abandon_start(process_job *pj, arcp_span why)
{
    dequeue(pj);
    report_start(pj, ARCP_E_INTERNAL_ERROR, why);
}

static void start(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span line)
{
    process_job *pj = arcp__alloc(sizeof *pj);
    if (pj == NULL) {
        arcp__runtime_log(runtime, job, ARCP_LOG_ERROR, "out of memory");
        arcp__engine_agent_started(runtime->engine, arcp__input_now(runtime), job, ARCP_E_NO_MEMORY,
                                   ARCP_SPAN_LITERAL("the agent's program cannot be started"));
        return;
    }
    *pj = (process_job){
        .runtime = runtime, .agent = &entry->process, .job = job, .start = arcp_buf_secret_init()};
    job->live->user = pj;
    const arcp__job_plan *plan = NULL;
    const bool has_warm = arcp__process_job_plan(pj, &plan, NULL) == ARCP_OK &&
                          can_be_warm(pj, plan) && arcp__process_pool_waiting(pj->agent->pool) != 0;
    if (!has_warm) {
        arcp_buf_append(&pj->start, line);
    }
    if (has_warm || pj->start.failed) {
        DL_APPEND2(runtime->process_jobs, pj, previous, next);
        launch(pj, line);
    } else {
        enqueue(pj);
    }
}

/* ---- calls of the engine ---- */

static void send_line(void *agent, arcp_span line)
{
    process_job *pj = agent;
    if (pj->agent->spec.is_plain) {
        return;
    }
    if (!pj->is_waiting && !pj->is_leasing) {
        if (pj->process != NULL) {
            write_line(pj, line);
        }
        return;
    }
    arcp_buf_append_byte(&pj->start, '\n');
    arcp_buf_append(&pj->start, line);
    if (pj->start.failed && pj->is_waiting) { /* with a program, on_leased sees it */
        abandon_start(pj, ARCP_SPAN_LITERAL("out of memory for lines to the agent"));
    }
}

static void kill_process(void *agent, bool at_once)
{
    process_job *pj = agent;
    cut_off_if_ended(pj);
    if (pj->is_waiting) {
        abandon_start(pj, ARCP_SPAN_LITERAL("the job was stopped before its program was started"));
    } else if (pj->process != NULL && at_once) {
        arcp__agent_process_kill(pj->process);
    } else if (pj->process != NULL) {
        arcp__agent_process_terminate(pj->process);
    }
}

static void hold_stored(void *agent, arcp_span call_id)
{
    arcp__agent_gateway_hold_stored(((process_job *)agent)->gateway, call_id);
}

static void settle(void *agent, const arcp__settle_sink *sink)
{
    arcp__agent_gateway_settle(((process_job *)agent)->gateway, sink);
}

static void cancel(void *agent, arcp_span line)
{
    process_job *pj = agent;
    cut_off_if_ended(pj);
    arcp__agent_gateway_cancel(pj->gateway);
    /* A plain program does not read lines, so it gets a signal. */
    if (pj->agent->spec.is_plain || pj->is_waiting) {
        kill_process(agent, false);
    } else {
        send_line(agent, line);
    }
}

static void pause_process(void *agent, bool paused)
{
    const process_job *pj = agent;
    if (pj->process != NULL) {
        arcp__agent_process_pause(pj->process, paused);
    }
}

static void forget(void *agent)
{
    process_job *pj = agent;
    if (pj->is_waiting) {
        DL_DELETE2(pj->runtime->waiting_process_jobs, pj, previous, next);
    } else {
        DL_DELETE2(pj->runtime->process_jobs, pj, previous, next);
    }
    end_starting(pj);
    arcp__agent_network_close(pj->network);
    arcp__agent_gateway_release(pj->gateway);
    pj->job->live->user = NULL;
    arcp_buf_fini(&pj->start);
    arcp__process_job_drop_stderr(pj);
    arcp__agent_process_free(pj->process);
    arcp_runtime *runtime = pj->runtime;
    arcp__tls_ca_free(pj->ca);
    arcp__free(pj);
    launch_next(runtime);
}

/* ---- the dump for operators ---- */

static void dump(const process_job *pj, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "kind", "program");
    arcp__put_cstr(&writer, "job", pj->job->id);
    if (pj->process != NULL && !pj->is_starting) {
        arcp__put_i64(&writer, "pid", arcp__agent_process_pid(pj->process));
    }
    arcp__put_array(&writer, "waits_for");
    if (pj->is_waiting) {
        arcp_json_write_cstr(&writer, "its turn: programs are started one after the other");
    } else if (pj->is_starting) {
        arcp_json_write_cstr(&writer, "the start of its program");
    } else if (pj->is_leasing) {
        arcp_json_write_cstr(&writer, "its lease in the sandbox of its program");
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

void arcp__runtime_process_jobs_dump(const arcp_runtime *runtime, size_t lines_max, arcp_buf *out)
{
    const process_job *lists[] = {runtime->waiting_process_jobs, runtime->process_jobs};
    size_t lines = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const process_job *pj = lists[i]; pj != NULL && lines < lines_max; pj = pj->next) {
            dump(pj, out);
            lines++;
        }
    }
}

void arcp__runtime_process_jobs_free(arcp_runtime *runtime)
{
    while (runtime->waiting_process_jobs != NULL) {
        forget(runtime->waiting_process_jobs);
    }
    while (runtime->process_jobs != NULL) {
        forget(runtime->process_jobs);
    }
}

const arcp__agent_host_ops arcp__agent_process_host = {
    .start = start,
    .line = send_line,
    .cancel = cancel,
    .kill = kill_process,
    .pause = pause_process,
    .revoke = revoke_lease,
    .hold_stored = hold_stored,
    .settle = settle,
    .usage = arcp__process_job_usage,
    .stderr_tail = arcp__process_job_stderr,
    .forget = forget,
};
