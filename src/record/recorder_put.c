/* The fields of records, and what the calls have that pass on the configuration. */
#include "record/recorder_put.h"

void arcp__recorder_put_number(arcp_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        arcp_buf_append_byte(out, (char)(0x80 | (value & 0x7f)));
        value >>= 7;
    }
    arcp_buf_append_byte(out, (char)value);
}

void arcp__recorder_put_text(arcp_buf *out, arcp_span text)
{
    if (text.data == NULL) {
        arcp__recorder_put_number(out, 0);
        return;
    }
    arcp__recorder_put_number(out, (uint64_t)text.size + 1);
    arcp_buf_append(out, text);
}

/* ---- the configuration ---- */

void arcp__recorder_put_policy(arcp_buf *out, const arcp__call *call)
{
    const arcp__policy *policy = call->what;
    arcp__recorder_put_text(out, policy->principal_glob);
    arcp__recorder_put_text(out, policy->agent_glob);
    arcp__recorder_put_number(out, policy->leaves_others_open);
    arcp__recorder_put_number(out, policy->max_lifetime_sec);
    arcp_buf text = arcp_buf_init();
    for (int part = 0; part < 2; part++) {
        arcp_buf_clear(&text);
        if (policy->ceiling != NULL && part == 0) {
            arcp_lease_format(policy->ceiling, &text);
        } else if (policy->ceiling != NULL) {
            arcp_lease_format_constraints(policy->ceiling, &text);
        }
        out->failed = out->failed || text.failed;
        arcp__recorder_put_text(out, arcp_buf_span(&text));
    }
    arcp_buf_clear(&text);
    if (policy->spend != NULL) {
        arcp_lease_format(policy->spend, &text);
    }
    out->failed = out->failed || text.failed;
    arcp__recorder_put_text(out, arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

void arcp__recorder_put_schedules(arcp_buf *out, const arcp__call *call)
{
    const arcp__schedule_options *options = call->what;
    for (uint64_t i = 0; i < call->numbers[0]; i++) {
        const arcp_span texts[] = {options[i].name,   options[i].agent, options[i].principal,
                                   options[i].cron,   options[i].zone,  options[i].tzif,
                                   options[i].request};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            arcp__recorder_put_text(out, texts[k]);
        }
        arcp__recorder_put_number(out, options[i].every_sec);
        arcp__recorder_put_number(out, (uint64_t)options[i].overlap);
        arcp__recorder_put_number(out, (uint64_t)options[i].catch_up);
    }
}

void arcp__recorder_put_hooks(arcp_buf *out, const arcp__call *call)
{
    const arcp__hook_options *options = call->what;
    for (uint64_t i = 0; i < call->numbers[0]; i++) {
        const arcp_span texts[] = {options[i].name, options[i].target, options[i].agent,
                                   options[i].principal};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            arcp__recorder_put_text(out, texts[k]);
        }
        arcp__recorder_put_number(out, options[i].events);
        arcp__recorder_put_number(out, options[i].budget_left_percent);
        arcp__recorder_put_number(out, options[i].stuck_after_sec);
    }
}

void arcp__recorder_put_worker_intro(arcp_buf *out, const arcp__call *call)
{
    const arcp__worker_intro *intro = call->what;
    arcp__recorder_put_text(out, intro->work);
    for (size_t i = 0; i < intro->agent_count; i++) {
        const arcp__worker_agent *agent = &intro->agents[i];
        arcp__recorder_put_text(out, agent->name);
        arcp__recorder_put_text(out, agent->version);
        arcp__recorder_put_text(out, agent->mode);
        arcp__recorder_put_text(out, agent->cwd);
        arcp__recorder_put_number(out, agent->max_jobs);
        arcp__recorder_put_text(out, arcp_span_make((const char *)agent->hash, sizeof agent->hash));
    }
    for (size_t i = 0; i < intro->allowed_count; i++) {
        arcp__recorder_put_text(out, arcp_span_cstr(intro->allowed[i]));
    }
}
