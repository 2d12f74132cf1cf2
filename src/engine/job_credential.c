/* What a job, or a submit on its way to one, does about its upstream credential
 * (credential/credential.h). */
#include "engine/parts.h"

#include "json/json_put.h"

static void answered(void *user, void *owner, const arcp_error *error)
{
    arcp__admission_provisioned(user, owner, error);
}

/* Everybody who may see it is told, and so is the agent. [arcp:9.8.2-8] */
static void rotated(void *user, void *owner, arcp_span body)
{
    arcp__engine *engine = user;
    arcp__job *job = owner;
    arcp__job_emit_event(engine, job, ARCP_EVENT_STATUS, ARCP_SPAN_LITERAL("status"), body);
    if (job->agent_state == ARCP__AGENT_RUNNING || job->agent_state == ARCP__AGENT_STARTING) {
        arcp_buf line = ARCP_BUF_INIT;
        arcp_buf_append_cstr(&line, "{\"type\":\"job.credentials\",\"payload\":");
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__credentials_write(&engine->credentials, &job->live->credential, &writer);
        arcp_json_end_object(&writer);
        arcp_buf_append_byte(&line, '}');
        arcp__agent_say(engine, job, &line);
    }
}

static void spent(void *user, void *owner, arcp_span currency, arcp_decimal amount)
{
    arcp__job *job = owner;
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message = {.unit = currency, .amount = amount};
    arcp__job_port_spend(&job->live->port, &message, reports);
    arcp__job_spent(user, job, message.reports, message.report_count);
}

const arcp__credential_ops arcp__job_credential_ops = {answered, rotated, spent};
