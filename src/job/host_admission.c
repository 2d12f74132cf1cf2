/* Admission: the host of a job's agent is asked before the job is made (agent_host.h). */
#include "job/job_state.h"

/* Whether the host has nothing to say of the job: its agent is not confined. */
static bool is_silent(const arcp__admit_answer *answer)
{
    bool is_silent = answer->status == ARCP_OK && answer->plan == NULL;
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        is_silent = is_silent && answer->texts[i].size == 0 && !answer->texts[i].failed;
    }
    return is_silent;
}

static bool has_failed(const arcp__admit_answer *answer)
{
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        if (answer->texts[i].failed) {
            return true;
        }
    }
    return false;
}

void arcp__admit_texts_fini(arcp_buf texts[ARCP__ADMIT_TEXTS])
{
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        arcp_buf_fini(&texts[i]);
    }
}

static arcp_status refuse(const arcp__admit_answer *answer, arcp_buf *details, arcp_error *err)
{
    const bool is_known =
        answer->status == ARCP_E_PERMISSION_DENIED || answer->status == ARCP_E_AGENT_NOT_AVAILABLE;
    const arcp_span message = arcp_buf_span(&answer->texts[ARCP__ADMIT_MESSAGE]);
    if (details != NULL) {
        arcp_buf_append(details, arcp_buf_span(&answer->texts[ARCP__ADMIT_DETAILS]));
    }
    return arcp_error_set(err, is_known ? answer->status : ARCP_E_INTERNAL_ERROR, "%.*s",
                          (int)message.size, message.size == 0 ? "" : message.data);
}

/* Takes the plan and the texts of an answer that admits. */
static arcp_status keep(const arcp__agent_hosts *hosts, arcp__admit_answer *answer,
                        arcp__enforcement **out, arcp_error *err)
{
    arcp__enforcement *kept = has_failed(answer) ? NULL : arcp__alloc(sizeof *kept);
    if (kept == NULL) {
        if (answer->plan != NULL) {
            hosts->release(hosts->user, answer->plan);
        }
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
    }
    *kept = (arcp__enforcement){.hosts = hosts,
                                .plan = answer->plan,
                                .is_confined = answer->texts[ARCP__ADMIT_LEVEL].size != 0,
                                .is_shown = answer->is_shown};
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        kept->texts[i] = answer->texts[i];
        answer->texts[i] = arcp_buf_init();
    }
    *out = kept;
    return ARCP_OK;
}

static void ask(const arcp__agent_hosts *hosts, const arcp__job_order *order,
                const arcp__admit_request *place, arcp__admit_answer *answer)
{
    arcp__admit_request request = *place;
    request.agent = arcp_span_cstr(order->agent->text);
    request.lease = order->lease;
    request.max_runtime_sec = order->max_runtime_sec;
    hosts->admit(hosts->user, &request, answer);
}

arcp_status arcp__job_ask_host(arcp__jobs *jobs, const arcp__job_order *order,
                               const arcp__admit_request *place, arcp__enforcement **out,
                               arcp_buf *details, arcp_error *err)
{
    const arcp__agent_hosts *hosts = jobs->hosts;
    arcp__admit_answer answer = {.status = ARCP_OK};
    if (hosts->admit == NULL) {
        return ARCP_OK;
    }
    ask(hosts, order, place, &answer);
    if (is_silent(&answer)) {
        return ARCP_OK;
    }
    const arcp_status status =
        answer.status == ARCP_OK ? keep(hosts, &answer, out, err) : refuse(&answer, details, err);
    arcp__admit_texts_fini(answer.texts);
    return status;
}

void arcp__job_ask_host_only(const arcp__jobs *jobs, const arcp__job_order *order,
                             const arcp__admit_request *place, arcp__admit_answer *out)
{
    const arcp__agent_hosts *hosts = jobs->hosts;
    if (hosts->admit == NULL) {
        return;
    }
    ask(hosts, order, place, out);
    if (out->plan != NULL) {
        hosts->release(hosts->user, out->plan);
        out->plan = NULL;
    }
}

void arcp__enforcement_free(arcp__enforcement *enforcement)
{
    if (enforcement == NULL) {
        return;
    }
    if (enforcement->plan != NULL) {
        enforcement->hosts->release(enforcement->hosts->user, enforcement->plan);
    }
    arcp__admit_texts_fini(enforcement->texts);
    arcp__free(enforcement);
}
