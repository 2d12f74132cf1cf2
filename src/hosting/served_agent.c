#include "hosting/served_agent.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "hosting/agent_row.h"
#include "hosting/confinement.h"

/* In the plan that tells whether a registration has changed. */
#define ANY_PROCESS "served"

struct arcp__served_agent {
    arcp__process_agent *agent;
    arcp__served *processes;
    arcp__process_spec spec;
    arcp_lease *lease;   /* a reference */
    arcp_buf registered; /* all that was registered, as text; secret: it has variables */
    bool is_retired;
    /* Of the process that is being started. */
    arcp__confined_start start;
    arcp__environment environment;
};

/* The sandbox of one process. */
typedef struct process_sandbox {
    arcp__hosting *hosting;
    const char *program;
    arcp__job_plan *plan;
    arcp_authority *authority; /* of its network; a reference */
    arcp__agent_process *process;
    arcp__agent_network_job *network; /* NULL: none, or not yet */
    arcp__tls_ca *ca;                 /* for its network, until that is served; or NULL */
    int64_t requested_mono_ns;
} process_sandbox;

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- for the operator ---- */

static void log_line(void *user, pid_t pid, arcp_span line)
{
    const arcp__served_agent *served = user;
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__hosting_log(served->agent->hosting, ARCP__HOSTING_INFO, "%s[%d]: %.*s",
                      served->spec.argv[0], (int)pid, (int)shown.size,
                      shown.size == 0 ? "" : shown.data);
}

static void report(void *user, bool is_error, const char *text)
{
    const arcp__served_agent *served = user;
    arcp__hosting_log(served->agent->hosting, is_error ? ARCP__HOSTING_ERROR : ARCP__HOSTING_WARN,
                      "%s", text);
}

/* ---- the sandbox of a process ---- */

static void sandbox_free(process_sandbox *sandbox)
{
    if (sandbox->network != NULL) {
        arcp__agent_network_take(sandbox->hosting->network); /* what it was denied until now */
        arcp__agent_network_close(sandbox->network);
    }
    arcp_authority_unref(sandbox->authority);
    arcp__tls_ca_free(sandbox->ca);
    arcp__job_plan_free(sandbox->plan);
    arcp__free(sandbox);
}

/* `name` is that of its private directory. The caller frees *out. */
static arcp_status compile(const arcp__served_agent *served, const char *name, arcp_span directory,
                           arcp__job_plan **out, arcp_error *err)
{
    arcp__job_plan *plan = arcp__alloc(sizeof *plan);
    if (plan == NULL) {
        return no_memory(err);
    }
    plan->text = arcp_buf_init();
    const arcp__plan_request request = {
        .job_id = arcp_span_cstr(name), .lease = served->lease, .cwd = directory};
    const arcp_status status = arcp__confinement_compile(served->agent->hosting, served->agent,
                                                         &request, false, plan, err);
    if (status != ARCP_OK) {
        arcp__job_plan_free(plan);
        return status;
    }
    *out = plan;
    return ARCP_OK;
}

static arcp_status check_plan(const arcp__sandbox_plan *plan, arcp_error *err)
{
    if (plan->refusal == ARCP__SANDBOX_REFUSAL_NONE) {
        return ARCP_OK;
    }
    if (plan->refusal != ARCP__SANDBOX_REFUSAL_LINE) {
        return arcp_error_set(err, ARCP_E_AGENT_NOT_AVAILABLE,
                              "this host cannot confine agents (arcp doctor)");
    }
    const arcp__sandbox_line *line = &plan->lines[plan->refused_line];
    const arcp_span pattern = arcp_span_first(line->pattern, 200);
    return arcp_error_set(
        err, ARCP_E_USAGE,
        "the agent's lease: %.*s %.*s would be %s; enforce.min %s does not accept "
        "that",
        (int)line->capability.size, line->capability.data, (int)pattern.size, pattern.data,
        arcp__sandbox_verdict_name(line->verdict), arcp__sandbox_verdict_name(plan->min));
}

static arcp_status sandbox_new(arcp__served_agent *served, const char *directory,
                               process_sandbox **out, arcp_error *err)
{
    char name[64];
    const arcp__process_agent *agent = served->agent;
    process_sandbox *sandbox = arcp__alloc(sizeof *sandbox);
    if (sandbox == NULL) {
        return no_memory(err);
    }
    sandbox->hosting = agent->hosting;
    sandbox->program = served->spec.argv[0];
    (void)snprintf(name, sizeof name, "served-%llu",
                   (unsigned long long)arcp__process_table_number(agent->hosting->processes));
    arcp_authority_options options = arcp_authority_options_init();
    options.now = arcp__clock_now();
    options.cwd = arcp_span_cstr(directory);
    arcp_status status = compile(served, name, arcp_span_cstr(directory), &sandbox->plan, err);
    if (status == ARCP_OK) {
        status = check_plan(sandbox->plan->plan, err);
    }
    if (status == ARCP_OK) {
        status = arcp_authority_new(served->lease, &options, &sandbox->authority, err);
    }
    if (status == ARCP_OK) {
        status = arcp__confined_start_init(&served->start, agent->hosting, agent->spec.user,
                                           sandbox->plan, served->lease, err);
    }
    if (status != ARCP_OK) {
        sandbox_free(sandbox);
        return status;
    }
    sandbox->requested_mono_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    *out = sandbox;
    return ARCP_OK;
}

/* ---- for the processes ---- */

static arcp_status prepare(void *user, arcp__process_spec *spec, void **out, arcp_error *err)
{
    arcp__served_agent *served = user;
    const arcp__process_agent *agent = served->agent;
    process_sandbox *sandbox = NULL;
    arcp_status status = ARCP_OK;
    arcp__process_agent_environment(agent, &served->environment);
    if (arcp__process_agent_is_confined(agent)) {
        status = sandbox_new(served, spec->cwd, &sandbox, err);
    }
    if (sandbox != NULL) {
        arcp__confined_environment(sandbox->plan, &served->environment);
        spec->confinement = &served->start.confinement;
    }
    if (status == ARCP_OK && served->environment.failed) {
        status = no_memory(err);
    }
    spec->env = (const char *const *)served->environment.pairs;
    spec->line_bytes_max = agent->hosting->line_bytes_max;
    *out = sandbox;
    return status;
}

static void prepared(void *user, void *its_sandbox)
{
    arcp__served_agent *served = user;
    process_sandbox *sandbox = its_sandbox;
    if (sandbox != NULL) {
        sandbox->ca = served->start.ca;
        served->start.ca = NULL;
    }
    arcp__confined_start_fini(&served->start);
    served->start = (arcp__confined_start){.etc = arcp_buf_init()};
    arcp__environment_fini(&served->environment);
    served->environment = (arcp__environment){0};
}

static void on_denied(void *user, const arcp__network_denial *denial)
{
    const process_sandbox *sandbox = user;
    const arcp_span target = arcp_span_first(denial->target, 400);
    arcp__hosting_log(sandbox->hosting, ARCP__HOSTING_INFO,
                      "a process of %s was denied net.fetch %.*s (%llu times)", sandbox->program,
                      (int)target.size, target.size == 0 ? "" : target.data,
                      (unsigned long long)denial->count);
}

static void on_network_failed(void *user, const char *why)
{
    const process_sandbox *sandbox = user;
    arcp__agent_process_fail_network(sandbox->process, why);
}

static void on_listeners(void *user, void *its_sandbox, arcp__agent_process *process,
                         const int *sockets, size_t count, const char *proxy_secret)
{
    process_sandbox *sandbox = its_sandbox;
    arcp_error err = {0};
    arcp__agent_network_options options = {
        .sockets = sockets,
        .socket_count = count,
        .proxy_secret = proxy_secret,
        .authority = sandbox->authority,
        .events = {.denied = on_denied, .failed = on_network_failed, .user = sandbox},
        .ca = sandbox->ca};
    (void)user;
    sandbox->ca = NULL;
    sandbox->process = process;
    if (arcp__confinement_serve_network(sandbox->hosting, &options, &sandbox->network, &err) !=
        ARCP_OK) {
        arcp__agent_process_fail_network(process, err.message);
    }
}

static void on_record(void *user, void *its_sandbox, arcp_span record)
{
    const arcp__served_agent *served = user;
    const process_sandbox *sandbox = its_sandbox;
    const arcp_span shown = arcp_span_first(record, 400);
    if (arcp__sandbox_record_type(record) == ARCP__SANDBOX_RECORD_RUNNING) {
        arcp__confinement_started(sandbox->hosting, sandbox->plan->plan->level,
                                  sandbox->requested_mono_ns);
    } else {
        arcp__hosting_log(served->agent->hosting, ARCP__HOSTING_INFO, "a process of %s: %.*s",
                          sandbox->program, (int)shown.size, shown.data);
    }
}

static void ended(void *user, void *its_sandbox, const arcp__agent_process *process)
{
    const char *step = NULL;
    (void)user;
    if (its_sandbox != NULL) {
        process_sandbox *sandbox = its_sandbox;
        if (process != NULL) {
            (void)arcp__agent_process_failure(process, &step);
        }
        arcp__confinement_failed(sandbox->hosting, arcp_span_cstr(step));
        sandbox_free(sandbox);
    }
}

/* ---- what was registered ---- */

/* The registration (agent_row.h), and how its sandbox would be made now. Empty for a registration
 * that cannot be a text: it is equal to no other. */
static arcp_status write_registration(arcp__served_agent *served, const arcp__agent_row *from,
                                      arcp_error *err)
{
    arcp_buf *out = &served->registered;
    arcp__environment environment = {0};
    arcp__job_plan *plan = NULL;
    arcp__process_agent_environment(served->agent, &environment);
    arcp_status status = arcp__agent_row_write(from, &environment, out, NULL);
    const bool is_text = status == ARCP_OK;
    status = status == ARCP_E_NO_MEMORY ? no_memory(err) : ARCP_OK;
    arcp__environment_fini(&environment);
    if (is_text) {
        arcp_lease_format_constraints(served->lease, out);
    }
    if (status == ARCP_OK && arcp__process_agent_is_confined(served->agent)) {
        status = compile(served, ANY_PROCESS, ARCP_SPAN_LITERAL("/" ANY_PROCESS), &plan, err);
    }
    if (plan != NULL) {
        arcp_error why = {0};
        arcp_buf_append(out, is_text ? arcp_buf_span(&plan->text) : arcp_span_make(NULL, 0));
        if (check_plan(plan->plan, &why) != ARCP_OK) {
            arcp__hosting_log(served->agent->hosting, ARCP__HOSTING_WARN,
                              "agent \"%s\": %s; its jobs will fail", from->name, why.message);
        }
        arcp__job_plan_free(plan);
    }
    return status == ARCP_OK && out->failed ? no_memory(err) : status;
}

/* ---- the object ---- */

static arcp_status take_lease(arcp__served_agent *served, const arcp__agent_row *from,
                              arcp_error *err)
{
    if (from->lease != NULL) {
        served->lease = arcp_lease_ref(from->lease);
        return ARCP_OK;
    }
    arcp_lease_builder *builder = arcp_lease_builder_new();
    return builder == NULL ? no_memory(err) : arcp_lease_build(builder, &served->lease, err);
}

static arcp_status fill(arcp__served_agent *served, const arcp__agent_row *from, arcp_error *err)
{
    arcp__process_agent *agent = served->agent;
    const char *directory = arcp__process_table_directory(agent->hosting->processes);
    served->spec = agent->spec;
    served->spec.makes_cwd = agent->cwd == NULL && directory != NULL;
    served->spec.cwd = agent->cwd != NULL ? agent->cwd : directory;
    const arcp__served_options options = {
        .table = agent->hosting->processes,
        .processes = from->processes,
        .concurrency = from->concurrency,
        .jobs_max = from->jobs_per_process,
        .memory_bytes = from->process_memory_bytes,
        .spec = &served->spec,
        .prepare = prepare,
        .prepared = prepared,
        .listeners = on_listeners,
        .record = on_record,
        .ended = ended,
        .log = log_line,
        .report = report,
        .user = served,
    };
    arcp_status status = take_lease(served, from, err);
    if (status == ARCP_OK) {
        status = write_registration(served, from, err);
    }
    return status == ARCP_OK ? arcp__served_new(&options, &served->processes, err) : status;
}

arcp_status arcp__served_agent_new(arcp__process_agent *agent, const arcp__agent_row *from,
                                   arcp__served_agent **out, arcp_error *err)
{
    arcp__served_agent *served = arcp__alloc(sizeof *served);
    if (served == NULL) {
        return no_memory(err);
    }
    *served = (arcp__served_agent){
        .agent = agent, .registered = arcp_buf_secret_init(), .start = {.etc = arcp_buf_init()}};
    const arcp_status status = fill(served, from, err);
    if (status != ARCP_OK) {
        arcp__served_agent_free(served);
        return status;
    }
    *out = served;
    return ARCP_OK;
}

void arcp__served_agent_free(arcp__served_agent *served)
{
    if (served == NULL) {
        return;
    }
    arcp__served_free(served->processes);
    arcp_lease_unref(served->lease);
    arcp_buf_fini(&served->registered);
    arcp__free(served);
}

bool arcp__served_agent_equals(const arcp__served_agent *served, const arcp__served_agent *other)
{
    return served != NULL && other != NULL && !served->is_retired && served->registered.size != 0 &&
           arcp_span_equal(arcp_buf_span(&served->registered), arcp_buf_span(&other->registered));
}

arcp__served *arcp__served_agent_processes(const arcp__served_agent *served)
{
    return served == NULL ? NULL : served->processes;
}

void arcp__served_agent_retire(arcp__served_agent *served)
{
    if (served != NULL && !served->is_retired) {
        served->is_retired = true;
        arcp__served_retire(served->processes);
    }
}

bool arcp__served_agent_is_idle(const arcp__served_agent *served)
{
    return served == NULL || arcp__served_is_idle(served->processes);
}
