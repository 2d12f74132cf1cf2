/* The start of a program for one job: its environment, the plan of its sandbox, its gateways. */
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

arcp_status arcp__worker_host_plan(const arcp__worker_host_job *hj, const arcp__job_plan **out,
                                   arcp_error *err)
{
    const arcp__enforcement *enforcement = hj->job->live->enforcement;
    *out = enforcement == NULL ? NULL : enforcement->plan;
    return *out == NULL && arcp__process_agent_is_confined(hj->agent)
               ? arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                "the job was accepted before its agent was confined")
               : ARCP_OK;
}

arcp_status arcp__worker_host_begin(arcp__worker_host_job *hj,
                                    const arcp__agent_process_callbacks *callbacks,
                                    arcp__worker_begun *out, arcp_error *err)
{
    arcp__environment environment = {0};
    arcp_buf clients = arcp_buf_secret_init();
    arcp__hosted_start start = {.cwd = hj->job->live->cwd,
                                .owns_cwd = hj->job->live->owns_cwd,
                                .environment = &environment};
    arcp__worker_host_environment(hj->agent, hj->job, &environment);
    arcp__agent_gateway_environment(hj->gateway, &environment);
    arcp__agent_gateway_write_clients(hj->gateway, &clients, &start.file_name, &start.file_text);
    environment.failed = environment.failed || clients.failed;
    const arcp_status status =
        arcp__hosted_job_begin(&hj->hosted, &start, callbacks, &out->is_warm, &out->lease, err);
    out->process = hj->hosted.process;
    arcp__environment_fini(&environment);
    arcp_buf_fini(&clients);
    return status;
}
