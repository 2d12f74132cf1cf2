/* job.submit (§7.1, §7.2): a session's submits are handled and answered in order.
 *
 * It is the turn of a session's first unanswered submit, unless another submit is making a job
 * under the same key. The submit then becomes an order (job_submit.c), whose outcome is the
 * response. A submit that must wait for its turn is held as its frame and read again later; one
 * whose job waits for a credential is answered when the job is made. Waiting submits are handled at
 * the end of each input (input.c). */
#include "session/session_state.h"

#include "core/trace.h"

#define KEY_BYTES_MAX 256u

/* Hashes the parameters of a submit: the agent as submitted, then input, lease_request,
 * lease_constraints and max_runtime_sec as canonical JSON. */
static void fingerprint(arcp__sessions *sessions, const arcp__submit *submit, uint8_t out[32])
{
    const arcp_json_ref members[] = {submit->input, submit->lease_request,
                                     submit->lease_constraints, submit->max_runtime_sec};
    arcp_buf text = arcp__context_take_buf(sessions->context);
    arcp_json_quote(submit->agent, &text);
    arcp_buf_append_byte(&text, '\n');
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (arcp_json_canonical(&sessions->context->json, members[i], &text, NULL) != ARCP_OK) {
            break;
        }
        arcp_buf_append_byte(&text, '\n');
    }
    arcp__context_check_text(sessions->context, &text);
    arcp__context_sha256(sessions->context, arcp_buf_span(&text), out);
    arcp__context_give_buf(sessions->context, &text);
}

/* `trace_id` need not be valid. */
static void refuse(arcp__sessions *sessions, arcp__request *request, arcp_span agent,
                   arcp_span trace_id, const arcp_error *error, const arcp_buf *details)
{
    char trace[ARCP__TRACE_ID_SIZE];
    const size_t trace_size = arcp__trace_id_parse(trace_id, trace) ? sizeof trace : 0;
    const arcp_span more = arcp__details(details);
    arcp__audit(sessions->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                    .decision = "denied",
                                    .who = arcp__session_who(request->session, NULL),
                                    .code = error->status,
                                    .reason = error->message,
                                    .more = {{"agent", agent},
                                             {"trace_id", arcp_span_make(trace, trace_size)},
                                             {"details", more}}});
    sessions->metrics.submits_refused[error->status]++;
    arcp__request_refuse(sessions, request, error, agent, more);
}

/* Answers with the payload in the form of the profile; the job's credentials are added when it is
 * sent. */
static void answer(arcp__sessions *sessions, arcp__request *request, const char *job_id,
                   arcp_span accepted, arcp_span trace_id)
{
    arcp_buf payload = arcp__context_take_buf(sessions->context);
    arcp__accepted_format(sessions, accepted, request->session->profile, &payload);
    arcp__context_check_text(sessions->context, &payload);
    arcp__context_check_text(sessions->context, &request->record);
    memcpy(request->revealed_job, job_id, ARCP__ID_SIZE);
    arcp__request_answer(sessions, request, "job.accepted", arcp_span_cstr(job_id), trace_id,
                         arcp_buf_span(&payload));
    arcp__context_give_buf(sessions->context, &payload);
}

/* A duplicate key gets the same response. A job that is still kept is observed with its history, so
 * that this session gets its end, too. [arcp:7.2-1] */
static void answer_same_key(arcp__sessions *sessions, arcp__request *request,
                            const arcp__job_answer *made, arcp_span key)
{
    arcp__session *session = request->session;
    arcp__job *job = arcp__job_find(sessions->jobs, arcp_span_cstr(made->job_id));
    arcp__observation *observation = job == NULL ? NULL : arcp__observation_find(session, job);
    if (job != NULL && observation == NULL) {
        observation = arcp__observation_add(sessions, session, job);
        if (observation == NULL) {
            return;
        }
        arcp__notification_queue(sessions, &(arcp__notification){.kind = ARCP__NOTIFY_CATCH_UP,
                                                                 .observation = observation});
    } else if (job != NULL && session->profile->repeats_end) {
        arcp__notification_queue(
            sessions, &(arcp__notification){.kind = ARCP__NOTIFY_END, .observation = observation});
    }
    if (observation != NULL && !observation->may_cancel) {
        observation->may_cancel = true;
        arcp__observation_store(sessions, observation);
    }
    if (job == NULL) {
        /* The job has ended and was evicted: report an end so that the client does not wait for
         * it. */
        char id[ARCP__ID_SIZE];
        arcp__context_make_id(sessions->context, "msg_", id);
        arcp_json_writer writer = arcp__put_begin(&request->record);
        arcp__put_cstr(&writer, "id", id);
        arcp__put_cstr(&writer, "type", "job.error");
        arcp__put_cstr(&writer, "job_id", made->job_id);
        arcp__put_object(&writer, "payload");
        arcp__put_cstr(&writer, "final_status", "error");
        arcp__error_payload_members(
            &writer, ARCP_E_JOB_NOT_FOUND,
            arcp_span_cstr(arcp_status_wire_code(ARCP_E_JOB_NOT_FOUND)),
            ARCP_SPAN_LITERAL("the job of this key has ended; its end is not kept any more"), false,
            ARCP__NOTHING);
        arcp__write_timestamp(&writer, "completed_at", sessions->context->now.wall_ns);
        arcp__put_cstr(&writer, "job_id", made->job_id);
        arcp_json_end_object(&writer);
        arcp_json_end_object(&writer);
    }
    answer(sessions, request, made->job_id, made->accepted,
           job == NULL ? ARCP__NOTHING : arcp_span_cstr(job->trace_id));
    arcp__audit(sessions->log, &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                                   .decision = "allowed",
                                                   .who = arcp__session_who(session, job),
                                                   .rule = "idempotency_key",
                                                   .more = {{"idempotency_key", key}}});
}

/* Adopts the new job, whose records the session gets, answers the submit and starts the job. */
static void accept(arcp__sessions *sessions, arcp__request *request, arcp__job *job,
                   bool is_narrowed, arcp_span key)
{
    arcp__session *session = request->session;
    if (!arcp__session_adopt(sessions, session, job, true)) {
        return;
    }
    answer(sessions, request, job->id, arcp_span_cstr(job->accepted),
           arcp_span_cstr(job->trace_id));
    arcp__audit(sessions->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                    .decision = "allowed",
                                    .who = arcp__session_who(session, job),
                                    .rule = is_narrowed ? "lease_request, policy" : "lease_request",
                                    .lease = job->live->lease,
                                    .more = {{"idempotency_key", key}}});
    arcp__job_start(sessions->jobs, job);
}

void arcp__session_submit(arcp__sessions *sessions, arcp__request *request, const arcp__message *in)
{
    arcp__session *session = request->session;
    const arcp__submit *submit = &in->submit;
    uint8_t print[32] = {0};
    char trace_id[ARCP__TRACE_ID_SIZE] = {0};
    arcp__trace trace;
    arcp_error error = {0};
    arcp__job_answer made = {0};
    arcp__job_order order = {.submitter = &session->submitter,
                             .principal = session->principal,
                             .features = session->features,
                             .requested_agent = submit->agent,
                             .json = &sessions->context->json,
                             .requested_input = submit->input,
                             .lease_request = submit->lease_request,
                             .lease_constraints = submit->lease_constraints,
                             .key = submit->idempotency_key,
                             .fingerprint = print,
                             .trace_id = arcp_span_make(trace_id, sizeof trace_id),
                             .trace = &trace};
    arcp__job_outcome outcome = ARCP__JOB_REFUSED;
    if (order.key.size > KEY_BYTES_MAX) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "payload.idempotency_key has %zu bytes, may have at most 256",
                             order.key.size);
    } else if (session->submits != request ||
               arcp__submitter_waits_for_key(order.submitter, order.principal, order.key)) {
        outcome = ARCP__JOB_WAITS; /* for its turn; bounded like running jobs */
        if (session->held_submits >= sessions->context->settings.limits_jobs_per_session) {
            arcp_buf_append_cstr(&made.details, "{\"limit\":\"limits.jobs_per_session\"}");
            (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                                 "too many submits wait for an answer (limits.jobs_per_session)");
            outcome = ARCP__JOB_REFUSED;
        } else {
            arcp_buf_append(&request->held, arcp_json_raw(order.json, ARCP_JSON_ROOT));
            arcp__context_check_text(sessions->context, &request->held);
            session->held_submits++;
            session->held_bytes += request->held.size;
        }
    } else {
        if (order.key.size != 0) {
            fingerprint(sessions, submit, print);
        }
        arcp__trace_read(sessions->jobs, &in->envelope, trace_id, &trace, &order.tracestate);
        (void)arcp_json_u64(order.json, submit->max_runtime_sec, &order.max_runtime_sec);
        outcome = arcp__job_submit(sessions->jobs, &order, &made, &error);
    }
    switch (outcome) {
    case ARCP__JOB_MADE:
        accept(sessions, request, made.job, made.is_narrowed, order.key);
        break;
    case ARCP__JOB_WAITS:
        request->admission = made.admission;
        break;
    case ARCP__JOB_SAME_KEY:
        answer_same_key(sessions, request, &made, order.key);
        break;
    case ARCP__JOB_REFUSED:
        refuse(sessions, request, order.requested_agent, in->envelope.trace_id, &error,
               &made.details);
        break;
    }
    arcp_buf_fini(&made.details);
}

/* ---- waiting submits ---- */

/* Makes the job of a submit that had to wait. */
static void admit(arcp__sessions *sessions, arcp__request *request)
{
    arcp__admission *admission = request->admission;
    arcp__job_order order = *arcp__admission_order(admission);
    arcp__job_answer made = {0};
    arcp_error error = {0};
    request->admission = NULL;
    if (arcp__job_admit(sessions->jobs, admission, &order, &made, &error) == ARCP__JOB_MADE) {
        accept(sessions, request, made.job, made.is_narrowed, order.key);
    } else {
        refuse(sessions, request, order.requested_agent, order.trace_id, &error, &made.details);
    }
    arcp_buf_fini(&made.details);
    arcp__admission_free(sessions->jobs, admission);
}

/* Handles one waiting submit or child; false: there is none whose turn it is. */
static bool take_turn(arcp__sessions *sessions, arcp__session *session)
{
    const arcp__submitter *submitter = &session->submitter;
    arcp__request *first = session->submits;
    const bool is_held = first != NULL && first->held.size != 0 && submitter->waits_for == NULL;
    const bool is_ready =
        first != NULL && first->admission != NULL && arcp__admission_is_ready(first->admission);
    arcp__admission *child =
        submitter->delays_children ? NULL : arcp__submitter_ready_child(submitter);
    if (!is_held && !is_ready && child == NULL) {
        return false;
    }
    if (is_held) {
        /* Handle it as if it had just arrived. */
        arcp__message in;
        arcp_buf frame = first->held;
        first->held = arcp_buf_init();
        session->held_submits--;
        session->held_bytes -= frame.size;
        if (arcp__message_read(sessions->context, arcp_buf_span(&frame), &in)) {
            arcp__session_submit(sessions, first, &in);
        } else {
            /* It was read before: there is no memory for its size any more. */
            arcp__request_refuse_with(sessions, first, ARCP_E_INTERNAL_ERROR,
                                      "there is no memory for a frame of this size");
        }
        arcp_buf_fini(&frame);
    } else if (is_ready) {
        admit(sessions, first);
    } else {
        arcp__job_admit_child(sessions->jobs, child);
    }
    if (session->link != NULL) {
        arcp__link_resume(sessions, session->link); /* the held frame counted against its limit */
    }
    arcp__session_job_ended(sessions, session); /* it may have been the last waiting submit */
    return true;
}

void arcp__sessions_run_scheduled(arcp__sessions *sessions)
{
    while (sessions->scheduled != NULL && !sessions->context->closing) {
        if (!take_turn(sessions, sessions->scheduled)) {
            arcp__session_unschedule(sessions, sessions->scheduled);
        }
    }
}
