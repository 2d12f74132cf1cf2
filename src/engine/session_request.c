/* Requests of a session: which they are, their shape, and their answers.
 *
 * A request gets exactly one answer or one refusal, in any order but for submits, which
 * are answered in the order they came (session_answer.c). The answers of the last requests are
 * kept: the same envelope id again gets the same answer and executes nothing. */
#include "engine/parts.h"

#define NOTHING ((arcp_span){NULL, 0})

/* ---- the request object ---- */

static void request_free(arcp__request *request)
{
    arcp_buf_fini(&request->frame);
    arcp_buf_fini(&request->record);
    arcp_buf_fini(&request->lone_error);
    arcp_buf_fini(&request->held);
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
    if (envelope->id.size != 0) {
        memcpy(request->id, envelope->id.data, envelope->id.size);
    }
    request->hash = hash;
    request->type = envelope->type;
    arcp__trace_asked(&engine->context, envelope, request->trace_id);
    request->session = session;
    if (envelope->type == ARCP_MESSAGE_JOB_SUBMIT) {
        if (session->submits_first == NULL) {
            session->submits_first = request;
        } else {
            session->submits_last->next_submit = request;
        }
        session->submits_last = request;
        arcp__session_note_submits(session);
        arcp__session_settle_refusal(engine, session);
    }
    return request;
}

/* ---- answers ---- */

uint64_t arcp__session_append_own(arcp__engine *engine, arcp__session *session, arcp_span record)
{
    if (session->own == NULL) {
        session->own = arcp__stream_new(engine->log, "s:", arcp_span_cstr(session->id));
    }
    uint64_t position = 0;
    size_t bytes = 0;
    if (session->own == NULL ||
        !arcp__stream_append(engine->log, session->own, &record, 1, &position, &bytes)) {
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
    if (request->is_repeated) {
        arcp__seen_answer_again(engine, request->session, request->hash);
        return;
    }
    if (request->frame.size == 0 && !request->frame_is_record) {
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
        request_free(request);
    }
    arcp__session_note_submits(session);
    arcp__session_look(engine, session);
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

void arcp__session_note_submits(arcp__session *session)
{
    session->submitter.delays_children =
        session->submits_first != NULL && !session->profile->hides_children;
}

void arcp__session_fail_submits(arcp__session *session)
{
    while (session->submits_first != NULL) {
        arcp__request *request = session->submits_first;
        session->submits_first = request->next_submit;
        request_free(request);
    }
    session->submits_last = NULL;
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

static void refuse_ping(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    refuse(engine, request, ARCP_E_INVALID_REQUEST, "payload.nonce is larger than 4096 bytes");
}

static void refuse_hello(arcp__engine *engine, arcp__request *request, const arcp__message *in)
{
    refuse(engine, request, ARCP_E_INVALID_REQUEST, "this session has said hello already");
}

/* That it came is all it says. */
static bool hear_pong(arcp__engine *engine, arcp__session *session, const arcp__message *in)
{
    return true;
}

static bool hear_close(arcp__engine *engine, arcp__session *session, const arcp__message *in)
{
    arcp__session_settle_refusal(engine, session);
    arcp__session_close(engine, session, &in->envelope);
    return true;
}

static bool hear_bye(arcp__engine *engine, arcp__session *session, const arcp__message *in)
{
    arcp__session_bye(engine, session);
    return true;
}

typedef struct message_row {
    arcp_feature feature; /* that it needs */
    bool is_remembered;   /* it changes something: the same request again is answered as before */
    bool names_job;       /* by payload.job_id, which its refusal for want of the feature names */
    /* For one that needs no answer of its own; false: it is a request all the same. */
    bool (*hear)(arcp__engine *engine, arcp__session *session, const arcp__message *in);
    void (*handle)(arcp__engine *engine, arcp__request *request, const arcp__message *in);
} message_row;

/* What clients may send; the first hello of a link comes to link.c. */
static const message_row messages[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_SESSION_HELLO] = {ARCP_FEATURE_NONE, .handle = refuse_hello},
    [ARCP_MESSAGE_SESSION_RESUME] = {ARCP_FEATURE_NONE, .handle = refuse_hello},
    [ARCP_MESSAGE_SESSION_PING] = {ARCP_FEATURE_NONE, .hear = arcp__session_pong,
                                   .handle = refuse_ping},
    [ARCP_MESSAGE_SESSION_PONG] = {ARCP_FEATURE_NONE, .hear = hear_pong},
    [ARCP_MESSAGE_SESSION_CLOSE] = {ARCP_FEATURE_NONE, .hear = hear_close},
    [ARCP_MESSAGE_SESSION_BYE] = {ARCP_FEATURE_NONE, .hear = hear_bye},
    [ARCP_MESSAGE_SESSION_ACK] = {ARCP_FEATURE_ACK, .handle = arcp__session_ack},
    [ARCP_MESSAGE_SESSION_LIST_JOBS] = {ARCP_FEATURE_LIST_JOBS, .handle = arcp__session_list_jobs},
    [ARCP_MESSAGE_JOB_SUBMIT] = {ARCP_FEATURE_NONE, .is_remembered = true,
                                 .handle = arcp__session_submit},
    [ARCP_MESSAGE_JOB_CANCEL] = {ARCP_FEATURE_NONE, .is_remembered = true,
                                 .handle = arcp__session_cancel},
    [ARCP_MESSAGE_JOB_SUBSCRIBE] = {ARCP_FEATURE_SUBSCRIBE, .is_remembered = true,
                                    .names_job = true, .handle = arcp__session_subscribe},
    [ARCP_MESSAGE_JOB_UNSUBSCRIBE] = {ARCP_FEATURE_SUBSCRIBE, .is_remembered = true,
                                      .names_job = true, .handle = arcp__session_unsubscribe},
};

static bool is_ours(const arcp__session *session, const arcp__envelope *envelope)
{
    return envelope->session_id.size == 0 ||
           arcp_span_equal_cstr(envelope->session_id, session->id);
}

/* `error` is what is wrong with the payload. [arcp:6.2-4] [arcp:9.5-9] [arcp:LA-11] */
static void execute(arcp__engine *engine, arcp__request *request, const arcp__message *in,
                    arcp_error *error)
{
    const arcp__envelope *envelope = &in->envelope;
    const message_row *row = &messages[envelope->type];
    const arcp_span nothing = {NULL, 0};
    arcp_span job_id = nothing;
    if (!arcp_message_type_is_from_client(envelope->type)) {
        arcp_span shown = arcp_span_first(envelope->type_text, 64);
        (void)arcp_error_set(error, ARCP_E_INVALID_REQUEST,
                             "\"%.*s\" is not a message that a client can send", (int)shown.size,
                             shown.data);
    } else if (!is_ours(request->session, envelope)) {
        (void)arcp_error_set(error, ARCP_E_INVALID_REQUEST,
                             "the frame's session_id is not this session's");
    } else if (error->status == ARCP_OK && row->feature != ARCP_FEATURE_NONE &&
               !arcp__session_has_feature(request->session, row->feature)) {
        job_id = row->names_job ? arcp_span_first(in->job.job_id, ARCP__ENVELOPE_ID_MAX) : job_id;
        (void)arcp_error_set(
            error, ARCP_E_INVALID_REQUEST, "%s needs the feature \"%s\", which was not negotiated",
            arcp_message_type_name(envelope->type), arcp_feature_name(row->feature));
    }
    if (error->status != ARCP_OK) {
        arcp__request_refuse(engine, request, error, job_id, nothing);
    } else {
        row->handle(engine, request, in);
    }
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
        }
    }
    return true;
}

void arcp__session_receive(arcp__engine *engine, arcp__session *session, arcp__message *in)
{
    const arcp__envelope *envelope = &in->envelope;
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
        arcp__effect_log(engine->log, ARCP__LOG_DEBUG, "session %s: frame without \"arcp\":\"1.1\"",
                         session->id);
    }
    if (envelope->type == ARCP_MESSAGE_VENDOR) {
        return;
    }
    arcp_error error = {0};
    (void)arcp__message_read_payload(&engine->context, in, &error);
    const message_row *row = &messages[envelope->type];
    if (row->hear != NULL && is_ours(session, envelope) && row->hear(engine, session, in)) {
        return;
    }
    session->last_activity_ns = engine->context.now.mono_ns;
    uint64_t hash = arcp__hash_bytes(envelope->id.data, envelope->id.size);
    if (row->is_remembered &&
        (is_repeated(engine, session, envelope, hash) || !arcp__seen_add(engine, session, hash))) {
        return;
    }
    arcp__request *request = request_new(engine, session, envelope, hash);
    if (request != NULL) {
        execute(engine, request, in, &error);
    }
    if (request != NULL && envelope->type != ARCP_MESSAGE_JOB_SUBMIT) {
        request_free(request);
    }
}
