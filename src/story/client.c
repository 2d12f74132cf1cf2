/* The lines of a story about its clients: sending frames, and expecting frames. */
#include "story/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/time.h>

/* ---- sending ---- */

/* Sets $id to a new ULID, as in the draft's examples. */
static void make_id(arcp__story *story, char id[ARCP__ULID_SIZE + 1])
{
    arcp__ulid_next(&story->ids, story->stage->now(story->stage->user) / ARCP_NS_PER_MS, id);
    id[ARCP__ULID_SIZE] = '\0';
    arcp__variable_set_text(&story->variables, "id", arcp_span_cstr(id));
}

/* The draft has job_id both in envelopes and in payloads, and leaves open where requests have it:
 * send both. */
static void append_ids(const arcp__story *story, const char *client, arcp_span payload,
                       arcp_buf *out)
{
    char name[] = "session_?";
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    name[sizeof name - 2] = client[0];
    const arcp_buf *session = arcp__variable_get(&story->variables, arcp_span_cstr(name));
    if (session != NULL) {
        arcp_buf_append_cstr(out, ",\"session_id\":");
        arcp_buf_append(out, arcp_buf_span(session));
    }
    if (arcp__wire_scan(&json, payload, &err) == ARCP_OK) {
        const arcp_json_ref job = arcp__frame_member(&json, "job_id");
        if (job != ARCP_JSON_ABSENT) {
            arcp_buf_append_cstr(out, ",\"job_id\":");
            arcp_buf_append(out, arcp_json_raw(&json, job));
        }
    }
    arcp__json_fini(&json);
}

bool arcp__story_send(arcp__story *story, const char *client, const char *type, const char *id,
                      const char *payload)
{
    char own[ARCP__ULID_SIZE + 1];
    arcp_buf text = arcp_buf_secret_init();
    arcp_buf body = arcp_buf_secret_init();
    if (id == NULL) {
        make_id(story, own);
    }
    bool sent = arcp__story_expand(story, payload, &body);
    if (sent) {
        arcp_buf_append_format(&text, "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"%s\"",
                               id == NULL ? own : id, type);
        if (story->stage->names_ids) {
            append_ids(story, client, arcp_span_cstr(body.data), &text);
        }
        arcp_buf_append_cstr(&text, ",\"payload\":");
        arcp_buf_append_cstr(&text, body.data);
        arcp_buf_append(&text, ARCP_SPAN_LITERAL("}\0"));
        sent = text.failed ? arcp__story_fail(story, "out of memory")
                           : story->stage->send(story->stage->user, client, text.data);
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&body);
    return sent;
}

/* ---- receiving ---- */

arcp_json_ref arcp__frame_member(const arcp_json *json, const char *name)
{
    return arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
}

arcp_json_ref arcp__payload_member(const arcp_json *json, const char *name)
{
    return arcp_json_member(json, arcp__frame_member(json, "payload"), arcp_span_cstr(name));
}

bool arcp__frame_is(const arcp_json *json, const char *type)
{
    return arcp_json_string_equals(json, arcp__frame_member(json, "type"), arcp_span_cstr(type));
}

static bool type_starts_with(const arcp__story *story, const char *prefix)
{
    const arcp_span raw = arcp_json_raw(&story->json, arcp__frame_member(&story->json, "type"));
    return raw.size > 2 && arcp_span_starts_with(arcp_span_from(raw, 1), arcp_span_cstr(prefix));
}

static bool is_refusal(const arcp__story *story)
{
    return arcp__frame_is(&story->json, "job.error") ||
           arcp__frame_is(&story->json, "session.error");
}

/* Whether the last frame may be skipped while another one is awaited. job.accepted may concern a
 * child, or a submit whose response may have been lost. */
static bool may_be_skipped(const arcp__story *story)
{
    return story->stage->clients.order == ARCP__STORY_SKIPPING &&
           (arcp__frame_is(&story->json, "job.event") ||
            arcp__frame_is(&story->json, "job.accepted") ||
            arcp__frame_is(&story->json, "session.pong") ||
            arcp__frame_is(&story->json, "session.ack") || type_starts_with(story, "x-"));
}

bool arcp__story_unexpected(arcp__story *story, const char *wanted)
{
    arcp_buf_append_cstr(&story->why, "the next message is ");
    arcp__append_value(&story->why, &story->json, arcp__frame_member(&story->json, "type"));
    return arcp__story_fail(story, ", must be %s", wanted);
}

/* Scans the index-th text of the source without removing it. */
static bool scan_text(arcp__story *story, const arcp__story_source *source, const char *name,
                      unsigned index)
{
    arcp_error err = {0};
    story->shows_frame = false;
    const char *text = source->text_at(story->stage->user, name, index);
    if (text == NULL) {
        return story->why.size != 0
                   ? false
                   : arcp__story_fail(story, "nothing was received, must be %s", story->awaited);
    }
    story->shows_frame = true;
    arcp_buf_clear(&story->frame);
    arcp_buf_append_cstr(&story->frame, text);
    if (story->frame.failed) {
        return arcp__story_fail(story, "out of memory");
    }
    return arcp__wire_scan(&story->json, arcp_buf_span(&story->frame), &err) == ARCP_OK ||
           arcp__story_fail(story, "the text is not JSON: %s", err.message);
}

bool arcp__story_take(arcp__story *story, const char *client, const char *awaited)
{
    const arcp__story_source *source = &story->stage->clients;
    story->awaited = awaited;
    if (!scan_text(story, source, client, 0)) {
        return false;
    }
    source->remove(story->stage->user, client, 0);
    return true;
}

bool arcp__story_expect(arcp__story *story, const arcp__story_source *source, const char *name,
                        const char *type, const char *pattern)
{
    arcp_json wanted = ARCP__JSON_INIT;
    arcp_error err = {0};
    bool fits = false;
    story->awaited = type[0] == '\0' ? pattern : type;
    if (arcp__wire_scan(&wanted, arcp_span_cstr(pattern), &err) != ARCP_OK) {
        return arcp__story_fail(story, "the pattern is not JSON: %s", err.message);
    }
    for (unsigned index = 0; !fits && scan_text(story, source, name, index);) {
        const bool has_type = type[0] == '\0' || arcp__frame_is(&story->json, type);
        arcp_buf_clear(&story->why);
        fits = has_type &&
               arcp__pattern_matches(&story->variables, &wanted, &story->json, &story->why);
        if (fits) {
            source->remove(story->stage->user, name, index);
        } else if (source->order == ARCP__STORY_ANY) {
            (void)arcp__story_fail(story, "none of the received frames matches %s %s",
                                   story->awaited, pattern);
            index++;
        } else if (!has_type && may_be_skipped(story)) {
            source->remove(story->stage->user, name, index);
        } else {
            (void)(has_type || arcp__story_unexpected(story, type));
            break;
        }
    }
    arcp__json_fini(&wanted);
    return fits;
}

bool arcp__story_expect_nothing(arcp__story *story, const arcp__story_source *source,
                                const char *name)
{
    const char *text =
        source->order == ARCP__STORY_NEXT ? source->text_at(story->stage->user, name, 0) : NULL;
    return text == NULL || arcp__story_fail(story, "unexpected frame: %s", text);
}

/* ---- the lines ---- */

/* Takes the next frame that may not be skipped. */
static bool take_relevant(arcp__story *story, const char *client, const char *awaited)
{
    bool taken = arcp__story_take(story, client, awaited);
    while (taken && may_be_skipped(story)) {
        taken = arcp__story_take(story, client, awaited);
    }
    return taken;
}

/* Expects an error with one of the codes, which are separated by |. */
static bool expect_refusal(arcp__story *story, const char *client, char *codes, int detail)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof wanted, "a refusal: %s", codes);
    if (!take_relevant(story, client, wanted)) {
        return false;
    }
    if (!is_refusal(story)) {
        return arcp__story_unexpected(story, wanted);
    }
    const arcp_json_ref code = arcp__payload_member(&story->json, "code");
    for (const char *rest = codes; *rest != '\0';) {
        const size_t size = strcspn(rest, "|");
        if (arcp_json_string_equals(&story->json, code, arcp_span_make(rest, size))) {
            return true;
        }
        rest += size + (rest[size] == '|');
    }
    arcp_buf_append_cstr(&story->why, "payload.code is ");
    arcp__append_value(&story->why, &story->json, code);
    return arcp__story_fail(story, ", must be %s", codes);
}

/* Whether the frame is not a response to a submit: it ends an accepted job (one of `jobs`, one per
 * line), or announces a child. */
static bool is_of_job(const arcp__story *story, const arcp_buf *jobs)
{
    const arcp_span job = arcp_json_raw(&story->json, arcp__frame_member(&story->json, "job_id"));
    return arcp__frame_is(&story->json, "job.result") ||
           (arcp__frame_is(&story->json, "job.error") && job.size != 0 && jobs->size != 0 &&
            memmem(jobs->data, jobs->size, job.data, job.size) != NULL) ||
           (arcp__frame_is(&story->json, "job.accepted") &&
            arcp_json_is(&story->json, arcp__payload_member(&story->json, "parent_job_id"),
                         ARCP_JSON_STRING));
}

/* Expects the responses to pipelined submits: in the draft only their order tells which response
 * belongs to which submit. */
static bool expect_answers(arcp__story *story, const char *client, char *wanted, int detail)
{
    arcp_buf jobs = arcp_buf_init();
    bool in_order = true;
    for (size_t i = 0; in_order && wanted[i] != '\0';) {
        in_order = arcp__story_take(story, client, "the response to a submit");
        const bool is_accepted = in_order && arcp__frame_is(&story->json, "job.accepted");
        if (!in_order || is_of_job(story, &jobs) || (!is_accepted && may_be_skipped(story))) {
            continue;
        }
        if (is_accepted) {
            const arcp_json_ref job = arcp__payload_member(&story->json, "job_id");
            arcp_buf_append(&jobs, arcp_json_raw(&story->json, job));
            arcp_buf_append_byte(&jobs, '\n');
        }
        if (wanted[i++] == '+' ? !is_accepted : !is_refusal(story)) {
            (void)arcp__story_fail(story, "response %zu of %zu submits: ", i, strlen(wanted));
            in_order =
                arcp__story_unexpected(story, is_refusal(story) ? "job.accepted" : "a refusal");
        }
    }
    arcp_buf_fini(&jobs);
    return in_order;
}

/* Expects the end of this job, job.result or job.error, and no other job's end before it. */
static bool expect_end(arcp__story *story, const char *client, char *word, int detail)
{
    const arcp_buf *job = arcp__story_value(story, word);
    bool taken = job != NULL && take_relevant(story, client, "the job's end");
    while (taken && arcp__frame_is(&story->json, "job.cancelled")) {
        taken = take_relevant(story, client, "the job's end");
    }
    if (!taken) {
        return false;
    }
    const bool has_ended =
        arcp__frame_is(&story->json, "job.result") || arcp__frame_is(&story->json, "job.error");
    const arcp_span of = arcp_json_raw(&story->json, arcp__frame_member(&story->json, "job_id"));
    return (has_ended && arcp_span_equal(of, arcp_buf_span(job))) ||
           arcp__story_unexpected(story, "the job's end");
}

/* Which messages about jobs may come before a pong. A pong may overtake events that are still being
 * stored. */
enum { BEFORE_PONG_ANYTHING, BEFORE_PONG_EVENTS, BEFORE_PONG_NOTHING };

static bool expect_pong(arcp__story *story, const char *client, char *rest, int allowed)
{
    static const char *const wanted[] = {"session.pong",
                                         "session.pong, with no job's end before it",
                                         "session.pong, with no message about a job before it"};
    bool fits =
        arcp__story_send(story, client, "session.ping", NULL, "{\"nonce\":$id,\"sent_at\":$now}");
    while (fits && arcp__story_take(story, client, "session.pong")) {
        if (arcp__frame_is(&story->json, "session.pong")) {
            return true;
        }
        if (!type_starts_with(story, "job.")) {
            fits = may_be_skipped(story);
        } else if (arcp__frame_is(&story->json, "job.event")) {
            fits = allowed != BEFORE_PONG_NOTHING;
        } else {
            fits = allowed == BEFORE_PONG_ANYTHING;
        }
        if (!fits) {
            return arcp__story_unexpected(story, wanted[allowed]);
        }
    }
    return false;
}

static bool check_lacks(arcp__story *story, const char *client, char *word, int detail)
{
    const arcp_buf *value = arcp__story_value(story, word);
    if (value == NULL ||
        memmem(story->frame.data, story->frame.size, value->data, value->size) == NULL) {
        return value != NULL;
    }
    return arcp__story_fail(story, "the message must not contain %.*s", (int)value->size,
                            value->data);
}

/* Whether the rest of the line begins with a message type, such as session.ping. */
static bool has_type(const char *rest)
{
    return rest[0] >= 'a' && rest[0] <= 'z' && memchr(rest, '.', strcspn(rest, " ")) != NULL;
}

static bool play_send(arcp__story *story, const char *client, char *rest)
{
    const arcp__story_stage *stage = story->stage;
    if (!stage->is_connected(stage->user, client) && !stage->connect(stage->user, client)) {
        return false;
    }
    if (has_type(rest)) {
        const char *type = arcp__story_word(&rest);
        const char *id = rest[0] == '#' ? arcp__story_word(&rest) + 1 : NULL;
        return arcp__story_send(story, client, type, id, rest[0] == '\0' ? "{}" : rest);
    }
    char id[ARCP__ULID_SIZE + 1];
    arcp_buf frame = arcp_buf_secret_init();
    make_id(story, id);
    const bool sent =
        arcp__story_expand(story, rest, &frame) && stage->send(stage->user, client, frame.data);
    arcp_buf_fini(&frame);
    return sent;
}

static bool play_expect(arcp__story *story, const char *client, char *rest)
{
    const arcp__story_stage *stage = story->stage;
    if (strncmp(rest, "close ", 6) == 0) {
        int code = 0;
        if (!stage->await_close(stage->user, client, &code)) {
            return story->why.size != 0 ? false
                                        : arcp__story_fail(story, "the connection is still open");
        }
        return code == (int)strtol(rest + 6, NULL, 10) ||
               arcp__story_fail(story, "closed with %d", code);
    }
    if (strcmp(rest, "nothing") == 0) {
        return arcp__story_expect_nothing(story, &stage->clients, client);
    }
    const char *type = has_type(rest) ? arcp__story_word(&rest) : "";
    return arcp__story_expect(story, &stage->clients, client, type, rest[0] == '\0' ? "{}" : rest);
}

static const struct {
    const char *name;
    bool (*play)(arcp__story *story, const char *client, char *rest, int detail);
    int detail;
} verbs[] = {
    {"refused", expect_refusal, 0},
    {"answers", expect_answers, 0},
    {"ends", expect_end, 0},
    {"quiet", expect_pong, BEFORE_PONG_NOTHING},
    {"endless", expect_pong, BEFORE_PONG_EVENTS},
    {"settle", expect_pong, BEFORE_PONG_ANYTHING},
    {"lacks", check_lacks, 0},
};

bool arcp__story_play_client(arcp__story *story, const char *word, char *rest)
{
    const char client[2] = {word[0], '\0'};
    if (word[1] != '\0') {
        return word[1] == '>' ? play_send(story, client, rest) : play_expect(story, client, rest);
    }
    const char *verb = arcp__story_word(&rest);
    for (size_t row = 0; row < sizeof verbs / sizeof verbs[0]; row++) {
        if (strcmp(verb, verbs[row].name) == 0) {
            return verbs[row].play(story, client, rest, verbs[row].detail);
        }
    }
    return arcp__story_fail(story, "unknown verb %s after a client", verb);
}
