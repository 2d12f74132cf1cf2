#include "base/timestamp.h"
#include "client/client_session.h"
#include "json/json_put.h"

void arcp__client_message_id(arcp__client_session *session, char out[ARCP__MESSAGE_ID_SIZE])
{
    memcpy(out, "msg_", 4);
    arcp__ulid_next(&session->id_source, session->now.wall_ns / ARCP_NS_PER_MS, out + 4);
}

static void write_time(arcp_json_writer *writer, const char *name, int64_t wall_ns)
{
    char text[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(wall_ns, text);
    arcp__put_text(writer, name, arcp_span_make(text, sizeof text));
}

/* ---- the queue ---- */

bool arcp__client_send(arcp__client_session *session, arcp__client_envelope e)
{
    static const char no_size[sizeof(uint32_t)] = {0};
    char own_id[ARCP__MESSAGE_ID_SIZE];
    if (e.id.size == 0) {
        arcp__client_message_id(session, own_id);
        e.id = arcp_span_make(own_id, sizeof own_id);
    }
    arcp_buf *frames = &session->frames;
    const size_t start = frames->size;
    arcp_buf_append(frames, arcp_span_make(no_size, sizeof no_size));
    arcp_json_writer writer = arcp__put_begin(frames);
    arcp__put_text(&writer, "arcp", ARCP_SPAN_LITERAL("1.1"));
    arcp__put_text(&writer, "id", e.id);
    arcp__put_text(&writer, "type", arcp_span_cstr(e.type));
    arcp__put_text(
        &writer, "session_id",
        arcp_buf_span(session->interim_id.size != 0 ? &session->interim_id : &session->id));
    arcp__put_text(&writer, "trace_id", e.trace_id);
    arcp__put_text(&writer, "job_id", e.job_id);
    arcp__put_raw(&writer, "payload", e.payload);
    arcp__put_raw(&writer, "extensions", e.extensions);
    arcp_json_end_object(&writer);
    const size_t size = frames->size - start - sizeof(uint32_t);
    if (frames->failed || size > UINT32_MAX) {
        frames->size = start;
        frames->failed = false;
        return false;
    }
    uint32_t prefix = (uint32_t)size;
    memcpy(frames->data + start, &prefix, sizeof prefix);
    session->sent_ns = session->now.mono_ns;
    return true;
}

bool arcp__client_session_next_frame(arcp__client_session *session, arcp_span *out)
{
    arcp_buf *frames = &session->frames;
    if (session->frames_taken == frames->size) {
        if (frames->secret) {
            arcp_buf_fini(frames);
            frames->secret = false;
        }
        arcp_buf_clear(frames);
        session->frames_taken = 0;
        return false;
    }
    uint32_t size = 0;
    memcpy(&size, frames->data + session->frames_taken, sizeof size);
    *out = arcp_span_make(frames->data + session->frames_taken + sizeof size, size);
    session->frames_taken += sizeof size + size;
    return true;
}

/* ---- the session's own messages ---- */

/* Takes the payload's memory. */
static bool send_payload(arcp__client_session *session, arcp__client_envelope e, arcp_buf *payload)
{
    e.payload = arcp_buf_span(payload);
    const bool is_queued = !payload->failed && arcp__client_send(session, e);
    arcp_buf_fini(payload);
    return is_queued;
}

/* Sends a message with a secret, to which the welcome responds. */
static bool send_secret(arcp__client_session *session, const char *type, arcp_buf *payload)
{
    session->frames.secret = true;
    arcp__client_message_id(session, session->hello_id);
    const arcp_span id = arcp_span_make(session->hello_id, ARCP__MESSAGE_ID_SIZE);
    return send_payload(session, (arcp__client_envelope){.type = type, .id = id}, payload);
}

/* Writes the members that identify the session to resume. Some runtimes call the token `token`,
 * some read the members from the hello itself. [arcp:6.3-2] [arcp:6.5-7] */
static void write_resume(arcp__client_session *session, arcp_json_writer *writer, bool with_session)
{
    const arcp_span token = arcp_secret_reveal(session->resume_token);
    if (with_session) {
        arcp__put_text(writer, "session_id", arcp_buf_span(&session->id));
        arcp__put_text(writer, "token", token);
    }
    arcp__put_text(writer, "resume_token", token);
    arcp__put_u64(writer, "last_event_seq", session->last_seq);
}

/* [arcp:6.1-1] */
bool arcp__client_send_hello(arcp__client_session *session)
{
    const arcp_client_options *given = &session->given;
    const arcp_secret *token = session->token;
    arcp_buf payload = arcp_buf_secret_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_object(&writer, "client");
    arcp__put_text(&writer, "name", given->client_name);
    arcp__put_text(&writer, "version", given->client_version);
    arcp_json_end_object(&writer);
    arcp__put_object(&writer, "auth");
    arcp__put_cstr(&writer, "scheme", token != NULL ? "bearer" : "none");
    if (token != NULL) {
        arcp__put_text(&writer, "token", arcp_secret_reveal(token));
    }
    arcp_json_end_object(&writer);
    arcp__put_object(&writer, "capabilities"); /* [arcp:6.2-1] */
    arcp__put_raw(&writer, "encodings", ARCP_SPAN_LITERAL("[\"json\"]"));
    arcp__put_array(&writer, "features");
    for (int feature = 0; feature < ARCP_FEATURE_COUNT; feature++) {
        if ((given->features & ARCP_FEATURE_BIT(feature)) != 0) {
            arcp_json_write_cstr(&writer, arcp_feature_name((arcp_feature)feature));
        }
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    if (session->has_session) {
        arcp__put_object(&writer, "resume");
        write_resume(session, &writer, true);
        arcp_json_end_object(&writer);
        write_resume(session, &writer, false);
    }
    arcp_json_end_object(&writer);
    return send_secret(session, "session.hello", &payload);
}

bool arcp__client_send_resume(arcp__client_session *session)
{
    arcp_buf payload = arcp_buf_secret_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    write_resume(session, &writer, true);
    arcp_json_end_object(&writer);
    return send_secret(session, "session.resume", &payload);
}

void arcp__client_payload_ping(const arcp__client_session *session, const char *nonce,
                               arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_text(&writer, "nonce", arcp_span_make(nonce, ARCP__MESSAGE_ID_SIZE));
    write_time(&writer, "sent_at", session->now.wall_ns);
    arcp_json_end_object(&writer);
}

/* [arcp:6.4-2] */
bool arcp__client_send_ping(arcp__client_session *session)
{
    char id[ARCP__MESSAGE_ID_SIZE];
    arcp_buf payload = arcp_buf_init();
    arcp__client_message_id(session, id);
    arcp__client_payload_ping(session, id, &payload);
    const arcp__client_envelope e = {.type = "session.ping", .id = arcp_span_make(id, sizeof id)};
    return send_payload(session, e, &payload);
}

/* [arcp:6.4-3] */
void arcp__client_on_ping(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_raw(&writer, "ping_nonce", arcp_json_raw(&session->json, in->nonce.value));
    write_time(&writer, "received_at", session->now.wall_ns);
    arcp_json_end_object(&writer);
    arcp__client_envelope e = {.type = "session.pong"};
    if (in->is_older) {
        e = (arcp__client_envelope){.type = "pong", .id = in->id};
    }
    session->failed = !send_payload(session, e, &payload) || session->failed;
}
