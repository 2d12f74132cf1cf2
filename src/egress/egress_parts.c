/* References to egress and to its jobs, and the reports about them. */
#include "egress/egress_parts.h"

#include "base/alloc.h"

void arcp__egress_unref(arcp__egress *egress)
{
    if (--egress->references > 0) {
        return;
    }
    arcp__loop_share_unref(egress->share);
    arcp__free(egress->private_hosts);
    arcp__arena_fini(&egress->arena);
    arcp__free(egress->own);
    arcp__tls_context_free(egress->tls);
    arcp__free(egress);
}

void arcp__egress_job_unref(arcp__egress_job *job)
{
    arcp__egress *egress = job->egress;
    if (--job->references > 0) {
        return;
    }
    arcp__egress_policy_free(job->policy);
    arcp__egress_names_free(job->names);
    arcp_authority_unref(job->authority);
    arcp_secret_free(job->credential);
    arcp__free(job);
    arcp__egress_unref(egress);
}

void arcp__egress_job_report(arcp__egress_job *job, arcp_span target, arcp__egress_denial_code code,
                             const char *reason)
{
    const arcp__egress_denial denial = {ARCP_SPAN_LITERAL("net.fetch"), target, code, reason};
    job->egress->counts.denied++;
    if (job->denied != NULL && !job->is_closed) {
        job->denied(job->user, &denial);
    }
}

void arcp__egress_job_allow(arcp__egress_job *job, arcp_span url, bool is_host)
{
    job->egress->counts.allowed++;
    if (job->allowed != NULL && !job->is_closed) {
        job->allowed(job->user, url, is_host);
    }
}
