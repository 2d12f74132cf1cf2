/* Requests of a session: which they are, their shape, and their answers.
 *
 * A request gets exactly one answer or one refusal, in any order but for submits, which
 * are answered in the order they came (session_answer.c). The answers of the last requests are
 * kept: the same envelope id again gets the same answer and executes nothing. */
#include "engine/parts.h"

#define NOTHING ((arcp_span){NULL, 0})

/* ---- the request object ---- */

arcp__request *arcp__request_ref(arcp__request *request)
{
    request->refs++;
    return request;
}

void arcp__request_unref(arcp__request *request)
{
    if (--request->refs != 0) {
        return;
    }
    arcp_buf_fini(&request->frame);
    arcp_buf_fini(&request->record);
    arcp_buf_fini(&request->lone_error);
    arcp__session_unpin(request->session);
    arcp__free(request);
}

static arcp__request *request_new(arcp__engine *engine, arcp__session *session,
                                  const arcp__envelope *envelope, uint64_t hash)
{
    arcp__request *request = arcp__alloc(sizeof(*request) + envelope->id.size + 1);
    if (request == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    request->refs = 1;
    if (envelope->id.size != 0) {
        memcpy(request->id, envelope->id.data, envelope->id.size);
    }
    request->hash = hash;
    request->type = envelope->type;
    arcp__trace_asked(engine, envelope, request->trace_id);
    request->session = session;
    arcp__session_pin(session);
    if (envelope->type == ARCP_MESSAGE_JOB_SUBMIT) {
        arcp__request_ref(request);
        if (session->submits_first == NULL) {
            session->submits_first = request;
        } else {
            session->submits_last->next_submit = request;
        }
        session->submits_last = request;
        arcp__session_settle_refusal(engine, session);
    }
    return request;
}

/* ---- answers ---- */

uint64_t arcp__session_append_own(arcp__engine *engine, arcp__session *session, arcp_span record)
{
    if (session->own == NULL) {
        session->own = arcp__stream_new(engine, "s:", arcp_span_cstr(session->id));
    }
    uint64_t position = 0;
    size_t bytes = 0;
    if (session->own == NULL ||
        !arcp__stream_append(engine, session->own, &record, 1, &position, &bytes)) {
        return 0;
    }
    uint64_t seq = arcp__session_number(engine, session, session->own, position, 1, bytes);
    session->refusal_bytes += seq == 0 ? 0 : record.size;
    return seq;
}

static void release_refusal(arcp__engine *engine, arcp__request *request)
{
    arcp__session *session = request->session;
    arcp_span record = arcp_buf_span(&request->record);
    uint64_t seq = arcp__session_append_own(engine, session, record);
    if (seq == 0) {
        arcp__seen_forget_answer(session, request->hash); /* its link closes; ask again */
        return;
    }
    arcp_buf frame = ARCP_BUF_INIT;
    arcp__session_format_frame(engine, session, seq, record, &frame);
    arcp__seen_keep_answer(session, request->hash, seq, arcp_buf_span(&frame), NOTHING);
    arcp_buf_fini(&frame);
    if (request->type == ARCP_MESSAGE_JOB_SUBMIT) {
        session->refused_seq = seq;
    }
}

static void release_answer(arcp__engine *engine, arcp__request *request)
{
    request->sent = true;
    if (request->is_repeated && !request->session->ended) {
        arcp__seen_answer_again(engine, request->session, request->hash);
        return;
    }
    if (request->session->ended || (request->frame.size == 0 && !request->frame_is_record)) {
        return;
    }
    if (request->frame_is_record) {
        release_refusal(engine, request);
        return;
    }
    /* Whether it must be durable first: everything that changed is in the open batch. */
    if (request->is_secret) {
        arcp__seen_forget_answer(request->session, request->hash);
        arcp__session_send(engine, request->session, &request->frame, true);
        return;
    }
    arcp__seen_keep_answer(request->session, request->hash, 0, arcp_buf_span(&request->frame),
                           arcp_buf_span(&request->record));
    arcp_span job_id = arcp_span_cstr(request->revealed_job);
    if (request->type == ARCP_MESSAGE_JOB_SUBMIT) {
        arcp__session_send_in_order(engine, request->session, job_id, &request->frame);
    } else {
        arcp__session_send_revealed(engine, request->session, job_id, &request->frame);
    }
    if (request->record.size != 0) {
        (void)arcp__session_append_own(engine, request->session, arcp_buf_span(&request->record));
    }
}

/* Submits that are answered leave in their order. */
static void release_submits(arcp__engine *engine, arcp__session *session)
{
    while (session->submits_first != NULL && session->submits_first->answered) {
        arcp__request *request = session->submits_first;
        session->submits_first = request->next_submit;
        if (session->submits_first == NULL) {
            session->submits_last = NULL;
        }
        release_answer(engine, request);
        arcp__request_unref(request);
    }
    arcp__admissions_look(engine, session);
}

void arcp__request_finish(arcp__engine *engine, arcp__request *request)
{
    request->answered = true;
    if (request->type == ARCP_MESSAGE_JOB_SUBMIT) {
        release_submits(engine, request->session);
    } else {
        release_answer(engine, request);
    }
}

/* Its link is closed for want of memory: nothing waits for this one, and the same request
 * again is a new one. Where somebody else still works on the answer it may come. */
static void abandon(arcp__engine *engine, arcp__request *request)
{
    uint32_t ours = request->type == ARCP_MESSAGE_JOB_SUBMIT ? 2 : 1;
    if (request->answered || request->refs > ours) {
        return;
    }
    arcp__seen_forget_answer(request->session, request->hash);
    arcp_buf_clear(&request->frame);
    request->frame_is_record = false;
    arcp__request_finish(engine, request);
}

void arcp__session_fail_submits(arcp__engine *engine, arcp__session *session)
{
    while (session->submits_first != NULL) {
        arcp__request *request = session->submits_first;
        session->submits_first = request->next_submit;
        arcp__request_unref(request);
    }
    session->submits_last = NULL;
    arcp__admissions_look(engine, session);
}

void arcp__request_answer(arcp__engine *engine, arcp__request *request, const char *type,
                          arcp_span job_id, arcp_span trace_id, arcp_span payload)
{
    arcp_buf whole = arcp__context_take_buf(&engine->context);
    arcp_buf_fini(&request->frame);
    request->frame = arcp__context_take_buf(&engine->context);
    whole.secret = request->frame.secret = request->is_secret;
    arcp_span id = arcp_span_cstr(request->id);
    (void)arcp_buf_reserve(&whole, payload.size + 2 * id.size + 64);
    arcp_buf_append_cstr(&whole, "{\"request_id\":");
    arcp_json_quote(id, &whole);
    arcp_buf_append_cstr(&whole, ",\"reply_to\":");
    arcp_json_quote(id, &whole);
    if (payload.size > 2) {
        arcp_buf_append_byte(&whole, ',');
        arcp_buf_append(&whole, arcp_span_from(payload, 1));
    } else {
        arcp_buf_append_byte(&whole, '}');
    }
    arcp__envelope_format(&(arcp__envelope_head){.type = type,
                                                 .id = id,
                                                 .session_id = arcp_span_cstr(request->session->id),
                                                 .trace_id = trace_id,
                                                 .job_id = job_id},
                          arcp_buf_span(&whole), &request->frame);
    request->frame.failed = request->frame.failed || whole.failed;
    arcp__context_give_buf(&engine->context, &whole);
    if (request->frame.failed) {
        arcp__context_no_memory(&engine->context);
        arcp_buf_clear(&request->frame);
        return;
    }
    if (request->frame.size > engine->context.settings.limits_frame_bytes) {
        arcp_error error = {0};
        arcp_buf_clear(&request->frame);
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the answer is too large for one frame (limits.frame_bytes)");
        arcp__request_refuse(engine, request, &error,
                             request->type == ARCP_MESSAGE_JOB_SUBMIT ? NOTHING : job_id,
                             ARCP__FRAME_LIMIT);
        return;
    }
    arcp__request_finish(engine, request);
}

/* ---- dispatch ---- */

static void refuse(arcp__engine *engine, arcp__request *request, arcp_status status,
                   const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__request_refuse(engine, request, &error, arcp_span_make(NULL, 0), arcp_span_make(NULL, 0));
}

/* [arcp:6.2-4] */
static bool needs(arcp__engine *engine, arcp__request *request, arcp_feature feature,
                  arcp_span job_id)
{
    if (arcp__session_has_feature(request->session, feature)) {
        return true;
    }
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                         "%s needs the feature \"%s\", which was not negotiated",
                         arcp_message_type_name(request->type), arcp_feature_name(feature));
    arcp__request_refuse(engine, request, &error, job_id, arcp_span_make(NULL, 0));
    return false;
}

static arcp_span payload_string(arcp__engine *engine, arcp_json_ref payload, const char *name)
{
    arcp_json_ref ref = arcp_json_member(&engine->context.json, payload, arcp_span_cstr(name));
    return arcp_json_is(&engine->context.json, ref, ARCP_JSON_STRING)
               ? arcp_json_string(&engine->context.json, ref, &engine->context.scratch)
               : arcp_span_make(NULL, 0);
}

/* [arcp:6.6-6] */
static void refuse_unknown_job(arcp__engine *engine, arcp__request *request, arcp_span job_id)
{
    arcp_error error = {0};
    arcp_buf details = ARCP_BUF_INIT;
    arcp_span shown = arcp_span_first(job_id, 64);
    job_id = arcp_span_first(job_id, ARCP__ENVELOPE_ID_MAX);
    (void)arcp_error_set(&error, ARCP_E_JOB_NOT_FOUND, "there is no job \"%.*s\"", (int)shown.size,
                         shown.data);
    arcp_buf_append_cstr(&details, "{\"job_id\":");
    arcp_json_quote(job_id, &details);
    arcp_buf_append_byte(&details, '}');
    arcp__request_refuse(engine, request, &error, job_id, arcp__details(&details));
    arcp_buf_fini(&details);
}

static void cancel(arcp__engine *engine, arcp__request *request, const arcp__envelope *envelope)
{
    arcp_span in_payload = payload_string(engine, envelope->payload, "job_id");
    arcp_span job_id = in_payload.size != 0 ? in_payload : envelope->job_id;
    if (job_id.size == 0) {
        refuse(engine, request, ARCP_E_INVALID_REQUEST, "payload.job_id is missing");
        return;
    }
    if (in_payload.size != 0 && envelope->job_id.size != 0 &&
        !arcp_span_equal(in_payload, envelope->job_id)) {
        refuse(engine, request, ARCP_E_INVALID_REQUEST,
               "payload.job_id and the envelope's job_id differ");
        return;
    }
    arcp__job *job = arcp__job_find(engine, job_id);
    if (job == NULL || !arcp__job_is_visible_to(engine, job, request->session)) {
        arcp__job_cancel_unknown(engine, request, job, job_id);
        refuse_unknown_job(engine, request, job_id);
        return;
    }
    arcp__job_cancel_request(engine, request, job,
                             payload_string(engine, envelope->payload, "reason"));
}

/* [arcp:7.6-2] */
static void subscribe(arcp__engine *engine, arcp__request *request, const arcp__envelope *envelope)
{
    const arcp_json *json = &engine->context.json;
    arcp_span job_id = payload_string(engine, envelope->payload, "job_id");
    if (!needs(engine, request, ARCP_FEATURE_SUBSCRIBE,
               arcp_span_first(job_id, ARCP__ENVELOPE_ID_MAX))) {
        return;
    }
    arcp__job *job = arcp__job_find(engine, job_id);
    if (job == NULL) {
        refuse_unknown_job(engine, request, job_id);
        return;
    }
    arcp_json_ref history = arcp_json_member(json, envelope->payload, ARCP_SPAN_LITERAL("history"));
    arcp_json_ref from =
        arcp_json_member(json, envelope->payload, ARCP_SPAN_LITERAL("from_event_seq"));
    uint64_t from_seq = 0;
    bool has_from = arcp_json_u64(json, from, &from_seq);
    arcp__job_subscribe(engine, request, job, arcp_json_is(json, history, ARCP_JSON_TRUE), has_from,
                        from_seq);
}

static void unsubscribe(arcp__engine *engine, arcp__request *request,
                        const arcp__envelope *envelope)
{
    arcp_span job_id = payload_string(engine, envelope->payload, "job_id");
    if (!needs(engine, request, ARCP_FEATURE_SUBSCRIBE,
               arcp_span_first(job_id, ARCP__ENVELOPE_ID_MAX))) {
        return;
    }
    arcp__job *job = arcp__job_find(engine, job_id);
    if (job == NULL || arcp__observation_find(request->session, job) == NULL) {
        refuse_unknown_job(engine, request, job_id);
        return;
    }
    arcp__job_unsubscribe(engine, request, job);
}

/* Exactly-once matters for what changes something. */
static bool is_remembered(arcp_message_type type)
{
    return type == ARCP_MESSAGE_JOB_SUBMIT || type == ARCP_MESSAGE_JOB_CANCEL ||
           type == ARCP_MESSAGE_JOB_SUBSCRIBE || type == ARCP_MESSAGE_JOB_UNSUBSCRIBE;
}

/* [arcp:9.5-9] [arcp:LA-11] */
static void execute(arcp__engine *engine, arcp__request *request, const arcp__envelope *envelope)
{
    arcp_error error = {0};
    if (!arcp_message_type_is_from_client(envelope->type)) {
        arcp_span shown = arcp_span_first(envelope->type_text, 64);
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "\"%.*s\" is not a message that a client can send", (int)shown.size,
                             shown.data);
    } else if (envelope->session_id.size != 0 &&
               !arcp_span_equal_cstr(envelope->session_id, request->session->id)) {
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST,
                             "the frame's session_id is not this session's");
    } else if (arcp__message_body_check(envelope->type, &engine->context.json, envelope->payload,
                                        &error) == ARCP_OK) {
        error.status = ARCP_OK;
    }
    if (error.status != ARCP_OK) {
        arcp__request_refuse(engine, request, &error, arcp_span_make(NULL, 0),
                             arcp_span_make(NULL, 0));
        return;
    }
    if (envelope->type == ARCP_MESSAGE_SESSION_PING) {
        refuse(engine, request, ARCP_E_INVALID_REQUEST, "payload.nonce is larger than 4096 bytes");
    } else if (envelope->type == ARCP_MESSAGE_SESSION_HELLO ||
               envelope->type == ARCP_MESSAGE_SESSION_RESUME) {
        refuse(engine, request, ARCP_E_INVALID_REQUEST, "this session has said hello already");
    } else if (envelope->type == ARCP_MESSAGE_SESSION_ACK) {
        if (needs(engine, request, ARCP_FEATURE_ACK, arcp_span_make(NULL, 0))) {
            arcp__session_ack(engine, request, envelope->payload);
        }
    } else if (envelope->type == ARCP_MESSAGE_SESSION_LIST_JOBS) {
        if (needs(engine, request, ARCP_FEATURE_LIST_JOBS, arcp_span_make(NULL, 0))) {
            arcp__session_list_jobs(engine, request, envelope->payload);
        }
    } else if (envelope->type == ARCP_MESSAGE_JOB_SUBMIT) {
        arcp__job_submit(engine, request, envelope->payload, envelope);
    } else if (envelope->type == ARCP_MESSAGE_JOB_CANCEL) {
        cancel(engine, request, envelope);
    } else if (envelope->type == ARCP_MESSAGE_JOB_SUBSCRIBE) {
        subscribe(engine, request, envelope);
    } else if (envelope->type == ARCP_MESSAGE_JOB_UNSUBSCRIBE) {
        unsubscribe(engine, request, envelope);
    }
}

/* Frames that need no answer of their own. */
static bool is_chatter(arcp__engine *engine, arcp__session *session, const arcp__envelope *envelope)
{
    bool is_ours =
        envelope->session_id.size == 0 || arcp_span_equal_cstr(envelope->session_id, session->id);
    if (envelope->type == ARCP_MESSAGE_VENDOR) {
        return true;
    }
    if (!is_ours) {
        return false; /* refused by execute */
    }
    if (envelope->type == ARCP_MESSAGE_SESSION_PING) {
        return arcp__session_pong(engine, session, envelope);
    }
    if (envelope->type == ARCP_MESSAGE_SESSION_PONG) {
        return true;
    }
    if (envelope->type == ARCP_MESSAGE_SESSION_CLOSE) {
        arcp__session_settle_refusal(engine, session);
        arcp__session_close(engine, session, envelope);
        return true;
    }
    if (envelope->type == ARCP_MESSAGE_SESSION_BYE) {
        arcp__session_bye(engine, session);
        return true;
    }
    return false;
}

/* True for a request that was seen before. The answer to a submit keeps its order this time too;
 * one that is not answered yet is answered once. */
static bool is_repeated(arcp__engine *engine, arcp__session *session,
                        const arcp__envelope *envelope, uint64_t hash)
{
    bool is_answered = false;
    if (!arcp__seen_find(session, hash, &is_answered)) {
        return false;
    }
    if (is_answered && envelope->type != ARCP_MESSAGE_JOB_SUBMIT) {
        arcp__seen_answer_again(engine, session, hash);
    } else if (is_answered) {
        arcp__request *request = request_new(engine, session, envelope, hash);
        if (request != NULL) {
            request->is_repeated = true;
            arcp__request_finish(engine, request);
            arcp__request_unref(request);
        }
    }
    return true;
}

void arcp__session_receive(arcp__engine *engine, arcp__session *session,
                           const arcp__envelope *envelope)
{
    if (session->said_goodbye) {
        return; /* only what was asked before is answered */
    }
    session->last_received_ns = engine->context.now.mono_ns;
    if (session->has_previous) {
        /* The new link has spoken: the previous token is dead from here on. */
        session->has_previous = false;
        arcp__session_store(engine, session);
    }
    if (envelope->version_missing) {
        arcp__effect_log(engine, ARCP__LOG_DEBUG, "session %s: frame without \"arcp\":\"1.1\"",
                         session->id);
    }
    if (is_chatter(engine, session, envelope)) {
        return;
    }
    session->last_activity_ns = engine->context.now.mono_ns;
    uint64_t hash = arcp__hash_bytes(envelope->id.data, envelope->id.size);
    bool remembered = is_remembered(envelope->type);
    if (remembered && is_repeated(engine, session, envelope, hash)) {
        return;
    }
    if (remembered && !arcp__seen_add(engine, session, hash)) {
        return;
    }
    arcp__request *request = request_new(engine, session, envelope, hash);
    if (request != NULL) {
        execute(engine, request, envelope);
        if (engine->context.out_of_memory) {
            abandon(engine, request);
        }
        arcp__request_unref(request);
    }
}
