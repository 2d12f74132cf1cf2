#include "session/view.h"

/* Jobs that an error names when a part of an id is not unique. */
#define NAMED_MAX 5u

static void refuse_unknown(arcp__sessions *sessions, const arcp__view_call *call, arcp_span text)
{
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    const arcp_span shown = arcp_span_first(text, 64);
    (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "there is no job \"%.*s\"", (int)shown.size,
                         shown.data);
    arcp_buf_append_cstr(&details, "{\"job_id\":");
    arcp_json_quote(arcp_span_first(text, ARCP__ENVELOPE_ID_MAX), &details);
    arcp_buf_append_byte(&details, '}');
    arcp__view_refuse(sessions, call, &error, arcp__details(&details));
    arcp_buf_fini(&details);
}

static void refuse_several(arcp__sessions *sessions, const arcp__view_call *call, arcp_span text,
                           arcp__job *const *found, size_t count)
{
    arcp_error error = {0};
    arcp_buf names = arcp_buf_init();
    for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
        arcp_buf_append_format(&names, "%s%s", i == 0 ? "" : ", ", found[i]->id);
    }
    arcp_buf_append_cstr(&names, count > NAMED_MAX ? " and others" : "");
    const arcp_span shown = arcp_span_first(text, 64);
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                         "payload.job_id \"%.*s\" begins or ends the ids of several jobs: %.*s",
                         (int)shown.size, shown.data, (int)names.size,
                         names.size == 0 ? "" : names.data);
    arcp_buf_fini(&names);
    arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
}

/* A principal without a role finds only its own jobs by a part of their ids. Another principal's
 * job is refused as a subscribe is: with PERMISSION_DENIED, or like one that does not exist.
 * [arcp:6.6-6] */
arcp__job *arcp__view_find(arcp__sessions *sessions, const arcp__view_call *call, arcp_role role)
{
    const arcp__session *session = call->session;
    const arcp_span text = call->in.job.job_id;
    const bool sees_all = session->role != ARCP_ROLE_NONE;
    const bool is_hidden =
        !sees_all && sessions->context->settings.authorization_hide_existence == ARCP__CHOICE_TRUE;
    arcp__job *job = arcp__job_find(sessions->jobs, text);
    if (job == NULL) {
        arcp__job *found[NAMED_MAX + 1];
        const size_t count =
            arcp__job_list_search(sees_all ? &sessions->jobs->in_order : &session->principal->jobs,
                                  text, ARCP__VIEW_JOBS_A_TURN, found, NAMED_MAX + 1);
        if (count > 1) {
            refuse_several(sessions, call, text, found, count);
            return NULL;
        }
        job = count == 0 ? NULL : found[0];
    }
    if (job == NULL || (job->principal != session->principal && is_hidden)) {
        refuse_unknown(sessions, call, text);
        return NULL;
    }
    if (job->principal == session->principal) {
        return job;
    }
    const arcp_status code = session->role < role ? ARCP_E_PERMISSION_DENIED : ARCP_OK;
    if (call->wait == NULL) {
        arcp__view_audit(sessions, call, job, ARCP__NOTHING, code, NULL);
    }
    if (code != ARCP_OK) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, code,
                             "the job belongs to another principal: %s needs the role %s",
                             call->row->name, arcp__role_name(role));
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return NULL;
    }
    return job;
}
