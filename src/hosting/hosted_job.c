#include "hosting/hosted_job.h"

#include "base/clock.h"
#include "base/directory.h"

typedef arcp__hosted_job hosted_job;

/* ---- starting ---- */

/* Whether the program gets its lease when it runs. */
static bool is_late(const arcp__job_plan *plan)
{
    return plan != NULL && plan->plan->is_late;
}

static bool can_be_warm(const hosted_job *job)
{
    return job->agent->pool != NULL && (job->plan == NULL || is_late(job->plan));
}

bool arcp__hosted_job_has_warm(const hosted_job *job)
{
    return can_be_warm(job) && arcp__process_pool_waiting(job->agent->pool) != 0;
}

static arcp__agent_process *take_warm(const hosted_job *job)
{
    if (!can_be_warm(job)) {
        return NULL;
    }
    return job->plan == NULL ? arcp__process_pool_take(job->agent->pool)
                             : arcp__warm_take(job->agent, job->plan);
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

static arcp_status start_program(hosted_job *job, const arcp__hosted_start *start,
                                 const arcp__agent_process_callbacks *callbacks, arcp_error *err)
{
    const arcp__process_agent *agent = job->agent;
    const arcp__job_plan *plan = job->plan;
    arcp__confined_start confined = {.etc = arcp_buf_init()};
    arcp__job_plan before = {.text = arcp_buf_init()};
    arcp_status status = ARCP_OK;
    if (plan != NULL) {
        arcp__confined_environment(plan, start->environment);
    }
    if (is_late(plan)) {
        status = plan_before_lease(plan, &before, err);
        plan = &before;
    }
    arcp__process_spec spec = agent->spec;
    spec.env = (const char *const *)start->environment->pairs;
    spec.cwd = start->cwd;
    spec.makes_cwd = start->owns_cwd;
    spec.file_name = start->file_name;
    spec.file_text = start->file_text;
    spec.line_bytes_max = agent->hosting->line_bytes_max;
    if (status == ARCP_OK && plan != NULL) {
        status = arcp__confined_start_init(&confined, agent->hosting, agent->spec.user, plan,
                                           arcp_authority_lease(job->authority), err);
        spec.confinement = &confined.confinement;
        job->requested_mono_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    }
    if (status == ARCP_OK && start->environment->failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        status = arcp__agent_process_start(agent->hosting->processes, &spec, callbacks,
                                           &job->process, err);
    }
    if (status == ARCP_OK) {
        job->ca = confined.ca;
        confined.ca = NULL;
    }
    arcp__confined_start_fini(&confined);
    arcp__sandbox_plan_free(before.plan);
    arcp_buf_fini(&before.text);
    return status;
}

arcp_status arcp__hosted_job_begin(hosted_job *job, const arcp__hosted_start *start,
                                   const arcp__agent_process_callbacks *callbacks, bool *is_warm,
                                   arcp_span *lease, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    job->process = take_warm(job);
    *is_warm = job->process != NULL;
    if (!*is_warm) {
        status = start_program(job, start, callbacks, err);
    } else if (start->owns_cwd) {
        /* A warm process already runs in its directory; rename that to the job's. */
        status = arcp__agent_process_move_directory(job->process, start->cwd, err);
    }
    *lease = is_late(job->plan) ? arcp_buf_span(&job->plan->text) : arcp_span_make(NULL, 0);
    return status;
}

/* ---- its network ---- */

static void on_denied(void *user, const arcp__network_denial *denial)
{
    const hosted_job *job = user;
    job->denied(job->user, denial);
}

static void on_network_failed(void *user, const char *why)
{
    const hosted_job *job = user;
    arcp__agent_process_fail_network(job->process, why);
}

void arcp__hosted_job_serve_network(hosted_job *job, const int *sockets, size_t count,
                                    const char *proxy_secret,
                                    const arcp__agent_network_options *gateway)
{
    arcp_error err = {0};
    if (job->is_cut_off) {
        for (size_t i = 0; i < count; i++) {
            arcp__close(sockets[i]);
        }
        return;
    }
    arcp__agent_network_options options = {
        .sockets = sockets,
        .socket_count = count,
        .proxy_secret = proxy_secret,
        .events = {.denied = on_denied, .failed = on_network_failed, .user = job},
        .ca = job->ca};
    if (gateway != NULL) {
        options.gateway = gateway->gateway;
        options.gateway_ops = gateway->gateway_ops;
        options.gateways = gateway->gateways;
    }
    job->ca = NULL;
    if (arcp__confinement_open_network(job->agent->hosting, job->authority, job->plan, &options,
                                       &job->network, &err) != ARCP_OK) {
        arcp__agent_process_fail_network(job->process, err.message);
    }
}

void arcp__hosted_job_cut_off(hosted_job *job)
{
    job->is_cut_off = true;
    if (job->network != NULL) {
        arcp__agent_network_take(job->agent->hosting->network);
        arcp__agent_network_close(job->network);
        job->network = NULL;
    }
}

void arcp__hosted_job_revoke(hosted_job *job)
{
    arcp__hosted_job_cut_off(job); /* the gate says why; a connection does not */
    if (job->process != NULL) {
        arcp__agent_process_revoke(job->process);
    }
}

/* ---- what happens to it ---- */

void arcp__hosted_job_note_record(const hosted_job *job, arcp_span record)
{
    if (arcp__sandbox_record_type(record) == ARCP__SANDBOX_RECORD_RUNNING && job->plan != NULL) {
        arcp__confinement_started(job->agent->hosting, job->plan->plan->level,
                                  job->requested_mono_ns);
    }
}

void arcp__hosted_job_note_end(hosted_job *job)
{
    const char *step = NULL;
    arcp__hosted_job_cut_off(job);
    (void)arcp__agent_process_failure(job->process, &step);
    arcp__confinement_failed(job->agent->hosting, arcp_span_cstr(step));
}

void arcp__hosted_job_fini(hosted_job *job)
{
    arcp__agent_network_close(job->network);
    arcp__tls_ca_free(job->ca);
    job->network = NULL;
    job->ca = NULL;
    job->process = NULL;
}
