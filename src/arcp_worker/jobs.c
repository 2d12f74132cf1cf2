#include "arcp_worker/jobs.h"

#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "gateway/gateway_program.h"
#include "hosting/hosted_job.h"
#include "hosting/served_agent.h"
#include "json/json_put.h"

/* The longest line that a program may write, until the runtime has sent its own limit. */
#define LINE_BYTES ((size_t)4194304)

struct arcp__hosted_program {
    arcp__hosted_program *prev, *next;
    arcp__hosted_jobs *jobs;
    arcp__worker_job *job; /* of the core */
    arcp__worker_program *program;
    arcp__known_agent *agent;
    arcp__arena arena; /* of the row */
    arcp_buf own_row;  /* its text, of a worker with agents of its own; secret */
    arcp__start_row row;
    arcp__job_plan *plan;      /* owned; NULL: not confined, or its process is served */
    arcp_authority *authority; /* of its lease, without counters; NULL: not confined */
    arcp__hosted_job hosted;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS]; /* secret */
    unsigned gateways;                                     /* its gateways, as bits */
    arcp__relay_job *relayed; /* a reference: of the calls from its sandbox; NULL: none */
    bool is_unread;           /* as the core wishes */
    /* To be reported to the core, or done outside of its calls. */
    bool has_started, has_failed, is_deaf, is_revoked;
    arcp__worker_refusal refusal; /* it has failed */
    char why[256];
};

/* ---- reports to the core ---- */

static uint64_t pid_of(const arcp__hosted_program *hosted)
{
    const arcp__agent_process *process = arcp__worker_program_process(hosted->program);
    return process != NULL ? (uint64_t)arcp__agent_process_pid(process)
                           : arcp__worker_program_use(hosted->program, 0).pid;
}

/* Reports what came before. */
static void settle(arcp__hosted_program *hosted)
{
    arcp__worker_core *core = hosted->jobs->core;
    if (hosted->is_deaf) {
        hosted->is_deaf = false;
        arcp__worker_core_log(core, hosted->job,
                              ARCP_SPAN_LITERAL("agent killed: it does not read its input"));
    }
    if (hosted->has_started) {
        hosted->has_started = false;
        arcp__worker_core_started(core, hosted->job, pid_of(hosted));
    }
}

static void on_report(arcp__task *task)
{
    arcp__hosted_jobs *jobs =
        (arcp__hosted_jobs *)((char *)task - offsetof(arcp__hosted_jobs, report));
    arcp__hosted_program *hosted = NULL;
    arcp__hosted_program *next = NULL;
    DL_FOREACH_SAFE (jobs->first, hosted, next) {
        settle(hosted);
        if (hosted->is_revoked) {
            hosted->is_revoked = false;
            arcp__hosted_job_revoke(&hosted->hosted);
        }
        if (hosted->has_failed) { /* which frees it */
            arcp__worker_core_refuse(jobs->core, hosted->job, hosted->refusal,
                                     arcp_span_cstr(hosted->why));
        }
    }
    jobs->changed(jobs->user);
}

static void report_later(const arcp__hosted_program *hosted)
{
    arcp__task_post(hosted->jobs->share, &hosted->jobs->report);
}

/* ---- what a program does ---- */

static arcp_status begin(void *user, const arcp__agent_process_callbacks *callbacks,
                         arcp__worker_begun *out, arcp_error *err)
{
    arcp__hosted_program *hosted = user;
    arcp__environment environment = {0};
    arcp_buf clients = arcp_buf_secret_init();
    arcp__hosted_start start = {
        .cwd = hosted->row.cwd.data, .owns_cwd = hosted->row.owns_cwd, .environment = &environment};
    if (hosted->agent->agent.served != NULL) {
        return ARCP_OK;
    }
    arcp__environment_pass(&environment, hosted->row.env);
    arcp__gateway_set_environment(hosted->endpoints, &environment);
    arcp__gateway_write_clients(hosted->endpoints, &clients, &start.file_name, &start.file_text);
    environment.failed = environment.failed || clients.failed;
    const arcp_status status =
        arcp__hosted_job_begin(&hosted->hosted, &start, callbacks, &out->is_warm, &out->lease, err);
    out->process = hosted->hosted.process;
    arcp__environment_fini(&environment);
    arcp_buf_fini(&clients);
    return status;
}

static void fill_start(void *user, arcp_span line, arcp_buf *out)
{
    const arcp__hosted_program *hosted = user;
    if (hosted->gateways == 0) {
        arcp_buf_append(out, line);
    } else {
        arcp__gateway_write_start(hosted->endpoints, line, out);
    }
}

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__hosted_program *hosted = user;
    hosted->has_started = status == ARCP_OK;
    hosted->has_failed = status != ARCP_OK;
    hosted->refusal = ARCP__WORKER_CANNOT_START;
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

static void add_item(arcp__hosted_program *hosted, arcp__worker_item what, arcp_span text)
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
    const arcp__hosted_program *hosted = user;
    arcp__hosted_job_note_record(&hosted->hosted, record);
    add_item(user, ARCP__WORKER_ITEM_RECORD, record);
}

static void on_output(void *user, arcp_span bytes)
{
    arcp__hosted_program *hosted = user;
    settle(hosted);
    arcp__worker_core_output(hosted->jobs->core, hosted->job, bytes);
    hosted->jobs->changed(hosted->jobs->user);
}

static void on_log(void *user, arcp_span line)
{
    arcp__hosted_program *hosted = user;
    settle(hosted);
    if (hosted->agent->agent.spec.is_plain) {
        arcp__worker_core_error_line(hosted->jobs->core, hosted->job, line);
    } else {
        arcp__worker_core_log(hosted->jobs->core, hosted->job, line);
    }
    hosted->jobs->changed(hosted->jobs->user);
}

/* As a record of the sandbox, so that it has a number. */
static void on_denied(void *user, const arcp__network_denial *denial)
{
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_object(&writer, "denied");
    arcp__put_cstr(&writer, "layer", "egress");
    arcp__put_cstr(&writer, "capability", "net.fetch");
    arcp__put_cstr(&writer, "code", arcp_status_name(denial->code));
    arcp__put_text(&writer, "target", denial->target);
    arcp__put_text(&writer, "reason", denial->reason);
    arcp__put_u64(&writer, "count", denial->count);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    if (!text.failed) {
        add_item(user, ARCP__WORKER_ITEM_RECORD, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

static void on_listeners(void *user, const int *sockets, size_t count, const char *proxy_secret)
{
    static const arcp__network_gateway ops = {
        .hold = arcp__relay_job_hold, .drop = arcp__relay_job_drop, .serve = arcp__relay_job_serve};
    arcp__hosted_program *hosted = user;
    const arcp__agent_network_options gateway = {
        .gateway = hosted->relayed, .gateway_ops = &ops, .gateways = hosted->gateways};
    arcp__hosted_job_serve_network(&hosted->hosted, sockets, count, proxy_secret, &gateway);
}

static void on_deaf(void *user)
{
    arcp__hosted_program *hosted = user;
    hosted->is_deaf = true;
    report_later(hosted);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__hosted_program *hosted = user;
    arcp__hosted_jobs *jobs = hosted->jobs;
    const arcp__agent_process *process = arcp__worker_program_process(hosted->program);
    const char *step = NULL;
    settle(hosted);
    arcp__hosted_job_note_end(&hosted->hosted);
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
    arcp__worker_core_exited(jobs->core, hosted->job, &exited, stderr_tail);
    jobs->changed(jobs->user);
}

/* Its served process goes on, or has ended with other jobs, too. */
static void on_left(void *user, arcp__served_end how, const arcp_process_exit *end)
{
    arcp__hosted_program *hosted = user;
    arcp__hosted_jobs *jobs = hosted->jobs;
    arcp__worker_exited exited = {.is_known = true, .is_shared = how == ARCP__SERVED_EXITED};
    if (exited.is_shared) {
        exited.by_signal = end->by_signal;
        exited.is_known = end->is_known;
        exited.code = (uint64_t)end->code;
    }
    settle(hosted);
    arcp__worker_core_exited(jobs->core, hosted->job, &exited, arcp_span_make(NULL, 0));
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
    .left = on_left,
};

/* ---- what the core decides ---- */

/* The lease of the line job.start. */
static arcp_status read_lease(arcp_span line, arcp_lease **out, arcp_error *err)
{
    const arcp_json_limits json_limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_lease_limits limits = arcp_lease_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    /* The runtime has checked them by its own limits. */
    limits.patterns_max = limits.bytes_max = limits.pattern_bytes_max =
        limits.pattern_wildcards_max = SIZE_MAX;
    arcp_status status = arcp_json_scan(&json, line, &json_limits, err);
    if (status == ARCP_OK) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        status = arcp_lease_from_json(
            &json, arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("lease")),
            arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("lease_constraints")), &limits, out,
            err);
    }
    arcp__json_fini(&json);
    return status;
}

static arcp_status check_plan(const arcp__sandbox_plan *plan, arcp_error *err)
{
    if (plan->refusal == ARCP__SANDBOX_REFUSAL_NONE) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_AGENT_NOT_AVAILABLE,
                          plan->refusal == ARCP__SANDBOX_REFUSAL_LINE
                              ? "the worker's machine enforces a line of the lease less exactly "
                                "than enforce.min says"
                              : "the worker's machine cannot confine agents (arcp doctor)");
}

/* The plan of its sandbox, and the authority of its network. */
static arcp_status confine(arcp__hosted_program *hosted, arcp_span line, bool is_cold,
                           arcp_error *err)
{
    arcp__process_agent *agent = &hosted->agent->agent;
    arcp_authority_options options = arcp_authority_options_init();
    arcp__plan_request request = {.job_id = arcp_span_cstr(arcp__worker_job_id(hosted->job)),
                                  .cwd = hosted->row.cwd,
                                  .endpoint = hosted->row.endpoint,
                                  .is_cold = is_cold};
    arcp_lease *lease = NULL;
    hosted->plan = arcp__alloc(sizeof *hosted->plan);
    if (hosted->plan == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    hosted->plan->text = arcp_buf_init();
    arcp_status status = read_lease(line, &lease, err);
    if (status == ARCP_OK) {
        request.lease = lease;
        arcp__confinement_find_command(agent);
        status = arcp__confinement_compile(hosted->jobs->agents.hosting, agent, &request, false,
                                           hosted->plan, err);
    }
    if (status == ARCP_OK) {
        status = check_plan(hosted->plan->plan, err);
    }
    if (status == ARCP_OK) {
        options.now = arcp__clock_now();
        options.cwd = hosted->row.cwd;
        status = arcp_authority_new(lease, &options, &hosted->authority, err);
    }
    arcp_lease_unref(lease);
    return status;
}

static arcp_status write_own_row(arcp__hosted_program *hosted, const arcp__worker_message *order,
                                 arcp_error *err)
{
    arcp__hosted_jobs *jobs = hosted->jobs;
    const arcp__own_job job = {.order = order,
                               .jobs =
                                   arcp__process_table_directory(jobs->agents.hosting->processes),
                               .terms = &jobs->terms};
    if (jobs->config == NULL) {
        return ARCP_OK;
    }
    jobs->terms.cancel_grace_ms = order->start.cancel_grace_ms;
    jobs->terms.outlasts_expiry = order->start.outlasts_expiry;
    jobs->terms.outlasts_budget = order->start.outlasts_budget;
    jobs->terms.gateways = (unsigned)order->start.gateways;
    return arcp__worker_config_write_row(jobs->config, &job, &hosted->own_row, err);
}

/* The gateways that the runtime offers. A call from a sandbox of several jobs has no job. */
static arcp_status take_gateways(arcp__hosted_program *hosted, const arcp__worker_start *start,
                                 arcp_error *err)
{
    arcp__hosted_jobs *jobs = hosted->jobs;
    const arcp__process_agent *agent = &hosted->agent->agent;
    const bool is_confined = arcp__process_agent_is_confined(agent);
    arcp_status status = ARCP_OK;
    const char *url = NULL;
    if (start->gateways == 0 || start->gateway_key.size == 0 || agent->without_gateways ||
        (is_confined && agent->served != NULL)) {
        return ARCP_OK;
    }
    arcp__hosted_jobs_set_gateways(jobs, start->gateways_url);
    if (!is_confined) {
        status = arcp__relay_listen(jobs->relay, &url, err);
    } else if ((hosted->relayed = arcp__relay_job_new(jobs->relay, start->gateway_key)) == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        hosted->gateways = (unsigned)start->gateways & ((1U << ARCP__GATEWAY_KINDS) - 1);
        arcp__gateway_set_endpoints(hosted->endpoints, hosted->gateways, url, start->gateway_key);
    }
    return status;
}

static arcp_status open_job(arcp__hosted_program *hosted, const arcp__worker_message *order,
                            arcp_error *err)
{
    arcp__hosted_jobs *jobs = hosted->jobs;
    arcp_status status = write_own_row(hosted, order, err);
    if (status == ARCP_OK) {
        status = arcp__start_row_read(jobs->config == NULL ? order->start.row
                                                           : arcp_buf_span(&hosted->own_row),
                                      &hosted->arena, &hosted->row, err);
    }
    if (status == ARCP_OK && hosted->row.env == NULL) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST, "row.job is missing");
    }
    if (status == ARCP_OK) {
        status = arcp__known_agents_take(&jobs->agents, &hosted->row, &hosted->agent, err);
    }
    if (status == ARCP_OK) {
        status = take_gateways(hosted, &order->start, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__process_agent *agent = &hosted->agent->agent;
    if (arcp__process_agent_is_confined(agent) && agent->served == NULL) {
        status = confine(hosted, order->body, order->start.is_cold, err);
    }
    hosted->hosted = (arcp__hosted_job){.agent = agent,
                                        .plan = hosted->plan,
                                        .authority = hosted->authority,
                                        .denied = on_denied,
                                        .user = hosted};
    const arcp__worker_program_options options = {
        .job = arcp__worker_job_id(hosted->job),
        .owner = jobs,
        .is_plain = agent->spec.is_plain,
        .served = arcp__served_agent_processes(agent->served),
        .events = &events,
        .user = hosted,
    };
    if (status == ARCP_OK) {
        hosted->program = arcp__worker_program_new(&jobs->queue, &options);
        status = hosted->program == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                         : ARCP_OK;
    }
    return status;
}

static void free_job(arcp__hosted_program *hosted)
{
    arcp__hosted_job_fini(&hosted->hosted);
    if (hosted->program != NULL) {
        arcp__worker_program_forget(hosted->program);
    }
    arcp__job_plan_free(hosted->plan);
    arcp_authority_unref(hosted->authority);
    if (hosted->agent != NULL) {
        arcp__known_agents_release(&hosted->jobs->agents, hosted->agent);
    }
    arcp__relay_job_drop(hosted->relayed);
    arcp_wipe(hosted->endpoints, sizeof hosted->endpoints);
    arcp__arena_fini(&hosted->arena);
    arcp_buf_fini(&hosted->own_row);
    arcp__free(hosted);
}

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    arcp__hosted_jobs *jobs = user;
    arcp__hosted_program *hosted = arcp__alloc(sizeof *hosted);
    arcp_error error = {0};
    if (hosted == NULL) {
        (void)snprintf(message, 256, "out of memory");
        return NULL;
    }
    *hosted = (arcp__hosted_program){.jobs = jobs, .job = job, .own_row = arcp_buf_secret_init()};
    if (open_job(hosted, order, &error) != ARCP_OK) {
        (void)snprintf(message, 256, "%s", error.message);
        free_job(hosted);
        return NULL;
    }
    DL_APPEND(jobs->first, hosted);
    arcp__worker_program_start(hosted->program, arcp__hosted_job_has_warm(&hosted->hosted),
                               order->body);
    return hosted;
}

static void write_line(void *user, void *program, arcp_span line)
{
    arcp__worker_program_write(((arcp__hosted_program *)program)->program, line);
}

/* While the runtime is away it waits for no last line: a served process gets no time then. */
static void kill_program(void *user, void *program, bool at_once)
{
    arcp__hosted_jobs *jobs = user;
    const bool is_away = !arcp__worker_core_figures(jobs->core).is_linked;
    arcp__worker_program_kill(((arcp__hosted_program *)program)->program, at_once,
                              is_away ? 0 : jobs->agents.hosting->cancel_grace_ms);
}

static void read_program(void *user, void *program, bool reads)
{
    arcp__hosted_program *hosted = program;
    hosted->is_unread = !reads;
    arcp__worker_program_read(hosted->program, reads);
}

static void revoke_lease(void *user, void *program, arcp_span code)
{
    arcp__hosted_program *hosted = program;
    hosted->is_revoked = true;
    report_later(hosted);
}

static void warm(void *user, arcp_span rows)
{
    arcp__hosted_jobs *jobs = user;
    arcp__known_agents_list(&jobs->agents, rows);
}

static void forget(void *user, void *program)
{
    arcp__hosted_program *hosted = program;
    DL_DELETE(hosted->jobs->first, hosted);
    free_job(hosted);
}

static void use(void *user, void *program, arcp__worker_usage_row *out)
{
    const arcp__worker_program_usage usage = arcp__worker_program_use(
        ((arcp__hosted_program *)program)->program, arcp__clock_now().mono_ns);
    out->pid = usage.pid;
    out->cpu_ms = usage.cpu_ms;
    out->memory_bytes = usage.memory_bytes;
}

/* ---- all of them ---- */

void arcp__hosted_jobs_set_gateways(arcp__hosted_jobs *jobs, arcp_span url)
{
    const char *ca_file = jobs->config == NULL ? NULL : jobs->config->ca_file;
    arcp_error error = {0};
    if (arcp__relay_set_target(jobs->relay, url, ca_file, &error) != ARCP_OK) {
        arcp__hosting_log(jobs->agents.hosting, ARCP__HOSTING_ERROR, "gateways: %s", error.message);
        (void)!arcp__relay_set_target(jobs->relay, arcp_span_make("", 0), NULL, NULL);
    }
}
void arcp__hosted_jobs_init(arcp__hosted_jobs *jobs)
{
    jobs->terms = (arcp__worker_terms){.files = &jobs->files, .line_bytes = LINE_BYTES};
    jobs->report.run = on_report;
}

arcp_status arcp__hosted_jobs_list_own(arcp__hosted_jobs *jobs, arcp_error *err)
{
    arcp_buf host = arcp_buf_init();
    arcp_buf agents = arcp_buf_secret_init();
    arcp__worker_config_write_host(jobs->config, &jobs->terms, &host);
    arcp_status status =
        host.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                    : arcp__known_agents_set_host(&jobs->agents, arcp_buf_span(&host), err);
    if (status == ARCP_OK) {
        status = arcp__worker_config_list(jobs->config, &jobs->terms, &agents, err);
    }
    if (status == ARCP_OK) {
        arcp__known_agents_list(&jobs->agents, arcp_buf_span(&agents));
    }
    arcp_buf_fini(&host);
    arcp_buf_fini(&agents);
    return status;
}

arcp__worker_programs arcp__hosted_jobs_programs(arcp__hosted_jobs *jobs)
{
    return (arcp__worker_programs){
        .start = start,
        .write = write_line,
        .kill = kill_program,
        .read = read_program,
        .revoke = revoke_lease,
        .warm = jobs->config == NULL ? warm : NULL,
        .forget = forget,
        .user = jobs,
        .use = use,
    };
}

void arcp__hosted_jobs_cancel(arcp__hosted_jobs *jobs, uint64_t grace_ms)
{
    char line[128];
    arcp__hosted_program *hosted = NULL;
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
    arcp__known_agents_fini(&jobs->agents);
}
