/* What the engine asks about sandboxes: whether a job can be admitted, and with what plan. */
#include <openssl/evp.h>

#include "base/alloc.h"
#include "hosting/confinement.h"
#include "runtime/runtime_state.h"
#include "json/json_put.h"

/* Lines of a plan that an event shows; of a longer plan only those that are not exact. */
#define LINES_SHOWN_MAX 100

static void refuse_host(const arcp__sandbox_abilities *abilities, const char *message,
                        arcp__admit_answer *answer)
{
    arcp_json_writer writer = arcp__put_begin(&answer->texts[ARCP__ADMIT_DETAILS]);
    answer->status = ARCP_E_AGENT_NOT_AVAILABLE;
    arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_MESSAGE], message);
    arcp__put_cstr(&writer, "level", arcp__sandbox_level_name(arcp__sandbox_level_of(abilities)));
    arcp__put_array(&writer, "missing");
    for (unsigned i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        if (abilities->values[i] == 0) {
            arcp_json_write_cstr(&writer, arcp__sandbox_ability_name((arcp__sandbox_ability)i));
        }
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
}

/* What is shown of a plan, whether it admits the job or not. */
static void show_plan(const arcp__sandbox_plan *plan, arcp_buf *texts)
{
    arcp_buf_append_cstr(&texts[ARCP__ADMIT_LEVEL], arcp__sandbox_level_name(plan->level));
    arcp__sandbox_report_lines(plan, plan->lease_line_count > LINES_SHOWN_MAX,
                               &texts[ARCP__ADMIT_LINES]);
}

static void refuse_line(const arcp__sandbox_plan *plan, arcp__admit_answer *answer)
{
    const arcp__sandbox_line *line = &plan->lines[plan->refused_line];
    arcp_buf *message = &answer->texts[ARCP__ADMIT_MESSAGE];
    arcp_json_writer writer = arcp__put_begin(&answer->texts[ARCP__ADMIT_DETAILS]);
    const char *verdict = arcp__sandbox_verdict_name(line->verdict);
    const char *note = arcp__sandbox_note_text(line->note);
    show_plan(plan, answer->texts);
    answer->status = ARCP_E_PERMISSION_DENIED;
    arcp__put_string(&writer, "capability", line->capability);
    arcp__put_string(&writer, "pattern", line->pattern);
    arcp__put_cstr(&writer, "verdict", verdict);
    arcp__put_word(&writer, "note", note);
    arcp__put_cstr(&writer, "min", arcp__sandbox_verdict_name(plan->min));
    arcp_json_end_object(&writer);
    arcp_buf_append(message, line->capability);
    arcp_buf_append_byte(message, ' ');
    arcp_buf_append(message, line->pattern);
    arcp_buf_append_format(message, " would be %s%s%s; enforce.min %s does not accept that",
                           verdict, note[0] == '\0' ? "" : ": ", note,
                           arcp__sandbox_verdict_name(plan->min));
}

static void append_sha256(arcp_span text, arcp_buf *out)
{
    unsigned char digest[32];
    unsigned size = 0;
    if (EVP_Digest(text.data, text.size, digest, &size, EVP_sha256(), NULL) != 1) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < size; i++) {
        arcp_buf_append_format(out, "%02x", digest[i]);
    }
}

static bool has_file_or_net_line(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp_span name = plan->lines[i].capability;
        if (arcp_span_starts_with(name, ARCP_SPAN_LITERAL("fs.")) ||
            arcp_span_starts_with(name, ARCP_SPAN_LITERAL("net.")) ||
            arcp_span_equal_cstr(name, "credential")) {
            return true;
        }
    }
    return false;
}

static void admit_plan(arcp__job_plan *job_plan, bool is_shared, arcp__admit_answer *answer)
{
    const arcp__sandbox_plan *plan = job_plan->plan;
    const size_t inexact = arcp__sandbox_inexact_count(plan);
    arcp_buf *texts = answer->texts;
    answer->plan = job_plan;
    answer->is_shown = inexact != 0 || has_file_or_net_line(plan);
    show_plan(plan, texts);
    arcp__sandbox_report_counts(plan, &texts[ARCP__ADMIT_SUMMARY]);
    if (job_plan->text.size != 0) {
        append_sha256(arcp_buf_span(&job_plan->text), &texts[ARCP__ADMIT_SHA256]);
    }
    arcp__sandbox_report_base(plan, &texts[ARCP__ADMIT_BASE]);
    arcp__sandbox_report_lines(plan, true, &texts[ARCP__ADMIT_INEXACT]);
    if (!is_shared) {
        arcp_buf_append(&texts[ARCP__ADMIT_CWD], plan->cwd);
    }
}

/* What a sandbox on the worker's machine makes of the lease. The plan is only judged: the worker
 * compiles its own, and refuses the job where its own configuration asks for more. */
static arcp_status judge_remote(const arcp_runtime *runtime, const arcp__remote_sandbox *remote,
                                const arcp__admit_request *of_job, arcp__sandbox_plan **out,
                                arcp_error *err)
{
    arcp__sandbox_request request = {.lease = NULL};
    if (runtime->hosting.confinement != NULL) {
        arcp__confinement_complete(&runtime->hosting, &request);
    } else { /* the worker confines, and the operator here asks for nothing */
        arcp__sandbox_request_defaults(&request);
        request.min = ARCP__SANDBOX_VERDICT_ADVISORY;
    }
    request.own = request.own_files = NULL; /* paths of this machine */
    request.own_count = request.own_file_count = 0;
    request.lease = of_job->lease;
    request.origin = ARCP__SANDBOX_ORIGIN_JOB;
    request.abilities = remote->abilities;
    request.cwd = remote->is_shared || of_job->cwd.size == 0 ? ARCP_SPAN_LITERAL("/") : of_job->cwd;
    request.cwd_is_fresh = of_job->cwd_is_fresh && !remote->is_shared;
    request.home = ARCP_SPAN_LITERAL(ARCP__AGENT_HOME);
    request.endpoint = of_job->endpoint;
    request.tls_terminate = remote->terminates_tls;
    request.is_shared = remote->is_shared;
    request.may_be_late = remote->is_late;
    request.outlasts_expiry = runtime->hosting.enforce.outlasts_expiry;
    request.outlasts_budget = runtime->hosting.enforce.outlasts_budget;
    return arcp__sandbox_plan_new(&request, out, err);
}

static void admit_remote(const arcp_runtime *runtime, const arcp__agent_entry *entry,
                         const arcp__admit_request *request, arcp__admit_answer *answer)
{
    const arcp__remote_sandbox *remote = &entry->remote;
    arcp_error err = {0};
    if (arcp__sandbox_level_of(&remote->abilities) == ARCP__SANDBOX_LEVEL_NONE) {
        refuse_host(&remote->abilities,
                    "the worker's machine cannot confine agents: arcp doctor there names what is "
                    "missing",
                    answer);
        return;
    }
    arcp__job_plan *plan = arcp__alloc(sizeof *plan);
    if (plan == NULL) {
        answer->status = ARCP_E_NO_MEMORY;
        return;
    }
    plan->text = arcp_buf_init();
    const arcp_status status = judge_remote(runtime, remote, request, &plan->plan, &err);
    if (status != ARCP_OK) {
        answer->status = status;
        arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_MESSAGE], err.message);
    } else if (plan->plan->refusal == ARCP__SANDBOX_REFUSAL_NONE) {
        admit_plan(plan, remote->is_shared, answer);
        return;
    } else {
        refuse_line(plan->plan, answer);
    }
    arcp__job_plan_free(plan);
}

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    arcp_runtime *runtime = user;
    arcp__agent_entry *entry = request->host;
    arcp__process_agent *agent = &entry->process;
    const bool is_remote = entry->worker[0] != '\0';
    const bool is_confined = is_remote ? entry->remote.is_confined : agent->confinement.is_on;
    if (entry->ops != &arcp__agent_worker_host ||
        (runtime->hosting.confinement == NULL && !(is_remote && is_confined))) {
        return;
    }
    if (!is_confined) {
        arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_WARNING],
                             "the agent is not confined (confine: false): its lease only decides "
                             "the operations that it asks about");
        return;
    }
    if (is_remote) {
        admit_remote(runtime, entry, request, answer);
        return;
    }
    if (runtime->hosting.confinement->level == ARCP__SANDBOX_LEVEL_NONE) {
        refuse_host(&runtime->hosting.confinement->abilities,
                    "this host cannot confine agents: arcp doctor names what is missing; with "
                    "enforce.mode: off they run without a sandbox",
                    answer);
        return;
    }
    arcp__confinement_find_command(agent);
    arcp_error err = {0};
    arcp__job_plan *plan = arcp__alloc(sizeof *plan);
    if (plan == NULL) {
        answer->status = ARCP_E_NO_MEMORY;
        return;
    }
    plan->text = arcp_buf_init();
    const bool is_shared = agent->served != NULL;
    const arcp__plan_request of_job = {.job_id = request->job_id,
                                       .lease = request->lease,
                                       .cwd = request->cwd,
                                       .endpoint = request->endpoint};
    const arcp_status status =
        arcp__confinement_compile(&runtime->hosting, agent, &of_job, is_shared, plan, &err);
    if (status != ARCP_OK) {
        answer->status = status;
        arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_MESSAGE], err.message);
    } else if (plan->plan->refusal == ARCP__SANDBOX_REFUSAL_NONE) {
        admit_plan(plan, is_shared, answer);
        return;
    } else {
        refuse_line(plan->plan, answer);
    }
    arcp__job_plan_free(plan);
}

static void release(void *user, void *plan)
{
    (void)user;
    arcp__job_plan_free(plan);
}

arcp__agent_hosts arcp__confinement_hosts(arcp_runtime *runtime)
{
    return (arcp__agent_hosts){.admit = admit, .release = release, .user = runtime};
}
