/* job.accepted in the form that a session's client reads, and where it is no answer to a submit: of
 * children, and once more after a resume. */
#include "session/session_state.h"

void arcp__accepted_format(arcp__sessions *sessions, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out)
{
    if (!profile->omits_lease && !profile->budget_as_text) {
        arcp_buf_append(out, accepted);
        return;
    }
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    if (arcp_json_scan(&json, accepted, &limits, NULL) != ARCP_OK) {
        arcp_json_fini(&json);
        out->failed = true; /* it is JSON of ours: only memory can be missing */
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
        arcp_span text = arcp_json_string(&json, name, &sessions->context->scratch);
        if (profile->omits_lease && arcp_span_equal_cstr(text, "lease")) {
            continue;
        }
        arcp_json_name_span(&writer, text);
        if (!profile->budget_as_text || !arcp_span_equal_cstr(text, "budget")) {
            arcp_json_write_raw(&writer, arcp_json_raw(&json, name + 1));
            continue;
        }
        /* {"USD": 5} as {"USD": "USD:5"} */
        arcp_json_begin_object(&writer);
        for (arcp_json_ref at = arcp_json_first(&json, name + 1); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(&json, name + 1, at)) {
            arcp_span currency = arcp_json_string(&json, at, &sessions->context->scratch);
            arcp_buf value = ARCP_BUF_INIT;
            arcp_buf_append(&value, currency);
            arcp_buf_append_byte(&value, ':');
            arcp_buf_append(&value, arcp_json_raw(&json, at + 1));
            arcp_json_name_span(&writer, currency);
            arcp_json_write_string(&writer, arcp_buf_span(&value));
            out->failed = out->failed || value.failed;
            arcp_buf_fini(&value);
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    arcp_json_fini(&json);
}

void arcp__session_format_accepted(arcp__sessions *sessions, const arcp__session *session,
                                   const arcp__job *job, arcp_buf *frame)
{
    char id[ARCP__ID_SIZE];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__context_make_id(sessions->context, "msg_", id);
    arcp__accepted_format(sessions, arcp_span_cstr(job->accepted), session->profile, &payload);
    arcp__envelope_format(&(arcp__envelope_head){.type = "job.accepted",
                                                 .id = arcp_span_cstr(id),
                                                 .session_id = arcp_span_cstr(session->id),
                                                 .trace_id = arcp_span_cstr(job->trace_id),
                                                 .job_id = arcp_span_cstr(job->id)},
                          arcp_buf_span(&payload), frame);
    frame->failed = frame->failed || payload.failed;
    arcp_buf_fini(&payload);
}
