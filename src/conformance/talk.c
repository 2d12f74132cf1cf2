#include "conformance/conformance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <arcp/time.h>

#include "base/random.h"
#include "cli/cli.h"

static void fill_random(void *user, void *out, size_t size)
{
    (void)user;
    arcp__random(out, size);
}

void arcp__verdict_fini(arcp__verdict *verdict)
{
    arcp_buf_fini(&verdict->why);
    arcp_buf_fini(&verdict->frame);
}

void arcp__talk_init(arcp__talk *talk, arcp__wire *wire, arcp__verdict *verdict)
{
    *talk = (arcp__talk){
        .wire = wire, .verdict = verdict, .json = ARCP_JSON_INIT, .ids = {.random = fill_random}};
    for (size_t at = 0; at < ARCP__TALK_PEERS; at++) {
        talk->peers[at].name = (char)('a' + at);
    }
}

void arcp__talk_fini(arcp__talk *talk)
{
    for (size_t at = 0; at < ARCP__TALK_PEERS; at++) {
        arcp__wire_drop(talk->peers[at].end);
        arcp__look_fini(&talk->peers[at].look);
    }
    arcp__variables_fini(&talk->variables);
    arcp_json_fini(&talk->json);
    arcp_buf_fini(&talk->frame);
}

/* ---- failing ---- */

bool arcp__talk_fail(arcp__talk *t, const char *why)
{
    arcp_buf_append_cstr(&t->verdict->why, why);
    return false;
}

bool arcp__talk_fail_with_frame(arcp__talk *t)
{
    arcp_buf_clear(&t->verdict->frame);
    arcp_buf_append(&t->verdict->frame, arcp_buf_span(&t->frame));
    return false;
}

bool arcp__talk_fail_with_error(arcp__talk *t, const char *while_what, const arcp_error *err)
{
    t->verdict->status = err->status;
    arcp_buf_append_format(&t->verdict->why, "%s: %s", while_what, err->message);
    return false;
}

arcp_span arcp__talk_own_name(const arcp__talk_peer *who, const char *prefix,
                              char out[ARCP__VARIABLE_NAME_MAX])
{
    size_t size = strlen(prefix);
    memcpy(out, prefix, size);
    out[size] = who->name;
    return arcp_span_make(out, size + 1);
}

/* ---- sending ---- */

static bool send_text(arcp__talk *t, arcp__talk_peer *who, arcp_span text)
{
    arcp_error err = {0};
    if (who->end == NULL) {
        return arcp__talk_fail(t, "a case sends where nothing is connected");
    }
    return arcp__wire_send(who->end, text, &err) == ARCP_OK ||
           arcp__talk_fail_with_error(t, "sending", &err);
}

/* $id: a new one, a ULID, which is what the draft's own examples have. */
static void make_id(arcp__talk *t, char id[ARCP__ULID_SIZE + 1])
{
    arcp__ulid_next(&t->ids, arcp__now_wall_ns() / ARCP_NS_PER_MS, id);
    id[ARCP__ULID_SIZE] = '\0';
    arcp__variable_set_text(&t->variables, "id", arcp_span_cstr(id));
}

/* The draft has job_id in the envelope and in payloads, and leaves open where requests have it:
 * both. */
static void append_job_id(arcp_span payload, arcp_buf *out)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_error err;
    if (arcp__wire_scan(&json, payload, &err) == ARCP_OK) {
        arcp_json_ref job = arcp__frame_member(&json, "job_id");
        if (job != ARCP_JSON_ABSENT) {
            arcp_buf_append_cstr(out, ",\"job_id\":");
            arcp_buf_append(out, arcp_json_raw(&json, job));
        }
    }
    arcp_json_fini(&json);
}

bool arcp__talk_send(arcp__talk *t, arcp__talk_peer *who, arcp_span type, arcp_span payload)
{
    char id[ARCP__ULID_SIZE + 1];
    char name[ARCP__VARIABLE_NAME_MAX];
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    arcp_buf body = ARCP_BUF_SECRET_INIT;
    make_id(t, id);
    bool is_known = arcp__variables_replace(&t->variables, payload, &body);
    arcp_buf_append_format(&text, "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"%.*s\"", id,
                           (int)type.size, type.data);
    const arcp_buf *session =
        arcp__variable_get(&t->variables, arcp__talk_own_name(who, "session_", name));
    if (session != NULL) {
        arcp_buf_append_cstr(&text, ",\"session_id\":");
        arcp_buf_append(&text, arcp_buf_span(session));
    }
    append_job_id(arcp_buf_span(&body), &text);
    arcp_buf_append_cstr(&text, ",\"payload\":");
    arcp_buf_append(&text, arcp_buf_span(&body));
    arcp_buf_append_byte(&text, '}');
    bool sent = false;
    if (!is_known) {
        (void)arcp__talk_fail(t, "a case names a variable that is not set");
    } else if (text.failed || body.failed) {
        (void)arcp__talk_fail(t, "out of memory");
    } else {
        sent = send_text(t, who, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&body);
    return sent;
}

bool arcp__talk_send_as_it_stands(arcp__talk *t, arcp__talk_peer *who, arcp_span text)
{
    char id[ARCP__ULID_SIZE + 1];
    arcp_buf frame = ARCP_BUF_INIT;
    make_id(t, id);
    bool sent = arcp__variables_replace(&t->variables, text, &frame) && !frame.failed
                    ? send_text(t, who, arcp_buf_span(&frame))
                    : arcp__talk_fail(t, "a case names a variable that is not set");
    arcp_buf_fini(&frame);
    return sent;
}

/* ---- taking ---- */

static bool answer_ping(arcp__talk *t, arcp__talk_peer *who)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_ref nonce = arcp__payload_member(&t->json, "nonce");
    arcp_buf_append_cstr(&payload, "{\"ping_nonce\":");
    arcp_buf_append(&payload, nonce == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null")
                                                        : arcp_json_raw(&t->json, nonce));
    arcp_buf_append_cstr(&payload, ",\"received_at\":$now}");
    bool sent = !payload.failed &&
                arcp__talk_send(t, who, ARCP_SPAN_LITERAL("session.pong"), arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
    return sent;
}

/* No form is open for a frame that is wrong wherever it comes. */
static bool fail_with_wrong_frame(arcp__talk *t)
{
    t->verdict->left_open = (arcp_span){NULL, 0};
    return arcp__talk_fail_with_frame(t);
}

bool arcp__talk_take(arcp__talk *t, arcp__talk_peer *who, const char *what)
{
    arcp_error err = {0};
    char waiting[96];
    char name[ARCP__VARIABLE_NAME_MAX];
    char number[24];
    (void)snprintf(waiting, sizeof(waiting), "waiting for %s", what);
    for (;;) {
        if (who->end == NULL) {
            return arcp__talk_fail(t, "a case waits where nothing is connected");
        }
        if (arcp__wire_next(who->end, &t->frame, &err) != ARCP_OK) {
            return arcp__talk_fail_with_error(t, waiting, &err);
        }
        if (arcp__wire_scan(&t->json, arcp_buf_span(&t->frame), &err) != ARCP_OK) {
            t->verdict->section = "5";
            arcp_buf_append_format(&t->verdict->why, "a frame is no JSON: %s", err.message);
            return fail_with_wrong_frame(t);
        }
        bool had_number = who->look.has_number;
        if (!arcp__look_at(&who->look, &t->json, &t->verdict->section, &t->verdict->why)) {
            return fail_with_wrong_frame(t);
        }
        if (!had_number && who->look.has_number) {
            int size = snprintf(number, sizeof(number), "%" PRIu64, who->look.before);
            arcp__variable_set(&t->variables, arcp__talk_own_name(who, "before_", name),
                               arcp_span_make(number, (size_t)size));
        }
        if (!arcp__frame_is(&t->json, "session.ping")) {
            return true;
        }
        if (!answer_ping(t, who)) {
            return false;
        }
    }
}

/* job.accepted comes for children, and for submits whose answer may have been lost. */
bool arcp__talk_may_come_between(const arcp__talk *t)
{
    return arcp__frame_is(&t->json, "job.event") || arcp__frame_is(&t->json, "job.accepted") ||
           arcp__frame_is(&t->json, "session.pong") || arcp__frame_is(&t->json, "session.ack") ||
           arcp__frame_begins(&t->json, "x-");
}

bool arcp__talk_unexpected(arcp__talk *t, const char *wanted)
{
    arcp_buf_append_cstr(&t->verdict->why, "the next message is ");
    arcp__append_value(&t->verdict->why, &t->json, arcp__frame_member(&t->json, "type"));
    arcp_buf_append_format(&t->verdict->why, ", must be %s", wanted);
    return arcp__talk_fail_with_frame(t);
}

bool arcp__talk_await(arcp__talk *t, arcp__talk_peer *who, const char *type)
{
    for (unsigned passed = 0; passed < ARCP__TALK_FRAMES_MAX; passed++) {
        if (!arcp__talk_take(t, who, type)) {
            return false;
        }
        if (arcp__frame_is(&t->json, type)) {
            return true;
        }
        if (!arcp__talk_may_come_between(t)) {
            return arcp__talk_unexpected(t, type);
        }
    }
    return arcp__talk_fail(t, "too many events before what was waited for");
}
