/* x-vendor.arcpd.explain: how a job would be enforced, line by line of its lease, before it is
 * submitted. */
#include "session/view.h"

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define ENVELOPE_BYTES   1024u

/* A lease of many lines that are not exact may not fit. */
static bool fits(const arcp__sessions *sessions, const arcp_buf *payload)
{
    const uint64_t frame_bytes = sessions->context->settings.limits_frame_bytes;
    const size_t bytes_max =
        (frame_bytes < ANSWER_BYTES_MAX ? (size_t)frame_bytes : ANSWER_BYTES_MAX) - ENVELOPE_BYTES;
    return payload->size <= bytes_max;
}

void arcp__view_explain_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_explain *in = &call->in.explain;
    arcp__session *session = call->session;
    arcp__job_order order = {.submitter = &session->submitter,
                             .principal = session->principal,
                             .features = session->features,
                             .requested_agent = in->agent,
                             .json = &sessions->context->json,
                             .lease_request = in->lease_request,
                             .lease_constraints = in->lease_constraints};
    arcp_buf payload = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_error error = {0};
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp_status status = arcp__job_explain(sessions->jobs, &order, &writer, &details, &error);
    arcp_json_end_object(&writer);
    if (status == ARCP_OK && !fits(sessions, &payload)) {
        status = arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                                "the explanation of this lease exceeds a frame: ask for fewer "
                                "lines at once");
    }
    if (status == ARCP_OK) {
        arcp__view_answer(sessions, call, &payload);
    } else {
        arcp__view_refuse(sessions, call, &error, arcp__details(&details));
    }
    arcp_buf_fini(&payload);
    arcp_buf_fini(&details);
}
