/* The runtime's end of a worker: the jobs of process agents. Their programs are started and fed by
 * worker/worker_program.c, which is called directly, and its sandbox is made by
 * hosting/hosted_job.c; here are its gateways, and what it writes becomes inputs of the engine. */
#include "base/alloc.h"
#include "base/clock.h"
#include "hosting/served_agent.h"
#include "runtime/worker_host_job.h"

typedef arcp__worker_host_job host_job;

/* ---- its network ---- */

static void on_denied(void *user, const arcp__network_denial *denial)
{
    const host_job *hj = user;
    arcp__confinement_denied(hj->runtime, hj->job, denial);
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    host_job *hj = user;
    arcp__agent_network_options gateway = {.gateway = NULL};
    arcp__agent_gateway_connect(hj->gateway, &gateway);
    hj->hosted.is_cut_off = hj->hosted.is_cut_off || arcp__job_has_ended(hj->job);
    arcp__hosted_job_serve_network(&hj->hosted, sockets, count, proxy_secret, &gateway);
}

static void cut_off_if_ended(host_job *hj)
{
    if (hj->hosted.network != NULL && arcp__job_has_ended(hj->job)) {
        arcp__hosted_job_cut_off(&hj->hosted);
    }
}

static void revoke_lease(void *agent, arcp_status code)
{
    host_job *hj = agent;
    arcp__hosted_job_revoke(&hj->hosted);
    arcp__agent_gateway_revoke(hj->gateway, code);
}

/* ---- output of the process ---- */

static void on_line(void *user, arcp_span line)
{
    host_job *hj = user;
    arcp__engine_agent_line(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, 0, line);
    (void)arcp__shard_feed_store(arcp__shard_of(hj->job));
    cut_off_if_ended(hj);
}

static void on_line_refused(void *user, arcp_status why)
{
    const host_job *hj = user;
    if (why != ARCP_E_LIMIT) {
        arcp__runtime_log(hj->runtime, hj->job, ARCP_LOG_ERROR,
                          "out of memory for a line of the agent");
    }
    arcp__engine_agent_line_too_long(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, 0);
}

static void on_output(void *user, arcp_span bytes)
{
    const host_job *hj = user;
    arcp__engine_agent_output(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, 0, bytes);
}

static void on_log(void *user, arcp_span line)
{
    const host_job *hj = user;
    if (hj->agent->spec.is_plain) {
        arcp__engine_agent_error_line(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, 0,
                                      line, hj->agent->stderr_in_errors);
        return;
    }
    arcp__engine_agent_stderr(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, line,
                              hj->agent->stderr_in_errors);
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__runtime_log(hj->runtime, hj->job, ARCP_LOG_INFO, "%.*s", (int)shown.size, shown.data);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    host_job *hj = user;
    const arcp__agent_process *process = arcp__worker_program_process(hj->program);
    arcp__hosted_job_note_end(&hj->hosted);
    arcp__runtime_log(hj->runtime, hj->job, ARCP_LOG_DEBUG,
                      "process %d ended with %s %d; %.3f s of CPU time, %.1f MiB",
                      (int)arcp__agent_process_pid(process), end->by_signal ? "signal" : "status",
                      end->code, (double)(end->user_us + end->system_us) / 1e6,
                      (double)end->memory_bytes / 1048576.0);
    const char *step = NULL;
    const arcp_span failure = arcp__agent_process_failure(process, &step);
    arcp__agent_exit exit = {
        /* An unknown exit status is a failure. */
        .by_signal = end->by_signal,
        .code = end->is_known ? end->code : 255,
        .stderr_tail = hj->agent->stderr_in_errors ? stderr_tail : arcp_span_make(NULL, 0),
        .failed_step = arcp_span_cstr(step),
        .failure = failure,
        .has_run_out = arcp__agent_process_has_run_out(process),
    };
    arcp__engine_agent_exited(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, &exit);
}

/* Its served process goes on, or has ended with other jobs, too. */
static void on_left(void *user, arcp__served_end how, const arcp_process_exit *end)
{
    const host_job *hj = user;
    arcp__agent_exit exit = {.is_shared = how == ARCP__SERVED_EXITED};
    if (exit.is_shared) {
        exit.by_signal = end->by_signal;
        exit.code = end->is_known ? end->code : 255;
    }
    arcp__engine_agent_exited(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, &exit);
}

static void on_record(void *user, arcp_span record)
{
    const host_job *hj = user;
    arcp__hosted_job_note_record(&hj->hosted, record);
    arcp__confinement_record(hj->runtime, hj->job, 0, record);
}

/* ---- starting ---- */

static arcp_status begin(void *user, const arcp__agent_process_callbacks *callbacks,
                         arcp__worker_begun *out, arcp_error *err)
{
    host_job *hj = user;
    const arcp__job_plan *plan = NULL;
    arcp_status status = arcp__worker_host_plan(hj, &plan, err);
    const bool is_served = hj->agent->served != NULL;
    /* A sandbox that several jobs share does not know whose call to a gateway it is. */
    if (status == ARCP_OK && !hj->agent->without_gateways && !(is_served && plan != NULL)) {
        status = arcp__agent_gateway_open(hj->runtime, hj->job, plan != NULL, &hj->gateway, err);
    }
    return status != ARCP_OK || is_served ? status
                                          : arcp__worker_host_begin(hj, callbacks, out, err);
}

static void fill_start(void *user, arcp_span line, arcp_buf *out)
{
    const host_job *hj = user;
    arcp__agent_gateway_write_start(hj->gateway, line, out);
}

static void on_deaf(void *user)
{
    const host_job *hj = user;
    arcp__runtime_log(hj->runtime, hj->job, ARCP_LOG_WARN,
                      "agent killed: it does not read its input");
}

static void report_start(const host_job *hj, arcp_status status, arcp_span message)
{
    arcp__engine_agent_started(arcp__engine_of(hj->job), arcp__input_of(hj->job), hj->job, status,
                               message);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    const host_job *hj = user;
    arcp_span message = {NULL, 0};
    if (status != ARCP_OK) {
        arcp__runtime_log(hj->runtime, hj->job, ARCP_LOG_ERROR, "%s", why);
        message = hj->agent->stderr_in_errors
                      ? arcp_span_cstr(why)
                      : ARCP_SPAN_LITERAL("the agent's program cannot be started");
    }
    report_start(hj, status, message);
}

static void on_abandoned(void *user, const char *why)
{
    report_start(user, ARCP_E_INTERNAL_ERROR, arcp_span_cstr(why));
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
    .left = on_left,
};

static void start(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span line)
{
    host_job *hj = arcp__alloc(sizeof *hj);
    const arcp__worker_program_options options = {
        .job = job->id,
        .owner = job->principal,
        .is_plain = entry->process.spec.is_plain,
        .served = arcp__served_agent_processes(entry->process.served),
        .events = &events,
        .user = hj,
    };
    arcp__worker_program *program =
        hj == NULL ? NULL : arcp__worker_program_new(&runtime->programs, &options);
    if (program == NULL) {
        arcp__free(hj);
        arcp__runtime_log(runtime, job, ARCP_LOG_ERROR, "out of memory");
        arcp__engine_agent_started(arcp__engine_of(job), arcp__input_of(job), job, ARCP_E_NO_MEMORY,
                                   ARCP_SPAN_LITERAL("the agent's program cannot be started"));
        return;
    }
    *hj = (host_job){.runtime = runtime,
                     .agent = &entry->process,
                     .job = job,
                     .program = program,
                     .hosted = {.agent = &entry->process,
                                .authority = job->live->authority,
                                .denied = on_denied,
                                .user = hj}};
    job->live->user = hj;
    const bool has_warm = arcp__worker_host_plan(hj, &hj->hosted.plan, NULL) == ARCP_OK &&
                          arcp__hosted_job_has_warm(&hj->hosted);
    arcp__worker_program_start(program, has_warm, line);
}

/* ---- calls of the engine ---- */

static void send_line(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    arcp__worker_program_write(((host_job *)agent)->program, line);
}

static void kill_program(void *agent, bool at_once)
{
    host_job *hj = agent;
    cut_off_if_ended(hj);
    const arcp_runtime *runtime = hj->runtime;
    arcp__worker_program_kill(hj->program, at_once,
                              runtime->is_stopping ? 0 : runtime->hosting.cancel_grace_ms);
}

static void hold_stored(void *agent, arcp_span call_id)
{
    arcp__agent_gateway_hold_stored(((host_job *)agent)->gateway, call_id);
}

static void settle(void *agent, const arcp__settle_sink *sink)
{
    arcp__agent_gateway_settle(((host_job *)agent)->gateway, sink);
}

static void cancel(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    host_job *hj = agent;
    cut_off_if_ended(hj);
    arcp__agent_gateway_cancel(hj->gateway);
    arcp__worker_program_cancel(hj->program, line);
}

static void pause_program(void *agent, bool paused)
{
    arcp__worker_program_read(((const host_job *)agent)->program, !paused);
}

static void use(void *agent, arcp__agent_usage *out)
{
    const arcp__worker_program_usage usage =
        arcp__worker_program_use(((host_job *)agent)->program, arcp__clock_now().mono_ns);
    *out = (arcp__agent_usage){usage.pid, usage.cpu_ms, usage.memory_bytes};
}

static void forget(void *agent)
{
    host_job *hj = agent;
    arcp__worker_program *program = hj->program;
    arcp__hosted_job_fini(&hj->hosted);
    arcp__agent_gateway_release(hj->gateway);
    hj->job->live->user = NULL;
    arcp__worker_program_forget(program);
    arcp__free(hj);
}

void arcp__runtime_programs_free(arcp_runtime *runtime)
{
    const arcp__worker_queue *queue = &runtime->programs;
    while (queue->waiting != NULL || queue->programs != NULL) {
        forget(
            arcp__worker_program_user(queue->waiting != NULL ? queue->waiting : queue->programs));
    }
}

const arcp__agent_host_ops arcp__agent_worker_host = {
    .start = start,
    .line = send_line,
    .cancel = cancel,
    .kill = kill_program,
    .pause = pause_program,
    .revoke = revoke_lease,
    .hold_stored = hold_stored,
    .settle = settle,
    .usage = use,
    .forget = forget,
};
