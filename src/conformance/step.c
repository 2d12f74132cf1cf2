#include "conformance/conformance.h"

#include <stdio.h>
#include <string.h>

/* ---- words ---- */

static arcp_span next_word(arcp_span *rest)
{
    size_t at = 0;
    while (at < rest->size && rest->data[at] != ' ') {
        at++;
    }
    arcp_span word = arcp_span_first(*rest, at);
    *rest = arcp_span_from(*rest, at < rest->size ? at + 1 : at);
    return word;
}

static arcp__talk_peer *peer_of(arcp__talk *t, arcp_span name)
{
    if (name.size == 0 || name.data[0] < 'a' || name.data[0] >= 'a' + ARCP__TALK_PEERS) {
        return NULL;
    }
    return &t->peers[name.data[0] - 'a'];
}

/* The value of $name. */
static const arcp_buf *value_of(arcp__talk *t, arcp_span word)
{
    const arcp_buf *value = arcp__variable_get(&t->variables, arcp_span_from(word, 1));
    if (value == NULL) {
        (void)arcp__talk_fail(t, "a case names a variable that is not set");
    }
    return value;
}

/* ---- what is waited for ---- */

static bool expect(arcp__talk *t, arcp__talk_peer *who, arcp_span type, arcp_span pattern)
{
    char name[64];
    arcp_json wanted = ARCP_JSON_INIT;
    arcp_error err = {0};
    (void)snprintf(name, sizeof(name), "%.*s", (int)type.size, type.data);
    if (!arcp__talk_await(t, who, name)) {
        return false;
    }
    bool fits = false;
    if (arcp__wire_scan(&wanted, pattern, &err) != ARCP_OK) {
        (void)arcp__talk_fail_with_error(t, "a pattern", &err);
    } else {
        fits = arcp__pattern_matches(&t->variables, &wanted, ARCP__LISTS_CONTAIN, &t->json,
                                     &t->verdict->why)
                   ? true
                   : arcp__talk_fail_with_frame(t);
    }
    arcp_json_fini(&wanted);
    return fits;
}

/* An error with one of the codes, parted by |. */
static bool expect_refusal(arcp__talk *t, arcp__talk_peer *who, arcp_span codes)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "a refusal: %.*s", (int)codes.size, codes.data);
    do {
        if (!arcp__talk_take(t, who, wanted)) {
            return false;
        }
    } while (arcp__talk_may_come_between(t));
    if (!arcp__frame_is(&t->json, "job.error") && !arcp__frame_is(&t->json, "session.error")) {
        return arcp__talk_unexpected(t, wanted);
    }
    arcp_json_ref code = arcp__payload_member(&t->json, "code");
    for (arcp_span rest = codes; rest.size != 0;) {
        size_t at = 0;
        while (at < rest.size && rest.data[at] != '|') {
            at++;
        }
        if (arcp_json_string_equals(&t->json, code, arcp_span_first(rest, at))) {
            return true;
        }
        rest = arcp_span_from(rest, at < rest.size ? at + 1 : at);
    }
    arcp_buf_append_cstr(&t->verdict->why, "payload.code is ");
    arcp__append_value(&t->verdict->why, &t->json, code);
    arcp_buf_append_format(&t->verdict->why, ", must be %.*s", (int)codes.size, codes.data);
    return arcp__talk_fail_with_frame(t);
}

/* Whether the frame ends a job that was accepted before: of `jobs`, one to a line. */
static bool is_end(const arcp__talk *t, const arcp_buf *jobs)
{
    arcp_span job = arcp_json_raw(&t->json, arcp__frame_member(&t->json, "job_id"));
    return arcp__frame_is(&t->json, "job.result") ||
           (arcp__frame_is(&t->json, "job.error") && job.size != 0 && jobs->size != 0 &&
            memmem(jobs->data, jobs->size, job.data, job.size) != NULL);
}

/* Of a child, which is no answer. */
static bool is_announced(const arcp__talk *t)
{
    return arcp__frame_is(&t->json, "job.accepted") &&
           arcp_json_is(&t->json, arcp__payload_member(&t->json, "parent_job_id"),
                        ARCP_JSON_STRING);
}

/* The answers to submits that were sent one behind the other: nothing in the draft but their order
 * says which is whose. */
static bool expect_answers(arcp__talk *t, arcp__talk_peer *who, arcp_span wanted)
{
    arcp_buf jobs = ARCP_BUF_INIT;
    bool in_order = true;
    for (size_t at = 0; in_order && at < wanted.size;) {
        if (!arcp__talk_take(t, who, "the answer to a submit")) {
            in_order = false;
            break;
        }
        bool accepted = arcp__frame_is(&t->json, "job.accepted");
        if (is_end(t, &jobs) || is_announced(t) || (!accepted && arcp__talk_may_come_between(t))) {
            continue;
        }
        if (accepted) {
            arcp_json_ref job = arcp__payload_member(&t->json, "job_id");
            arcp_buf_append(&jobs, arcp_json_raw(&t->json, job));
            arcp_buf_append_byte(&jobs, '\n');
        }
        bool refused =
            arcp__frame_is(&t->json, "job.error") || arcp__frame_is(&t->json, "session.error");
        if (wanted.data[at++] != '+' ? !refused : !accepted) {
            arcp_buf_append_format(&t->verdict->why, "answer %zu of %zu submits: ", at,
                                   wanted.size);
            in_order = arcp__talk_unexpected(t, refused ? "job.accepted" : "a refusal");
        }
    }
    arcp_buf_fini(&jobs);
    return in_order;
}

/* The end of the job, by whichever message, and of nothing else. */
static bool expect_end(arcp__talk *t, arcp__talk_peer *who, arcp_span word)
{
    const arcp_buf *job = value_of(t, word);
    if (job == NULL) {
        return false;
    }
    do {
        if (!arcp__talk_take(t, who, "the job's end")) {
            return false;
        }
    } while (arcp__talk_may_come_between(t) || arcp__frame_is(&t->json, "job.cancelled"));
    bool ended = arcp__frame_is(&t->json, "job.result") || arcp__frame_is(&t->json, "job.error");
    arcp_span of = arcp_json_raw(&t->json, arcp__frame_member(&t->json, "job_id"));
    return (ended && arcp_span_equal(of, arcp_buf_span(job))) ||
           arcp__talk_unexpected(t, "the job's end");
}

/* What about jobs may come before a pong. A pong need not wait for events that are still being
 * written. */
typedef enum before_pong {
    BEFORE_PONG_ANYTHING,
    BEFORE_PONG_EVENTS,
    BEFORE_PONG_NOTHING
} before_pong;

static bool may_precede(const arcp__talk *t, before_pong allowed)
{
    return arcp__frame_is(&t->json, "job.event") ? allowed != BEFORE_PONG_NOTHING
                                                 : allowed == BEFORE_PONG_ANYTHING;
}

static bool settle(arcp__talk *t, arcp__talk_peer *who, before_pong allowed)
{
    if (!arcp__talk_send(t, who, ARCP_SPAN_LITERAL("session.ping"),
                         ARCP_SPAN_LITERAL("{\"nonce\":$id,\"sent_at\":$now}"))) {
        return false;
    }
    for (unsigned passed = 0; passed < ARCP__TALK_FRAMES_MAX; passed++) {
        if (!arcp__talk_take(t, who, "session.pong")) {
            return false;
        }
        if (arcp__frame_is(&t->json, "session.pong")) {
            return true;
        }
        bool fits = arcp__frame_begins(&t->json, "job.") ? may_precede(t, allowed)
                                                         : arcp__talk_may_come_between(t);
        if (!fits) {
            static const char *const wanted[] = {"session.pong",
                                                 "session.pong, and no end of a job before it",
                                                 "session.pong, and nothing about jobs before it"};
            return arcp__talk_unexpected(t, wanted[allowed]);
        }
    }
    return arcp__talk_fail(t, "too many events before a pong");
}

/* ---- the other steps ---- */

static bool open_peer(arcp__talk *t, arcp__talk_peer *who)
{
    arcp_error err = {0};
    /* What a session that is resumed has negotiated is not said again: it may be anything. */
    who->look.may_chunk = who->look.may_progress = true;
    return arcp__wire_open(t->wire, &who->end, &err) == ARCP_OK ||
           arcp__talk_fail_with_error(t, "connecting", &err);
}

static void keep_session(arcp__talk *t, const arcp__talk_peer *who)
{
    char name[ARCP__VARIABLE_NAME_MAX];
    arcp__variable_set(&t->variables, arcp__talk_own_name(who, "session_", name),
                       arcp_json_raw(&t->json, arcp__frame_member(&t->json, "session_id")));
    arcp__variable_set(&t->variables, arcp__talk_own_name(who, "resume_", name),
                       arcp_json_raw(&t->json, arcp__payload_member(&t->json, "resume_token")));
}

static bool say_hello(arcp__talk *t, arcp__talk_peer *who, arcp_span features, const char *token)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf asked = ARCP_BUF_INIT;
    bool greeted = open_peer(t, who);
    if (greeted && !arcp__variables_replace(
                       &t->variables,
                       features.size != 0 ? features : ARCP_SPAN_LITERAL("$features"), &asked)) {
        greeted = arcp__talk_fail(t, "a case names a variable that is not set");
    }
    arcp_buf_append_format(&payload,
                           "{\"client\":{\"name\":\"arcp-conformance\",\"version\":\"1\"},\"auth\":"
                           "{\"scheme\":\"bearer\",\"token\":$%s},\"capabilities\":{\"encodings\":"
                           "[\"json\"],\"features\":",
                           token);
    arcp_buf_append(&payload, arcp_buf_span(&asked));
    arcp_buf_append_cstr(&payload, "}}");
    greeted =
        greeted && !payload.failed &&
        arcp__talk_send(t, who, ARCP_SPAN_LITERAL("session.hello"), arcp_buf_span(&payload)) &&
        expect(t, who, ARCP_SPAN_LITERAL("session.welcome"),
               ARCP_SPAN_LITERAL(
                   "{\"session_id\":\"$string\",\"payload\":{\"resume_token\":\"$string\"}}"));
    if (greeted) {
        arcp__look_welcome(&who->look, &t->json, arcp_buf_span(&asked));
        keep_session(t, who);
    }
    arcp_buf_fini(&payload);
    arcp_buf_fini(&asked);
    return greeted;
}

/* ---- resume ---- */

/* The next event is numbered one above the word's value, a variable's or a number. */
static bool begin_after(arcp__talk *t, arcp__talk_peer *who, arcp_span word)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_error err;
    bool is_name = word.size != 0 && word.data[0] == '$';
    const arcp_buf *value = is_name ? value_of(t, word) : NULL;
    if (is_name && value == NULL) {
        return false;
    }
    arcp_span text = is_name ? arcp_buf_span(value) : word;
    bool set = arcp__wire_scan(&json, text, &err) == ARCP_OK &&
               arcp_json_u64(&json, ARCP_JSON_ROOT, &who->look.number);
    who->look.has_number = set;
    arcp_json_fini(&json);
    return set || arcp__talk_fail(t, "a case resumes from what is no number");
}

typedef struct resume_words {
    arcp_span session, token, seq; /* of the step */
} resume_words;

/* The draft's message, and the hello that most clients say instead. */
static const char *const resume_types[] = {"session.resume", "session.hello"};
#define RESUME_FORMS 2

static void format_resume(const resume_words *words, size_t form, arcp_buf *out)
{
    arcp_buf members = ARCP_BUF_INIT;
    arcp_buf_append_format(&members,
                           "\"session_id\":%.*s,\"resume_token\":%.*s,\"last_event_seq\":%.*s",
                           (int)words->session.size, words->session.data, (int)words->token.size,
                           words->token.data, (int)words->seq.size, words->seq.data);
    arcp_buf_append_cstr(out, "{\"auth\":{\"scheme\":\"bearer\",\"token\":$token},");
    if (form == 0) {
        arcp_buf_append(out, arcp_buf_span(&members));
    } else {
        arcp_buf_append_cstr(out, "\"client\":{\"name\":\"arcp-conformance\",\"version\":\"1\"},"
                                  "\"capabilities\":{\"encodings\":[\"json\"],\"features\":"
                                  "$features},\"resume\":{");
        arcp_buf_append(out, arcp_buf_span(&members));
        arcp_buf_append_byte(out, '}');
    }
    arcp_buf_append_byte(out, '}');
    out->failed = out->failed || members.failed;
    arcp_buf_fini(&members);
}

/* On a connection of its own. */
static bool try_resume(arcp__talk *t, arcp__talk_peer *who, const resume_words *words, size_t form)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf_clear(&t->frame);
    arcp__wire_drop(who->end);
    who->end = NULL;
    arcp__look_fini(&who->look);
    format_resume(words, form, &payload);
    arcp__wire_begin(t->wire);
    const arcp_buf *session = value_of(t, words->session);
    bool resumed =
        session != NULL && !payload.failed && open_peer(t, who) &&
        begin_after(t, who, words->seq) &&
        arcp__talk_send(t, who, arcp_span_cstr(resume_types[form]), arcp_buf_span(&payload)) &&
        arcp__talk_take(t, who, "session.welcome");
    if (resumed && !arcp__frame_is(&t->json, "session.welcome")) {
        resumed = arcp__talk_unexpected(t, "session.welcome");
    }
    if (resumed &&
        !arcp_span_equal(arcp_json_raw(&t->json, arcp__frame_member(&t->json, "session_id")),
                         arcp_buf_span(session))) {
        (void)arcp__talk_fail(t, "the welcome is of another session");
        resumed = arcp__talk_fail_with_frame(t);
    }
    arcp_buf_fini(&payload);
    return resumed;
}

/* The form was understood, and the session is said to be gone. */
static bool is_expired(const arcp__talk *t)
{
    return t->frame.size != 0 &&
           memmem(t->frame.data, t->frame.size, "\"RESUME_WINDOW_EXPIRED\"", 23) != NULL;
}

static bool resume(arcp__talk *t, arcp__talk_peer *who, arcp_span rest)
{
    arcp__verdict *verdict = t->verdict;
    resume_words words;
    words.session = next_word(&rest);
    words.token = next_word(&rest);
    words.seq = rest;
    bool resumed = false;
    bool understood = false;
    for (size_t form = 0; form < RESUME_FORMS && !resumed; form++) {
        arcp__verdict unheard = {.section = verdict->section};
        bool is_last = form + 1 == RESUME_FORMS;
        t->verdict = is_last ? verdict : &unheard;
        t->verdict->left_open = ARCP_SPAN_LITERAL("in which message a resume is asked for");
        resumed = try_resume(t, who, &words, form);
        understood = understood || (!resumed && is_expired(t));
        t->verdict = verdict;
        arcp__verdict_fini(&unheard);
    }
    if (resumed || understood) {
        verdict->left_open = (arcp_span){NULL, 0};
    }
    if (resumed) {
        keep_session(t, who);
    }
    return resumed;
}

static bool check_differ(arcp__talk *t, arcp_span rest)
{
    const arcp_buf *left = value_of(t, next_word(&rest));
    const arcp_buf *right = value_of(t, next_word(&rest));
    if (left == NULL || right == NULL ||
        !arcp_span_equal(arcp_buf_span(left), arcp_buf_span(right))) {
        return left != NULL && right != NULL;
    }
    (void)arcp__talk_fail(t, "a value that has to be new is the same as before");
    return arcp__talk_fail_with_frame(t);
}

static bool check_lacks(arcp__talk *t, arcp_span word)
{
    const arcp_buf *value = value_of(t, word);
    if (value == NULL) {
        return false;
    }
    for (size_t at = 0; at + value->size <= t->frame.size; at++) {
        if (memcmp(t->frame.data + at, value->data, value->size) == 0) {
            arcp_buf_append_cstr(&t->verdict->why, "the message must not have ");
            arcp_buf_append(&t->verdict->why, arcp_buf_span(value));
            return arcp__talk_fail_with_frame(t);
        }
    }
    return true;
}

/* a VERB REST, a> TYPE PAYLOAD, a< TYPE PATTERN, a>> TEXT */
static bool step_of_peer(arcp__talk *t, arcp_span word, arcp_span rest)
{
    arcp__talk_peer *who = peer_of(t, word);
    if (who == NULL) {
        return arcp__talk_fail(t, "a case has a step that nobody knows");
    }
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL(">>"))) {
        return arcp__talk_send_as_it_stands(t, who, rest);
    }
    arcp_span verb = next_word(&rest);
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL(">"))) {
        return arcp__talk_send(t, who, verb, rest);
    }
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL("<"))) {
        return expect(t, who, verb, rest);
    }
    if (arcp_span_equal_cstr(verb, "refused")) {
        return expect_refusal(t, who, rest);
    }
    if (arcp_span_equal_cstr(verb, "settle")) {
        return settle(t, who, BEFORE_PONG_ANYTHING);
    }
    if (arcp_span_equal_cstr(verb, "endless")) {
        return settle(t, who, BEFORE_PONG_EVENTS);
    }
    if (arcp_span_equal_cstr(verb, "quiet")) {
        return settle(t, who, BEFORE_PONG_NOTHING);
    }
    if (arcp_span_equal_cstr(verb, "answers")) {
        return expect_answers(t, who, rest);
    }
    if (arcp_span_equal_cstr(verb, "ends")) {
        return expect_end(t, who, rest);
    }
    if (arcp_span_equal_cstr(verb, "lacks")) {
        return check_lacks(t, rest);
    }
    return arcp__talk_fail(t, "a case has a step that nobody knows");
}

bool arcp__step_play(arcp__talk *t, arcp_span line)
{
    arcp_span rest = line;
    arcp_span word = next_word(&rest);
    arcp__wire_begin(t->wire);
    if (arcp_span_equal_cstr(word, "differ")) {
        return check_differ(t, rest);
    }
    if (arcp_span_equal_cstr(word, "left-open")) {
        t->verdict->left_open = rest;
        return true;
    }
    if (word.size <= 3 && word.size != 0 &&
        (word.size == 1 || word.data[1] == '>' || word.data[1] == '<')) {
        return step_of_peer(t, word, rest);
    }
    arcp__talk_peer *who = peer_of(t, next_word(&rest));
    if (who == NULL) {
        return arcp__talk_fail(t, "a case has a step that nobody knows");
    }
    if (arcp_span_equal_cstr(word, "open")) {
        return open_peer(t, who);
    }
    if (arcp_span_equal_cstr(word, "hello")) {
        return say_hello(t, who, rest, "token");
    }
    if (arcp_span_equal_cstr(word, "other")) {
        return say_hello(t, who, rest, "other");
    }
    if (arcp_span_equal_cstr(word, "drop")) {
        arcp__wire_drop(who->end);
        who->end = NULL;
        return true;
    }
    if (arcp_span_equal_cstr(word, "resume")) {
        return resume(t, who, rest);
    }
    return arcp__talk_fail(t, "a case has a step that nobody knows");
}
