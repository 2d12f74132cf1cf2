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
    arcp__put_text(writer, name, arcp_span_make(text, sizeof(text)));
}

/* ---- the queue ---- */

/* An envelope; what is empty is left out. */
typedef struct envelope {
    const char *type;
    arcp_span id, job_id, trace_id, payload, extensions;
} envelope;

static bool queue(arcp__client_session *session, const envelope *e)
{
    static const char no_size[sizeof(uint32_t)] = {0};
    arcp_buf *frames = &session->frames;
    size_t start = frames->size;
    arcp_buf_append(frames, arcp_span_make(no_size, sizeof(no_size)));
    arcp_json_writer writer = arcp__put_begin(frames);
    arcp__put_text(&writer, "arcp", ARCP_SPAN_LITERAL("1.1"));
    arcp__put_text(&writer, "id", e->id);
    arcp__put_text(&writer, "type", arcp_span_cstr(e->type));
    arcp__put_text(
        &writer, "session_id",
        arcp_buf_span(session->interim_id.size != 0 ? &session->interim_id : &session->id));
    arcp__put_text(&writer, "trace_id", e->trace_id);
    arcp__put_text(&writer, "job_id", e->job_id);
    arcp__put_raw(&writer, "payload", e->payload);
    arcp__put_raw(&writer, "extensions", e->extensions);
    arcp_json_end_object(&writer);
    size_t size = frames->size - start - sizeof(uint32_t);
    if (frames->failed || size > UINT32_MAX) {
        frames->size = start;
        frames->failed = false;
        return false;
    }
    uint32_t prefix = (uint32_t)size;
    memcpy(frames->data + start, &prefix, sizeof(prefix));
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
    memcpy(&size, frames->data + session->frames_taken, sizeof(size));
    *out = arcp_span_make(frames->data + session->frames_taken + sizeof(size), size);
    session->frames_taken += sizeof(size) + size;
    return true;
}

bool arcp__client_send_request(arcp__client_session *session, const arcp__client_request *request)
{
    envelope e = {.type = arcp__client_request_type(request->kind),
                  .id = arcp_span_make(request->id, ARCP__MESSAGE_ID_SIZE),
                  .payload = arcp_buf_span(&request->payload),
                  .extensions = arcp_buf_span(&request->extensions)};
    if (request->kind == ARCP__CLIENT_ASK_CANCEL) {
        e.job_id = arcp_span_cstr(request->job_id);
    }
    if (request->kind == ARCP__CLIENT_ASK_SUBMIT) {
        e.trace_id = arcp_span_make(request->trace_id, ARCP__TRACE_ID_SIZE);
    }
    return queue(session, &e);
}

/* ---- the session's own messages ---- */

/* Takes the payload's memory. `e` has an id, or gets a new one. */
static bool send_payload(arcp__client_session *session, envelope e, arcp_buf *payload)
{
    char own[ARCP__MESSAGE_ID_SIZE];
    if (e.id.size == 0) {
        arcp__client_message_id(session, own);
        e.id = arcp_span_make(own, sizeof(own));
    }
    e.payload = arcp_buf_span(payload);
    bool is_queued = !payload->failed && queue(session, &e);
    arcp_buf_fini(payload);
    return is_queued;
}

/* A message that the welcome answers. */
static bool send_secret(arcp__client_session *session, const char *type, arcp_buf *payload)
{
    session->frames.secret = true;
    arcp__client_message_id(session, session->hello_id);
    arcp_span id = arcp_span_make(session->hello_id, ARCP__MESSAGE_ID_SIZE);
    return send_payload(session, (envelope){.type = type, .id = id}, payload);
}

/* The members that name the session to come back to. Some runtimes call the token `token`,
 * some look for the members in the hello itself. [arcp:6.3-2] [arcp:6.5-7] */
static void write_resume(arcp__client_session *session, arcp_json_writer *writer, bool with_session)
{
    arcp_span token = arcp_secret_reveal(session->resume_token);
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
    arcp_buf payload = ARCP_BUF_SECRET_INIT;
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
    arcp_buf payload = ARCP_BUF_SECRET_INIT;
    arcp_json_writer writer = arcp__put_begin(&payload);
    write_resume(session, &writer, true);
    arcp_json_end_object(&writer);
    return send_secret(session, "session.resume", &payload);
}

/* [arcp:6.4-2] */
bool arcp__client_send_ping(arcp__client_session *session)
{
    char id[ARCP__MESSAGE_ID_SIZE];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__client_message_id(session, id);
    arcp__client_payload_ping(session, id, &payload);
    return send_payload(session,
                        (envelope){.type = "session.ping", .id = arcp_span_make(id, sizeof(id))},
                        &payload);
}

/* [arcp:6.4-3] */
void arcp__client_on_ping(arcp__client_session *session)
{
    const arcp__client_message *in = &session->in;
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_raw(&writer, "ping_nonce", arcp_json_raw(&session->json, in->nonce.value));
    write_time(&writer, "received_at", session->now.wall_ns);
    arcp_json_end_object(&writer);
    envelope e = {.type = "session.pong"};
    if (in->is_older) {
        e = (envelope){.type = "pong", .id = in->id};
    }
    session->failed = !send_payload(session, e, &payload) || session->failed;
}

/* [arcp:6.5-6] */
bool arcp__client_send_ack(arcp__client_session *session, uint64_t event_seq)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf_append_format(&payload, "{\"last_processed_seq\":%llu}",
                           (unsigned long long)event_seq);
    return send_payload(session, (envelope){.type = "session.ack"}, &payload);
}

/* [arcp:7.6-13] */
bool arcp__client_send_unsubscribe(arcp__client_session *session, arcp_span job_id)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp__client_payload_cancel(job_id, arcp_span_make(NULL, 0), &payload);
    return send_payload(session, (envelope){.type = "job.unsubscribe", .job_id = job_id}, &payload);
}

bool arcp__client_send_goodbye(arcp__client_session *session, const char *type)
{
    arcp_buf payload = ARCP_BUF_INIT;
    /* Some runtimes do not take a goodbye without a reason. */
    arcp_buf_append_cstr(&payload, "{\"reason\":\"done\"}");
    return send_payload(session, (envelope){.type = type}, &payload);
}

/* ---- payloads of requests ---- */

void arcp__client_payload_submit(const arcp_submit_options *options, arcp_span key, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_text(&writer, "agent", options->agent);
    arcp__put_raw(&writer, "input",
                  options->input.size == 0 ? ARCP_SPAN_LITERAL("{}") : options->input);
    if (options->built != NULL) {
        arcp_buf text = ARCP_BUF_INIT;
        arcp_lease_format(options->built, &text);
        arcp__put_raw(&writer, "lease_request", arcp_buf_span(&text));
        if (arcp_lease_has_expiry(options->built)) {
            arcp_buf_clear(&text);
            arcp_lease_format_constraints(options->built, &text);
            arcp__put_raw(&writer, "lease_constraints", arcp_buf_span(&text));
        }
        out->failed = out->failed || text.failed;
        arcp_buf_fini(&text);
    } else {
        arcp__put_raw(&writer, "lease_request", options->lease);
        arcp__put_raw(&writer, "lease_constraints", options->constraints);
    }
    arcp__put_text(&writer, "idempotency_key", key);
    if (options->max_runtime_sec != 0) {
        arcp__put_u64(&writer, "max_runtime_sec", options->max_runtime_sec);
    }
    arcp_json_end_object(&writer);
}

/* [arcp:7.6-2] */
void arcp__client_payload_subscribe(const arcp_subscribe_options *options, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_text(&writer, "job_id", options->job_id);
    if (options->history) {
        arcp__put_u64(&writer, "from_event_seq",
                      options->has_from_event_seq ? options->from_event_seq : 0);
    }
    arcp__put_bool(&writer, "history", options->history);
    arcp_json_end_object(&writer);
}

void arcp__client_payload_cancel(arcp_span job_id, arcp_span reason, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_text(&writer, "job_id", job_id);
    arcp__put_text(&writer, "reason", reason);
    arcp_json_end_object(&writer);
}

void arcp__client_payload_list(const arcp_list_options *options, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_object(&writer, "filter");
    if (options->statuses != 0) {
        arcp__put_array(&writer, "status");
        for (int status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
            if ((options->statuses & (UINT32_C(1) << status)) != 0) {
                arcp_json_write_cstr(&writer, arcp_job_status_name((arcp_job_status)status));
            }
        }
        arcp_json_end_array(&writer);
    }
    arcp__put_text(&writer, "agent", options->agent);
    arcp__put_text(&writer, "created_after", options->created_after);
    arcp__put_text(&writer, "created_before", options->created_before);
    arcp_json_end_object(&writer);
    if (options->limit != 0) {
        arcp__put_u64(&writer, "limit", options->limit);
    }
    arcp__put_text(&writer, "cursor", options->cursor);
    arcp_json_end_object(&writer);
}

void arcp__client_payload_ping(const arcp__client_session *session, const char *nonce,
                               arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_text(&writer, "nonce", arcp_span_make(nonce, ARCP__MESSAGE_ID_SIZE));
    write_time(&writer, "sent_at", session->now.wall_ns);
    arcp_json_end_object(&writer);
}
