/* The start of a program for one job: its environment, and the plan of its sandbox. */
#include "base/clock.h"
#include "runtime/worker_host_job.h"

void arcp__worker_host_environment(const arcp__process_agent *agent, const arcp__job *job,
                                   arcp__environment *environment)
{
    const arcp__job_live *live = job->live;
    arcp__environment_base(environment, agent->spec.user);
    arcp__environment_set(environment, "ARCP_JOB_ID", arcp_span_cstr(job->id));
    arcp__environment_set(environment, "ARCP_AGENT", arcp_span_cstr(job->agent_text));
    arcp__environment_set(environment, "ARCP_TRACE_ID", arcp_span_cstr(job->trace_id));
    arcp__environment_set(environment, "TRACEPARENT", arcp_span_cstr(live->trace.traceparent));
    if (live->tracestate != NULL) {
        arcp__environment_set(environment, "TRACESTATE", arcp_span_cstr(live->tracestate));
    }
    arcp__environment_pass(environment, agent->env);
}

static void fill_environment(const arcp__worker_host_job *hj, const arcp__job_plan *plan,
                             arcp__environment *environment)
{
    arcp__worker_host_environment(hj->agent, hj->job, environment);
    arcp__agent_gateway_environment(hj->gateway, environment);
    if (plan != NULL) {
        arcp__confined_environment(plan, environment);
    }
}

arcp_status arcp__worker_host_plan(const arcp__worker_host_job *hj, const arcp__job_plan **out,
                                   arcp_error *err)
{
    const arcp__enforcement *enforcement = hj->job->live->enforcement;
    *out = enforcement == NULL ? NULL : enforcement->plan;
    return *out == NULL && hj->runtime->confinement != NULL && hj->agent->confinement.is_on
               ? arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                "the job was accepted before its agent was confined")
               : ARCP_OK;
}

/* What a program is started by that gets its lease when it runs, as one that has waited. */
static arcp_status plan_before_lease(const arcp__job_plan *plan, arcp__job_plan *out,
                                     arcp_error *err)
{
    arcp__sandbox_plan *before = NULL;
    const arcp_status status = arcp__sandbox_plan_before_lease(plan->plan, &before, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = (arcp__job_plan){.plan = before, .text = arcp_buf_init(), .scratch = plan->scratch};
    arcp__sandbox_plan_encode(before, &out->text);
    return out->text.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__worker_host_start_program(arcp__worker_host_job *hj, const char *cwd,
                                            const arcp__job_plan *plan,
                                            const arcp__agent_process_callbacks *callbacks,
                                            arcp__agent_process **out, arcp_error *err)
{
    const arcp__process_agent *agent = hj->agent;
    arcp__environment environment = {0};
    arcp_buf clients = arcp_buf_secret_init();
    arcp__confined_start confined = {.etc = arcp_buf_init()};
    arcp__job_plan before = {.text = arcp_buf_init()};
    arcp_status status = ARCP_OK;
    fill_environment(hj, plan, &environment);
    if (arcp__job_plan_is_late(plan)) {
        status = plan_before_lease(plan, &before, err);
        plan = &before;
    }
    arcp__process_spec spec = agent->spec;
    spec.env = (const char *const *)environment.pairs;
    spec.cwd = cwd;
    spec.makes_cwd = hj->job->live->owns_cwd;
    arcp__agent_gateway_write_clients(hj->gateway, &clients, &spec);
    spec.line_bytes_max = hj->runtime->settings_agent_line_bytes;
    if (status == ARCP_OK && plan != NULL) {
        status = arcp__confined_start_init(&confined, hj->runtime, agent->spec.user, plan,
                                           arcp_authority_lease(hj->job->live->authority), err);
        spec.confinement = &confined.confinement;
        hj->level = plan->plan->level;
        hj->requested_mono_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    }
    if (status == ARCP_OK && (environment.failed || clients.failed)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        status = arcp__agent_process_start(hj->runtime->processes, &spec, callbacks, out, err);
    }
    if (status == ARCP_OK) {
        hj->ca = confined.ca;
        confined.ca = NULL;
    }
    arcp__confined_start_fini(&confined);
    arcp__environment_fini(&environment);
    arcp_buf_fini(&clients);
    arcp__sandbox_plan_free(before.plan);
    arcp_buf_fini(&before.text);
    return status;
}
