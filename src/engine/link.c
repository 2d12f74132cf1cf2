/* Links: one transport connection each, from the first byte to a session or a refusal. */
#include "engine/parts.h"

#include <assert.h>

#include "base/utf8.h"

arcp__link *arcp__link_new(arcp__engine *engine, const arcp__link_options *options)
{
    arcp__link *link = arcp__alloc(sizeof(*link));
    if (link == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    link->port.user = options->user;
    link->is_local = options->is_local;
    link->is_encrypted = options->is_encrypted;
    link->peer = options->peer;
    link->hello.secret = link->behind.secret = true; /* a hello has tokens in it */
    if (options->principal.size != 0) {
        link->preset_principal = arcp__copy_cstr(options->principal.data, options->principal.size);
        if (link->preset_principal == NULL) {
            arcp__context_no_memory(&engine->context);
        }
    }
    DL_APPEND2(engine->links, link, previous, next);
    arcp__context_arm(&engine->context, &link->hello_timer, ARCP__TIMER_HELLO, link,
                      arcp__context_after_sec(&engine->context,
                                              engine->context.settings.limits_hello_timeout_sec) -
                          options->waited_ms * ARCP_NS_PER_MS);
    if (engine->context.stopping) {
        arcp__link_close(engine, link, 1001, "the runtime is stopping", false);
    }
    return link;
}

bool arcp__link_is_private(const arcp__link *link)
{
    return link->is_local || link->is_encrypted;
}

arcp__link *arcp__link_find_authenticating(const arcp__engine *engine, uint64_t auth_id)
{
    /* Newest last: an answer usually comes for one that has just been asked. */
    if (engine->links == NULL) {
        return NULL;
    }
    for (arcp__link *link = engine->links->previous;; link = link->previous) {
        if (link->auth_id == auth_id && link->state == ARCP__LINK_AUTHENTICATING &&
            !link->port.is_closed) {
            return link;
        }
        if (link == engine->links) {
            return NULL;
        }
    }
}

void arcp__link_close(arcp__engine *engine, arcp__link *link, int close_code, const char *reason,
                      bool durable)
{
    if (link->port.is_closed) {
        return;
    }
    arcp__port_close(engine->log, &link->port, close_code, reason, durable);
    arcp__context_disarm(&engine->context, &link->hello_timer);
    arcp__context_disarm(&engine->context, &link->rest_timer);
    if (link->session != NULL) {
        arcp__session_detach(engine, link->session);
    }
}

/* The same, as the end of a job that there is not: for a client that knows no session.error. */
static void format_as_job_error(const arcp_error *error, arcp_span details, arcp_buf *payload)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, payload);
    arcp_json_begin_object(&writer);
    arcp__error_payload_local(&writer, error, details);
    arcp_json_name(&writer, "final_status");
    arcp_json_write_cstr(&writer, "error");
    arcp_json_end_object(&writer);
}

/* [arcp:EG-7] */
void arcp__link_fail(arcp__engine *engine, arcp__link *link, const arcp_error *error,
                     arcp_span details, int close_code)
{
    if (link->port.is_closed) {
        return;
    }
    /* Every frame of ours has a session_id, also where there is no session yet: existing
     * clients drop frames without one (docs/protocol.md, Envelope). */
    char fresh[ARCP__ID_SIZE];
    arcp_span session_id = {NULL, 0};
    if (link->session != NULL) {
        session_id = arcp_span_cstr(link->session->id);
    } else {
        arcp__context_make_id(&engine->context, "sess_", fresh);
        session_id = arcp_span_cstr(fresh);
    }
    char id[ARCP__ID_SIZE];
    arcp__context_make_id(&engine->context, "msg_", id);
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf frame = ARCP_BUF_INIT;
    bool is_job_error =
        link->session == NULL && link->profile != NULL && link->profile->refuses_hello_as_job_error;
    if (is_job_error) {
        format_as_job_error(error, details, &payload);
    } else {
        arcp__error_payload_format(error, details, &payload);
    }
    arcp__envelope_format(
        &(arcp__envelope_head){.type = is_job_error ? "job.error" : "session.error",
                               .id = arcp_span_cstr(id),
                               .session_id = session_id},
        arcp_buf_span(&payload), &frame);
    frame.failed = frame.failed || payload.failed;
    arcp_buf_fini(&payload);
    arcp__port_send(engine->log, &link->port, &frame, false);
    arcp__link_close(engine, link, close_code, error->message, false);
}

void arcp__link_hello_timeout(arcp__engine *engine, arcp__link *link)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_UNAUTHENTICATED, "%s within %llu s",
                         link->state == ARCP__LINK_AUTHENTICATING ? "the token was not verified"
                                                                  : "no session.hello",
                         (unsigned long long)engine->context.settings.limits_hello_timeout_sec);
    arcp__link_fail(engine, link, &error, arcp_span_make(NULL, 0), 1008);
}

/* A frame that is no envelope ends the transport; the session stays resumable. */
static void refuse_frame(arcp__engine *engine, arcp__link *link, arcp_span frame,
                         const arcp_error *error)
{
    arcp__link_fail(engine, link, error, arcp_span_make(NULL, 0),
                    arcp__utf8_is_valid(frame) ? 1008 : 1007);
}

static void handle_frame(arcp__engine *engine, arcp__link *link, arcp_span frame)
{
    arcp__message in = {0};
    arcp_error error = {0};
    const arcp_status status =
        arcp__context_read_frame(&engine->context, frame, &in.envelope, &error);
    if (status == ARCP_E_NO_MEMORY) { /* its sender chose its size */
        arcp__link_close(engine, link, 1011, "there is no memory for a frame of this size", false);
        return;
    }
    if (status != ARCP_OK) {
        refuse_frame(engine, link, frame, &error);
        return;
    }
    if (link->session != NULL) {
        arcp__session_receive(engine, link->session, &in);
        return;
    }
    if (in.envelope.type == ARCP_MESSAGE_SESSION_HELLO ||
        in.envelope.type == ARCP_MESSAGE_SESSION_RESUME) {
        arcp__session_hello(engine, link, frame, &in);
        return;
    }
    arcp_span shown = arcp_span_first(in.envelope.type_text, 64);
    (void)arcp_error_set(&error, ARCP_E_UNAUTHENTICATED,
                         "%.*s before session.hello: say hello first", (int)shown.size, shown.data);
    arcp__link_fail(engine, link, &error, arcp_span_make(NULL, 0), 1008);
}

/* A failed engine closes its links without a queue: nothing here allocates. */
bool arcp__links_next_close(arcp__engine *engine, arcp__effect *out)
{
    if (!engine->is_closing_links) {
        engine->is_closing_links = true;
        engine->next_to_close = engine->links;
    }
    while (engine->next_to_close != NULL) {
        arcp__link *link = engine->next_to_close;
        engine->next_to_close = link->next;
        if (!link->is_gone) {
            *out = (arcp__effect){.kind = ARCP__EFFECT_CLOSE,
                                  .link_user = link->port.user,
                                  .close_code = 1011,
                                  .text = ARCP_SPAN_LITERAL("the runtime ran out of memory")};
            return true;
        }
    }
    return false;
}

/* ---- who asks without reading the answers is not read either ---- */

#define UNSENT_PAUSE_BYTES 1048576u

/* What its requests take of memory: answers as soon as they are made, wherever they wait, and
 * submits that wait for their turn. Not the events of jobs, whose frames are made when there is
 * room. */
static uint64_t owed_bytes(const arcp__link *link)
{
    const arcp__session *session = link->session;
    return (uint64_t)link->port.queued + link->port.unsent +
           (session == NULL ? 0 : session->refusal_bytes + session->held_bytes);
}

/* A link that rests is not full: it need not be emptied before it goes on. */
static bool takes_frames(arcp__link *link)
{
    link->is_full =
        owed_bytes(link) > (link->is_full ? UNSENT_PAUSE_BYTES / 2 : UNSENT_PAUSE_BYTES);
    return !link->is_full && !link->has_behind && !link->rests;
}

void arcp__link_resume(arcp__engine *engine, arcp__link *link)
{
    if (!link->paused || link->port.is_closed || !takes_frames(link)) {
        return;
    }
    link->paused = false;
    if (link->session != NULL) { /* what it said meanwhile was not read */
        link->session->last_received_ns = engine->context.now.mono_ns;
        arcp__session_heartbeat_start(engine, link->session);
    }
    arcp__effect_push(engine->log, &link->port, &(arcp__effect){.kind = ARCP__EFFECT_RESUME_LINK},
                      NULL, false);
}

void arcp__link_rest(arcp__engine *engine, arcp__link *link, int64_t for_ns)
{
    const int64_t until_ns = engine->context.now.mono_ns + for_ns;
    if (!link->port.is_closed && link->state == ARCP__LINK_OPEN &&
        (!link->rests || link->rest_timer.at_ns < until_ns)) {
        link->rests = true;
        arcp__context_arm(&engine->context, &link->rest_timer, ARCP__TIMER_REST, link, until_ns);
    }
}

/* A frame takes some microseconds; those with leases that are hard to compare take milliseconds,
 * and each of them delays everybody. What is above the first three is charged to the
 * principal four times, so that one has a fifth of the loop for such frames. */
#define SLOW_FRAME_NS  (3 * ARCP_NS_PER_MS)
#define SLOW_FRAME_FEE 4

bool arcp__link_took(arcp__engine *engine, const arcp__link *link, int64_t took_ns)
{
    if (took_ns <= SLOW_FRAME_NS || link->session == NULL ||
        HASH_COUNT(engine->jobs.principals) < 2) {
        return false;
    }
    const arcp__principal *principal = link->session->principal;
    for (arcp__link *at = engine->links; at != NULL; at = at->next) {
        if (at->session != NULL && at->session->principal == principal) {
            arcp__link_rest(engine, at, (took_ns - SLOW_FRAME_NS) * SLOW_FRAME_FEE);
        }
    }
    return true;
}

void arcp__link_rest_due(arcp__engine *engine, arcp__link *link)
{
    link->rests = false;
    arcp__link_resume(engine, link);
}

static void hold(arcp__engine *engine, arcp__link *link, arcp_span frame)
{
    link->has_behind = true;
    arcp_buf_append(&link->behind, frame);
    if (link->behind.failed) { /* its sender chose its size, and is a stranger yet */
        arcp__link_close(engine, link, 1011, "there is no memory for a frame of this size", false);
    }
}

void arcp__link_authenticated(arcp__engine *engine, arcp__link *link)
{
    arcp_buf_fini(&link->hello);
    if (link->has_behind && !link->port.is_closed) {
        handle_frame(engine, link, arcp_buf_span(&link->behind));
    }
    link->has_behind = false;
    arcp_buf_fini(&link->behind);
}

void arcp__link_receive(arcp__engine *engine, arcp__link *link, arcp_span frame)
{
    if (link->port.is_closed) {
        return;
    }
    assert(!link->has_behind);
    if (frame.size > engine->context.settings.limits_frame_bytes) {
        arcp__link_close(engine, link, 1009, "the frame is larger than limits.frame_bytes", false);
    } else if (link->state == ARCP__LINK_AUTHENTICATING) {
        hold(engine, link, frame);
    } else {
        handle_frame(engine, link, frame);
    }
}

bool arcp__link_takes_more(arcp__link *link)
{
    link->paused = !takes_frames(link);
    return !link->paused;
}

void arcp__link_drained(arcp__engine *engine, arcp__link *link, size_t unsent)
{
    link->port.unsent = unsent;
    if (link->port.is_closed || link->state != ARCP__LINK_OPEN) {
        return;
    }
    arcp__link_resume(engine, link);
    if (link->session->sent_seq < link->session->durable_seq ||
        link->session->answers_first != NULL) {
        arcp__session_wake(engine, link->session);
    } else {
        /* The link had everything already: only its own writing held agents back. */
        arcp__session_drained(engine, link->session);
    }
}

void arcp__link_disconnect(arcp__engine *engine, arcp__link *link)
{
    if (link->session != NULL) {
        arcp__session_detach(engine, link->session);
    }
    arcp__port_drop(engine->log, &link->port);
    arcp__context_disarm(&engine->context, &link->hello_timer);
    arcp__context_disarm(&engine->context, &link->rest_timer);
    DL_DELETE2(engine->links, link, previous, next);
    arcp_buf_fini(&link->hello);
    arcp_buf_fini(&link->behind);
    arcp__free(link->preset_principal);
    arcp__free(link);
}
