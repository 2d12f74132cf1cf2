#include "arcp/conformance_play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "arcp/conformance_look.h"
#include "base/ulid.h"

#define PEERS 2
/* Events that are passed over while something else is waited for: more than any agent for a test
 * has. */
#define FRAMES_MAX 100000

const arcp__case arcp__cases[] = {
#define ARCP_CASE(section, title, needs, steps) {section, title, needs, steps},
#include "arcp/conformance_case.def"
#undef ARCP_CASE
};
const size_t arcp__case_count = sizeof(arcp__cases) / sizeof(arcp__cases[0]);

typedef struct peer {
    arcp__wire_end *end;
    arcp__look look;
    char name; /* 'a' */
} peer;

typedef struct play {
    const arcp__case *played;
    arcp__wire *wire;
    arcp__variables variables;
    peer peers[PEERS];
    arcp_buf frame; /* the last one taken */
    arcp_json json; /* of it */
    arcp__ulid_source ids;
    arcp__verdict *verdict;
} play;

void arcp__verdict_fini(arcp__verdict *verdict)
{
    arcp_buf_fini(&verdict->why);
    arcp_buf_fini(&verdict->frame);
}

/* ---- failing ---- */

static bool fail(play *p, const char *why)
{
    arcp_buf_append_cstr(&p->verdict->why, why);
    return false;
}

/* The frame that was taken last is the one. */
static bool fail_with_frame(play *p)
{
    arcp_buf_clear(&p->verdict->frame);
    arcp_buf_append(&p->verdict->frame, arcp_buf_span(&p->frame));
    return false;
}

static bool fail_with_error(play *p, const char *while_what, const arcp_error *err)
{
    p->verdict->status = err->status;
    arcp_buf_append_format(&p->verdict->why, "%s: %s", while_what, err->message);
    return false;
}

/* ---- words of a step ---- */

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

static peer *peer_of(play *p, arcp_span name)
{
    if (name.size == 0 || name.data[0] < 'a' || name.data[0] >= 'a' + PEERS) {
        return NULL;
    }
    return &p->peers[name.data[0] - 'a'];
}

/* session_a: of a peer. */
static arcp_span own_name(const peer *who, const char *prefix, char out[ARCP__VARIABLE_NAME_MAX])
{
    size_t size = strlen(prefix);
    memcpy(out, prefix, size);
    out[size] = who->name;
    return arcp_span_make(out, size + 1);
}

/* ---- sending ---- */

static bool send_text(play *p, peer *who, arcp_span text)
{
    arcp_error err = {0};
    if (who->end == NULL) {
        return fail(p, "a case sends where nothing is connected");
    }
    return arcp__wire_send(who->end, text, &err) == ARCP_OK || fail_with_error(p, "sending", &err);
}

static void fill_random(void *user, void *out, size_t size)
{
    if (uv_random(NULL, NULL, out, size, 0, NULL) != 0) {
        abort(); /* only a kernel without getrandom */
    }
}

/* $id: a new one, a ULID, which is what the draft's own examples have. */
static void make_id(play *p, char id[ARCP__ULID_SIZE + 1])
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    arcp__ulid_next(&p->ids, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, id);
    id[ARCP__ULID_SIZE] = '\0';
    arcp__variable_set_text(&p->variables, "id", arcp_span_cstr(id));
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

/* An envelope around what a step says. */
static bool send_message(play *p, peer *who, arcp_span type, arcp_span payload)
{
    char id[ARCP__ULID_SIZE + 1];
    char name[ARCP__VARIABLE_NAME_MAX];
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf body = ARCP_BUF_INIT;
    make_id(p, id);
    bool is_known = arcp__variables_replace(&p->variables, payload, &body);
    arcp_buf_append_format(&text, "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"%.*s\"", id,
                           (int)type.size, type.data);
    const arcp_buf *session = arcp__variable_get(&p->variables, own_name(who, "session_", name));
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
        (void)fail(p, "a case names a variable that is not set");
    } else if (text.failed || body.failed) {
        (void)fail(p, "out of memory");
    } else {
        sent = send_text(p, who, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&body);
    return sent;
}

static bool send_as_it_stands(play *p, peer *who, arcp_span text)
{
    char id[ARCP__ULID_SIZE + 1];
    arcp_buf frame = ARCP_BUF_INIT;
    make_id(p, id);
    bool sent = arcp__variables_replace(&p->variables, text, &frame) && !frame.failed
                    ? send_text(p, who, arcp_buf_span(&frame))
                    : fail(p, "a case names a variable that is not set");
    arcp_buf_fini(&frame);
    return sent;
}

/* ---- taking ---- */

static bool answer_ping(play *p, peer *who)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_ref nonce = arcp__payload_member(&p->json, "nonce");
    arcp_buf_append_cstr(&payload, "{\"ping_nonce\":");
    arcp_buf_append(&payload, nonce == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null")
                                                        : arcp_json_raw(&p->json, nonce));
    arcp_buf_append_cstr(&payload, ",\"received_at\":$now}");
    bool sent = !payload.failed &&
                send_message(p, who, ARCP_SPAN_LITERAL("session.pong"), arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
    return sent;
}

/* The next frame but pings, which are answered; looked at. `what` is waited for. */
static bool take(play *p, peer *who, const char *what)
{
    arcp_error err = {0};
    char waiting[96];
    char name[ARCP__VARIABLE_NAME_MAX];
    char number[24];
    (void)snprintf(waiting, sizeof(waiting), "waiting for %s", what);
    for (;;) {
        if (who->end == NULL) {
            return fail(p, "a case waits where nothing is connected");
        }
        if (arcp__wire_next(who->end, &p->frame, &err) != ARCP_OK) {
            return fail_with_error(p, waiting, &err);
        }
        if (arcp__wire_scan(&p->json, arcp_buf_span(&p->frame), &err) != ARCP_OK) {
            p->verdict->section = "5";
            arcp_buf_append_format(&p->verdict->why, "a frame is no JSON: %s", err.message);
            return fail_with_frame(p);
        }
        bool had_number = who->look.has_number;
        if (!arcp__look_at(&who->look, &p->json, &p->verdict->section, &p->verdict->why)) {
            return fail_with_frame(p);
        }
        if (!had_number && who->look.has_number) {
            int size = snprintf(number, sizeof(number), "%" PRIu64, who->look.before);
            arcp__variable_set(&p->variables, own_name(who, "before_", name),
                               arcp_span_make(number, (size_t)size));
        }
        if (!arcp__frame_is(&p->json, "session.ping")) {
            return true;
        }
        if (!answer_ping(p, who)) {
            return false;
        }
    }
}

/* What may come at any time, while something else is waited for: job.accepted for children, and for
 * submits whose answer may have been lost. */
static bool may_come_between(const play *p)
{
    return arcp__frame_is(&p->json, "job.event") || arcp__frame_is(&p->json, "job.accepted") ||
           arcp__frame_is(&p->json, "session.pong") || arcp__frame_is(&p->json, "session.ack") ||
           arcp__frame_begins(&p->json, "x-");
}

static bool unexpected(play *p, const char *wanted)
{
    arcp_buf_append_cstr(&p->verdict->why, "the next message is ");
    arcp__append_value(&p->verdict->why, &p->json, arcp__frame_member(&p->json, "type"));
    arcp_buf_append_format(&p->verdict->why, ", must be %s", wanted);
    return fail_with_frame(p);
}

/* Takes the next message of the type; what may come between is passed over. */
static bool await(play *p, peer *who, const char *type)
{
    for (unsigned passed = 0; passed < FRAMES_MAX; passed++) {
        if (!take(p, who, type)) {
            return false;
        }
        if (arcp__frame_is(&p->json, type)) {
            return true;
        }
        if (!may_come_between(p)) {
            return unexpected(p, type);
        }
    }
    return fail(p, "too many events before what was waited for");
}

static bool expect(play *p, peer *who, arcp_span type, arcp_span pattern)
{
    char name[64];
    arcp_json wanted = ARCP_JSON_INIT;
    arcp_error err = {0};
    (void)snprintf(name, sizeof(name), "%.*s", (int)type.size, type.data);
    if (!await(p, who, name)) {
        return false;
    }
    bool fits = false;
    if (arcp__wire_scan(&wanted, pattern, &err) != ARCP_OK) {
        (void)fail_with_error(p, "a pattern", &err);
    } else {
        fits = arcp__pattern_matches(&p->variables, &wanted, ARCP_JSON_ROOT, &p->json,
                                     ARCP_JSON_ROOT, &p->verdict->why)
                   ? true
                   : fail_with_frame(p);
    }
    arcp_json_fini(&wanted);
    return fits;
}

/* An error with one of the codes, parted by |. */
static bool expect_refusal(play *p, peer *who, arcp_span codes)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "a refusal: %.*s", (int)codes.size, codes.data);
    do {
        if (!take(p, who, wanted)) {
            return false;
        }
    } while (may_come_between(p));
    if (!arcp__frame_is(&p->json, "job.error") && !arcp__frame_is(&p->json, "session.error")) {
        return unexpected(p, wanted);
    }
    arcp_json_ref code = arcp__payload_member(&p->json, "code");
    for (arcp_span rest = codes; rest.size != 0;) {
        size_t at = 0;
        while (at < rest.size && rest.data[at] != '|') {
            at++;
        }
        if (arcp_json_string_equals(&p->json, code, arcp_span_first(rest, at))) {
            return true;
        }
        rest = arcp_span_from(rest, at < rest.size ? at + 1 : at);
    }
    arcp_buf_append_cstr(&p->verdict->why, "payload.code is ");
    arcp__append_value(&p->verdict->why, &p->json, code);
    arcp_buf_append_format(&p->verdict->why, ", must be %.*s", (int)codes.size, codes.data);
    return fail_with_frame(p);
}

/* A ping and its pong; about jobs nothing may come before it when it is to be quiet. */
static bool settle(play *p, peer *who, bool is_quiet)
{
    if (!send_message(p, who, ARCP_SPAN_LITERAL("session.ping"),
                      ARCP_SPAN_LITERAL("{\"nonce\":$id,\"sent_at\":$now}"))) {
        return false;
    }
    for (unsigned passed = 0; passed < FRAMES_MAX; passed++) {
        if (!take(p, who, "session.pong")) {
            return false;
        }
        if (arcp__frame_is(&p->json, "session.pong")) {
            return true;
        }
        if (arcp__frame_begins(&p->json, "job.") ? is_quiet : !may_come_between(p)) {
            return unexpected(p, is_quiet ? "session.pong, and nothing about jobs before it"
                                          : "session.pong");
        }
    }
    return fail(p, "too many events before a pong");
}

/* ---- the other steps ---- */

static bool open_peer(play *p, peer *who)
{
    arcp_error err = {0};
    /* What a session that is resumed has negotiated is not said again: it may be anything. */
    who->look.may_chunk = who->look.may_progress = true;
    return arcp__wire_open(p->wire, &who->end, &err) == ARCP_OK ||
           fail_with_error(p, "connecting", &err);
}

static bool say_hello(play *p, peer *who, arcp_span features, const char *token)
{
    char name[ARCP__VARIABLE_NAME_MAX];
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_buf asked = ARCP_BUF_INIT;
    bool greeted = open_peer(p, who);
    if (greeted && !arcp__variables_replace(
                       &p->variables,
                       features.size != 0 ? features : ARCP_SPAN_LITERAL("$features"), &asked)) {
        greeted = fail(p, "a case names a variable that is not set");
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
        send_message(p, who, ARCP_SPAN_LITERAL("session.hello"), arcp_buf_span(&payload)) &&
        expect(p, who, ARCP_SPAN_LITERAL("session.welcome"),
               ARCP_SPAN_LITERAL(
                   "{\"session_id\":\"$string\",\"payload\":{\"resume_token\":\"$string\"}}"));
    if (greeted) {
        arcp__look_welcome(&who->look, &p->json, arcp_buf_span(&asked));
        arcp__variable_set(&p->variables, own_name(who, "session_", name),
                           arcp_json_raw(&p->json, arcp__frame_member(&p->json, "session_id")));
        arcp__variable_set(&p->variables, own_name(who, "resume_", name),
                           arcp_json_raw(&p->json, arcp__payload_member(&p->json, "resume_token")));
    }
    arcp_buf_fini(&payload);
    arcp_buf_fini(&asked);
    return greeted;
}

static const arcp_buf *value_of(play *p, arcp_span word)
{
    const arcp_buf *value = arcp__variable_get(&p->variables, arcp_span_from(word, 1));
    if (value == NULL) {
        (void)fail(p, "a case names a variable that is not set");
    }
    return value;
}

static bool begin_after(play *p, peer *who, arcp_span word)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_error err;
    const arcp_buf *value = value_of(p, word);
    bool set = value != NULL && arcp__wire_scan(&json, arcp_buf_span(value), &err) == ARCP_OK &&
               arcp_json_u64(&json, ARCP_JSON_ROOT, &who->look.number);
    who->look.has_number = set;
    arcp_json_fini(&json);
    return set;
}

static bool check_differ(play *p, arcp_span rest)
{
    const arcp_buf *left = value_of(p, next_word(&rest));
    const arcp_buf *right = value_of(p, next_word(&rest));
    if (left == NULL || right == NULL ||
        !arcp_span_equal(arcp_buf_span(left), arcp_buf_span(right))) {
        return left != NULL && right != NULL;
    }
    (void)fail(p, "a value that has to be new is the same as before");
    return fail_with_frame(p);
}

static bool check_lacks(play *p, arcp_span word)
{
    const arcp_buf *value = value_of(p, word);
    if (value == NULL) {
        return false;
    }
    for (size_t at = 0; at + value->size <= p->frame.size; at++) {
        if (memcmp(p->frame.data + at, value->data, value->size) == 0) {
            arcp_buf_append_cstr(&p->verdict->why, "the message must not have ");
            arcp_buf_append(&p->verdict->why, arcp_buf_span(value));
            return fail_with_frame(p);
        }
    }
    return true;
}

/* a VERB REST, a> TYPE PAYLOAD, a< TYPE PATTERN, a>> TEXT */
static bool step_of_peer(play *p, arcp_span word, arcp_span rest)
{
    peer *who = peer_of(p, word);
    if (who == NULL) {
        return fail(p, "a case has a step that nobody knows");
    }
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL(">>"))) {
        return send_as_it_stands(p, who, rest);
    }
    arcp_span verb = next_word(&rest);
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL(">"))) {
        return send_message(p, who, verb, rest);
    }
    if (arcp_span_ends_with(word, ARCP_SPAN_LITERAL("<"))) {
        return expect(p, who, verb, rest);
    }
    if (arcp_span_equal_cstr(verb, "refused")) {
        return expect_refusal(p, who, rest);
    }
    if (arcp_span_equal_cstr(verb, "quiet") || arcp_span_equal_cstr(verb, "settle")) {
        return settle(p, who, verb.data[0] == 'q');
    }
    if (arcp_span_equal_cstr(verb, "lacks")) {
        return check_lacks(p, rest);
    }
    return fail(p, "a case has a step that nobody knows");
}

static bool play_step(play *p, arcp_span line)
{
    arcp_span rest = line;
    arcp_span word = next_word(&rest);
    arcp__wire_begin(p->wire);
    if (arcp_span_equal_cstr(word, "differ")) {
        return check_differ(p, rest);
    }
    if (word.size <= 3 && word.size != 0 &&
        (word.size == 1 || word.data[1] == '>' || word.data[1] == '<')) {
        return step_of_peer(p, word, rest);
    }
    peer *who = peer_of(p, next_word(&rest));
    if (who == NULL) {
        return fail(p, "a case has a step that nobody knows");
    }
    if (arcp_span_equal_cstr(word, "open")) {
        return open_peer(p, who);
    }
    if (arcp_span_equal_cstr(word, "hello")) {
        return say_hello(p, who, rest, "token");
    }
    if (arcp_span_equal_cstr(word, "other")) {
        return say_hello(p, who, rest, "other");
    }
    if (arcp_span_equal_cstr(word, "drop")) {
        arcp__wire_drop(who->end);
        who->end = NULL;
        return true;
    }
    if (arcp_span_equal_cstr(word, "after")) {
        return begin_after(p, who, rest);
    }
    return fail(p, "a case has a step that nobody knows");
}

/* ---- the whole case ---- */

/* Asks for the job's end, and waits until that was heard: a dropped connection may lose it. */
static void cancel(play *p, peer *who)
{
    arcp__wire_begin(p->wire);
    bool heard = send_message(p, who, ARCP_SPAN_LITERAL("job.cancel"),
                              ARCP_SPAN_LITERAL("{\"job_id\":$job,\"reason\":\"conformance\"}"));
    while (heard && take(p, who, "job.cancelled")) {
        heard = !arcp__frame_is(&p->json, "job.cancelled") &&
                !arcp__frame_is(&p->json, "job.error") && !arcp__frame_is(&p->json, "job.result") &&
                !arcp__frame_is(&p->json, "session.error");
    }
}

/* Jobs that would run on are cancelled by who submitted them; what comes of it does not count. */
static void clean_up(play *p)
{
    arcp__verdict unheard = {0};
    p->verdict = &unheard;
    bool runs_on = strstr(p->played->needs, "long") != NULL &&
                   arcp__variable_get(&p->variables, ARCP_SPAN_LITERAL("job")) != NULL;
    for (size_t at = 0; at < PEERS; at++) {
        if (runs_on && p->peers[at].end != NULL) {
            cancel(p, &p->peers[at]);
        }
    }
    for (size_t at = 0; at < PEERS; at++) {
        arcp__wire_drop(p->peers[at].end);
        arcp__look_fini(&p->peers[at].look);
    }
    arcp__verdict_fini(&unheard);
}

static bool play_steps(play *p)
{
    arcp_span steps = arcp_span_cstr(p->played->steps);
    bool went_well = true;
    while (went_well && steps.size != 0) {
        size_t at = 0;
        while (at < steps.size && steps.data[at] != '\n') {
            at++;
        }
        went_well = play_step(p, arcp_span_first(steps, at));
        steps = arcp_span_from(steps, at < steps.size ? at + 1 : at);
    }
    return went_well && (!p->variables.failed || fail(p, "out of memory"));
}

void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome)
{
    play p = {.played = played,
              .wire = wire,
              .verdict = verdict,
              .json = ARCP_JSON_INIT,
              .ids = {.random = fill_random}};
    *verdict = (arcp__verdict){.section = played->section};
    for (size_t at = 0; at < PEERS; at++) {
        p.peers[at].name = (char)('a' + at);
    }
    for (size_t at = 0; at < given->count; at++) {
        arcp__variable_set(&p.variables, arcp_span_cstr(given->rows[at].name),
                           arcp_buf_span(&given->rows[at].json));
    }
    verdict->passed = play_steps(&p);
    if (welcome != NULL) {
        arcp_buf_append(welcome, arcp_buf_span(&p.frame));
    }
    clean_up(&p);
    arcp__variables_fini(&p.variables);
    arcp_json_fini(&p.json);
    arcp_buf_fini(&p.frame);
}
