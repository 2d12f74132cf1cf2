/* The confinement of a job: what is shown when it starts, and what ends when its lease has expired
 * or a budget is used up. */
#include "job/job_state.h"
#include "job/purse.h"

#include <stdio.h>

/* ---- what is shown when the job starts ---- */

/* Writes the body of the event; without the lines when they do not fit a frame. */
static void write_body(const arcp__enforcement *enforcement, bool has_lines, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "phase", "enforcement");
    arcp__put_string(&writer, "message", arcp_buf_span(&enforcement->texts[ARCP__ADMIT_SUMMARY]));
    arcp__put_string(&writer, "level", arcp_buf_span(&enforcement->texts[ARCP__ADMIT_LEVEL]));
    static const struct {
        const char *name;
        arcp__admit_text text;
    } arrays[] = {{"lines", ARCP__ADMIT_LINES}, {"base", ARCP__ADMIT_BASE}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && has_lines; i++) {
        const arcp_span text = arcp_buf_span(&enforcement->texts[arrays[i].text]);
        if (text.size != 0) {
            arcp__put_raw(&writer, arrays[i].name, text);
        }
    }
    arcp_json_end_object(&writer);
}

static void emit(arcp__jobs *jobs, arcp__job *job, const arcp__enforcement *enforcement)
{
    arcp_buf body = arcp__context_take_buf(jobs->context);
    write_body(enforcement, true, &body);
    if (body.size > arcp__frame_payload_max(jobs->context)) {
        arcp_buf_clear(&body);
        write_body(enforcement, false, &body);
    }
    arcp__context_check_text(jobs->context, &body);
    arcp__job_emit_event(jobs, job, ARCP_FEATURE_NONE, ARCP_SPAN_LITERAL("status"),
                         arcp_buf_span(&body));
    arcp__context_give_buf(jobs->context, &body);
}

static void note(arcp__jobs *jobs, const arcp__job *job, const arcp__enforcement *enforcement)
{
    static const char no_lines[] = "the lease has no lines";
    char line[128];
    const arcp_span level = arcp_buf_span(&enforcement->texts[ARCP__ADMIT_LEVEL]);
    const arcp_span summary = arcp_buf_span(&enforcement->texts[ARCP__ADMIT_SUMMARY]);
    (void)snprintf(line, sizeof line, "job confined at level %.*s: %.*s", (int)level.size,
                   level.data, summary.size == 0 ? (int)sizeof no_lines - 1 : (int)summary.size,
                   summary.size == 0 ? no_lines : summary.data);
    arcp__job_log(jobs, ARCP__LOG_INFO, job, line);
    arcp__audit(jobs->log, &(arcp__audit_line){
                               .event = ARCP__AUDIT_ENFORCEMENT,
                               .decision = "confined",
                               .who = arcp__job_who(job),
                               .more = {{"level", level},
                                        {"plan_sha256",
                                         arcp_buf_span(&enforcement->texts[ARCP__ADMIT_SHA256])}},
                               .lines = arcp_buf_span(&enforcement->texts[ARCP__ADMIT_INEXACT])});
}

void arcp__enforcement_show(arcp__jobs *jobs, arcp__job *job)
{
    arcp__enforcement *enforcement = job->live->enforcement;
    if (enforcement == NULL) {
        return;
    }
    if (enforcement->is_confined) {
        if (enforcement->is_shown) {
            emit(jobs, job, enforcement);
        }
        note(jobs, job, enforcement);
    }
    if (enforcement->texts[ARCP__ADMIT_WARNING].size != 0) {
        arcp__job_emit_log(jobs, job, "warn",
                           arcp_buf_span(&enforcement->texts[ARCP__ADMIT_WARNING]));
    }
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        if (i != ARCP__ADMIT_CWD) { /* job.start has it, which may be sent later */
            arcp_buf_fini(&enforcement->texts[i]);
        }
    }
}

/* ---- a lease that grants nothing any more ---- */

void arcp__job_revoke(arcp__jobs *jobs, arcp__job *job, arcp_status code)
{
    arcp__enforcement *enforcement = job->live == NULL ? NULL : job->live->enforcement;
    if (enforcement != NULL && enforcement->is_confined && !enforcement->is_revoked &&
        arcp__job_has_agent(job) && !arcp__job_has_ended(job)) {
        enforcement->is_revoked = true;
        arcp__job_live_changed(jobs, job);
        arcp__agent_revoke(jobs, job, code);
    }
}

/* The job after `job` in the tree below `top`, parents first; NULL: it was the last. */
static arcp__job *next_in_tree(const arcp__job *top, arcp__job *job)
{
    if (job->children != NULL) {
        return job->children;
    }
    while (job != top && job->next_child == NULL) {
        job = job->parent;
    }
    return job == top ? NULL : job->next_child;
}

void arcp__jobs_revoke_exhausted(arcp__jobs *jobs, arcp__job *top)
{
    if (jobs->context->settings.budget_on_exhaustion != ARCP__ON_EXHAUSTION_DENY) {
        return; /* the job ends */
    }
    for (arcp__job *job = top; job != NULL; job = next_in_tree(top, job)) {
        arcp__job_revoke(jobs, job, ARCP_E_BUDGET_EXHAUSTED);
    }
}

void arcp__jobs_revoke_purse(arcp__jobs *jobs, const struct arcp__purse *purse)
{
    for (arcp__job *job = jobs->all; purse != NULL && job != NULL; job = job->hh.next) {
        if (job->live != NULL && job->live->purse == purse && job->parent == NULL &&
            !arcp__job_has_ended(job)) {
            arcp__jobs_revoke_exhausted(jobs, job);
        }
    }
}

void arcp__agent_revoke_if_without_budget(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__purse_is_spent(job->live->purse)) {
        arcp__jobs_revoke_exhausted(jobs, job);
    }
    for (size_t i = 0; job->budget != NULL && i < arcp_budget_count(job->budget); i++) {
        if (arcp_decimal_compare(arcp_budget_initial(job->budget, i),
                                 (arcp_decimal)ARCP_DECIMAL_ZERO) <= 0) {
            arcp__jobs_revoke_exhausted(jobs, job);
        }
    }
}
