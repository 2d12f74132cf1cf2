#include "conformance/conformance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "cli/cli.h"

/* Clients are a to z. */
#define CLIENTS 26

typedef struct client {
    arcp__wire_end *end; /* NULL: not connected */
    arcp__look look;
    arcp_buf asked; /* the features of the hello that was sent last */
    arcp_buf frame; /* looked at, not yet taken; NUL-terminated */
    bool has_frame;
} client;

/* What a case says to a runtime and hears from it: pings are answered, and every frame is looked
 * at. */
typedef struct talk {
    arcp__story story;
    arcp__wire *wire;
    client clients[CLIENTS];
    arcp__verdict *verdict;
} talk;

static client *client_of(talk *t, const char *name)
{
    return &t->clients[name[0] - 'a'];
}

void arcp__verdict_fini(arcp__verdict *verdict)
{
    arcp_buf_fini(&verdict->why);
    arcp_buf_fini(&verdict->frame);
    arcp_buf_fini(&verdict->left_open);
}

static bool fail_with_error(talk *t, const char *while_what, const arcp_error *err)
{
    t->verdict->status = err->status;
    t->story.shows_frame = false;
    return arcp__story_fail(&t->story, "%s: %s", while_what, err->message);
}

static void set_own(talk *t, const char *prefix, const char *name, arcp_span json)
{
    char own[ARCP__VARIABLE_NAME_MAX];
    (void)snprintf(own, sizeof(own), "%s_%s", prefix, name);
    arcp__variable_set(&t->story.variables, arcp_span_cstr(own), json);
}

/* ---- the stage ---- */

static void begin_step(void *user)
{
    const talk *t = user;
    arcp__wire_begin(t->wire);
}

static bool is_connected(void *user, const char *name)
{
    return client_of(user, name)->end != NULL;
}

static void drop(void *user, const char *name)
{
    client *who = client_of(user, name);
    arcp__wire_drop(who->end);
    arcp__look_fini(&who->look);
    arcp_buf_fini(&who->asked);
    arcp_buf_fini(&who->frame);
    *who = (client){0};
}

static bool connect_client(void *user, const char *name)
{
    talk *t = user;
    arcp_error err = {0};
    drop(user, name);
    client *who = client_of(user, name);
    /* What a session that is resumed has negotiated is not said again: it may be anything. */
    who->look.may_chunk = who->look.may_progress = true;
    return arcp__wire_open(t->wire, &who->end, &err) == ARCP_OK ||
           fail_with_error(t, "connecting", &err);
}

/* What a hello asks for is what its welcome may have. */
static void note_hello(client *who, arcp_span frame)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_error err;
    if (arcp__wire_scan(&json, frame, &err) == ARCP_OK && arcp__frame_is(&json, "session.hello")) {
        arcp_json_ref capabilities = arcp__payload_member(&json, "capabilities");
        arcp_json_ref resume = arcp__payload_member(&json, "resume");
        arcp_buf_clear(&who->asked);
        if (resume == ARCP_JSON_ABSENT) {
            arcp_buf_append(&who->asked,
                            arcp_json_raw(&json, arcp_json_member(&json, capabilities,
                                                                  ARCP_SPAN_LITERAL("features"))));
        }
    }
    arcp_json_fini(&json);
}

static bool send_frame(void *user, const char *name, const char *frame)
{
    talk *t = user;
    client *who = client_of(t, name);
    arcp_error err = {0};
    note_hello(who, arcp_span_cstr(frame));
    return arcp__wire_send(who->end, arcp_span_cstr(frame), &err) == ARCP_OK ||
           fail_with_error(t, "sending", &err);
}

static bool answer_ping(talk *t, const char *name)
{
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_ref nonce = arcp__payload_member(&t->story.json, "nonce");
    arcp_buf_append_cstr(&payload, "{\"ping_nonce\":");
    arcp_buf_append(&payload, nonce == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null")
                                                        : arcp_json_raw(&t->story.json, nonce));
    arcp_buf_append(&payload, ARCP_SPAN_LITERAL(",\"received_at\":$now}\0"));
    bool sent = payload.failed
                    ? arcp__story_fail(&t->story, "out of memory")
                    : arcp__story_send(&t->story, name, "session.pong", NULL, payload.data);
    arcp_buf_fini(&payload);
    return sent;
}

/* Looks at a frame that has come. No form is open for one that is wrong wherever it comes. */
static bool look_at_frame(talk *t, const char *name, arcp_span frame)
{
    client *who = client_of(t, name);
    arcp__story *story = &t->story;
    arcp_error err = {0};
    char number[24];
    const char *section = "5";
    const bool had_number = who->look.has_number;
    arcp_buf_clear(&story->frame);
    arcp_buf_append(&story->frame, frame);
    bool is_right = arcp__wire_scan(&story->json, arcp_buf_span(&story->frame), &err) == ARCP_OK;
    if (!is_right) {
        (void)arcp__story_fail(story, "a frame is no JSON: %s", err.message);
    }
    is_right = is_right && arcp__look_at(&who->look, &story->json, &section, &story->why);
    if (!is_right) {
        t->verdict->section = arcp_span_cstr(section);
        arcp_buf_clear(&t->verdict->left_open);
        story->shows_frame = true;
        return false;
    }
    if (!had_number && who->look.has_number) {
        (void)snprintf(number, sizeof(number), "%" PRIu64, who->look.before);
        set_own(t, "before", name, arcp_span_cstr(number));
    }
    arcp_json_ref session = arcp__frame_member(&story->json, "session_id");
    arcp_json_ref token = arcp__payload_member(&story->json, "resume_token");
    if (arcp__frame_is(&story->json, "session.welcome") &&
        arcp_json_is(&story->json, session, ARCP_JSON_STRING) &&
        arcp_json_is(&story->json, token, ARCP_JSON_STRING)) {
        set_own(t, "session", name, arcp_json_raw(&story->json, session));
        set_own(t, "resume", name, arcp_json_raw(&story->json, token));
        if (who->asked.size != 0) {
            arcp__look_welcome(&who->look, &story->json, arcp_buf_span(&who->asked));
        }
    }
    return true;
}

/* The next frame but pings, which are answered. */
static const char *peek(void *user, const char *name, unsigned index)
{
    talk *t = user;
    client *who = client_of(t, name);
    char waiting[96];
    arcp_error err = {0};
    (void)index; /* what is passed over is removed */
    (void)snprintf(waiting, sizeof(waiting), "waiting for %s", t->story.awaited);
    while (!who->has_frame) {
        if (who->end == NULL) {
            (void)arcp__story_fail(&t->story, "a case waits where nothing is connected");
            return NULL;
        }
        if (arcp__wire_next(who->end, &who->frame, &err) != ARCP_OK) {
            (void)fail_with_error(t, waiting, &err);
            return NULL;
        }
        if (!look_at_frame(t, name, arcp_buf_span(&who->frame))) {
            return NULL;
        }
        who->has_frame = !arcp__frame_is(&t->story.json, "session.ping");
        if (!who->has_frame && !answer_ping(t, name)) {
            return NULL;
        }
        arcp_buf_append_byte(&who->frame, '\0');
    }
    return who->frame.data;
}

static void remove_frame(void *user, const char *name, unsigned index)
{
    (void)index;
    client_of(user, name)->has_frame = false;
}

static int close_code(void *user, const char *name)
{
    const client *who = client_of(user, name);
    return who->end == NULL ? 0 : arcp__wire_close_code(who->end);
}

static int64_t now(void *user)
{
    (void)user;
    return arcp__now_wall_ns();
}

/* ---- steps of cases ---- */

static bool play_left_open(arcp__story *story, char *rest)
{
    const talk *t = story->stage->user;
    arcp_buf_clear(&t->verdict->left_open);
    arcp_buf_append_cstr(&t->verdict->left_open, rest);
    return true;
}

/* The draft's message, and the hello that most clients say instead: macros of cases.story. */
static const char *const resume_forms[] = {"resume_by_message", "resume_by_hello"};
#define RESUME_FORMS (sizeof(resume_forms) / sizeof(resume_forms[0]))

/* On a connection of its own. The next event is numbered one above `after`. */
static bool try_resume(talk *t, const char *name, const char *of, const char *after, size_t form)
{
    arcp__story *story = &t->story;
    arcp__look *look = &client_of(t, name)->look;
    char lines[96];
    char session_name[] = "$session_?";
    arcp_buf number = ARCP_BUF_INIT;
    session_name[sizeof(session_name) - 2] = of[0];
    (void)snprintf(lines, sizeof(lines), "connect %s\n%s %s %s %s", name, resume_forms[form], name,
                   of, after);
    const arcp_buf *session = arcp__story_value(story, session_name);
    bool resumed = session != NULL && arcp__story_play(story, arcp_span_cstr(lines)) &&
                   arcp__story_expand(story, after, &number);
    if (resumed) {
        look->has_number = arcp__digits_parse(arcp_span_cstr(number.data), &look->number);
        resumed = look->has_number
                      ? arcp__story_take(story, name, "session.welcome")
                      : arcp__story_fail(story, "a case resumes from what is no number");
    }
    arcp_buf_fini(&number);
    if (!resumed) {
        return false;
    }
    if (!arcp__frame_is(&story->json, "session.welcome")) {
        return arcp__story_unexpected(story, "session.welcome");
    }
    return arcp_span_equal(
               arcp_json_raw(&story->json, arcp__frame_member(&story->json, "session_id")),
               arcp_buf_span(session)) ||
           arcp__story_fail(story, "the welcome is of another session");
}

/* resume b from a after SEQ */
static bool play_resume(arcp__story *story, char *rest)
{
    talk *t = story->stage->user;
    const char *name = arcp__story_word(&rest);
    const char *from = arcp__story_word(&rest);
    const char *of = arcp__story_word(&rest);
    const char *after = arcp__story_word(&rest);
    const arcp_span section = t->verdict->section;
    bool resumed = false;
    bool is_understood = false;
    if (strcmp(from, "from") != 0 || strcmp(after, "after") != 0) {
        return arcp__story_fail(story, "a resume is written: resume b from a after 0");
    }
    for (size_t form = 0; form < RESUME_FORMS && !resumed; form++) {
        arcp_buf_clear(&story->why);
        arcp_buf_clear(&story->frame);
        story->shows_frame = false;
        t->verdict->section = section;
        t->verdict->status = ARCP_OK;
        arcp_buf_clear(&t->verdict->left_open);
        arcp_buf_append_cstr(&t->verdict->left_open, "in which message a resume is asked for");
        begin_step(t);
        resumed = try_resume(t, name, of, rest, form);
        /* The form was understood where the session is said to be gone. */
        is_understood = is_understood || resumed ||
                        (story->frame.size != 0 && memmem(story->frame.data, story->frame.size,
                                                          "\"RESUME_WINDOW_EXPIRED\"", 23) != NULL);
    }
    if (is_understood) {
        arcp_buf_clear(&t->verdict->left_open);
    }
    return resumed;
}

static const arcp__story_verb verbs[] = {
    {"left-open", play_left_open}, {"resume", play_resume}, {NULL, NULL}};

static const arcp__story_stage stage = {
    .clients = {ARCP__STORY_PASSING, peek, remove_frame},
    .names_ids = true,
    .verbs = verbs,
    .macros = arcp__cases_text,
    .step = begin_step,
    .is_connected = is_connected,
    .connect = connect_client,
    .send = send_frame,
    .close_code = close_code,
    .drop = drop,
    .now = now,
};

/* ---- cases ---- */

/* Takes what stands before `end` off the text, and `end` itself. */
static arcp_span take_to(arcp_span *text, const char *end)
{
    const char *at = text->size == 0 ? NULL : memmem(text->data, text->size, end, strlen(end));
    const arcp_span taken = at == NULL ? *text : arcp_span_first(*text, (size_t)(at - text->data));
    *text = arcp_span_from(*text, taken.size + strlen(end));
    return taken;
}

bool arcp__case_next(arcp_span *text, arcp__case *out)
{
    static const char begins[] = "\ncase ";
    const char *at = text->size == 0 ? NULL : memmem(text->data, text->size, begins, 6);
    if (at == NULL) {
        return false;
    }
    *text = arcp_span_from(*text, (size_t)(at - text->data) + 6);
    arcp_span rest = *text;
    rest = take_to(&rest, "\ncase ");
    *text = arcp_span_from(*text, rest.size);
    *out = (arcp__case){.section = take_to(&rest, " "), .title = take_to(&rest, "\n")};
    if (arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("needs "))) {
        rest = arcp_span_from(rest, 6);
        out->needs = take_to(&rest, "\n");
    }
    out->steps = rest;
    return true;
}

bool arcp__case_check(const arcp__case *written, arcp_span *unknown)
{
    talk t = {.wire = NULL};
    arcp_span left = written->steps;
    bool is_known = true;
    arcp__story_init(&t.story, &stage);
    while (is_known && left.size != 0) {
        *unknown = take_to(&left, "\n");
        is_known =
            unknown->size == 0 || unknown->data[0] == ' ' || arcp__story_knows(&t.story, *unknown);
    }
    arcp__story_fini(&t.story);
    return is_known;
}

/* A job that would run on is cancelled, and that is heard: a dropped connection may lose it. What
 * comes of it does not count. */
static void clean_up(talk *t)
{
    char lines[] = "?> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n?< job.cancelled";
    bool is_cancelled = false;
    for (size_t at = 0; at < CLIENTS && !is_cancelled; at++) {
        lines[0] = strchr(lines, '\n')[1] = (char)('a' + at);
        is_cancelled =
            t->clients[at].end != NULL && arcp__story_play(&t->story, arcp_span_cstr(lines));
    }
}

void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome)
{
    talk t = {.wire = wire, .verdict = verdict};
    arcp__story_stage own = stage;
    own.user = &t;
    arcp__story_init(&t.story, &own);
    *verdict = (arcp__verdict){.section = played->section};
    for (size_t at = 0; at < given->count; at++) {
        arcp__variable_set(&t.story.variables, arcp_span_cstr(given->rows[at].name),
                           arcp_buf_span(&given->rows[at].json));
    }
    verdict->passed = arcp__story_play(&t.story, played->steps);
    arcp_buf_append(&verdict->why, arcp_buf_span(&t.story.why));
    if (t.story.shows_frame) {
        arcp_buf_append(&verdict->frame, arcp_buf_span(&t.story.frame));
    }
    if (welcome != NULL) {
        arcp_buf_append(welcome, arcp_buf_span(&t.story.frame));
    }
    if (played->needs.size != 0 &&
        memmem(played->needs.data, played->needs.size, "long", 4) != NULL &&
        arcp__variable_get(&t.story.variables, ARCP_SPAN_LITERAL("job")) != NULL) {
        arcp__verdict unheard = {0};
        t.verdict = &unheard;
        clean_up(&t);
        arcp__verdict_fini(&unheard);
    }
    for (size_t at = 0; at < CLIENTS; at++) {
        drop(&t, (const char[2]){(char)('a' + at)});
    }
    arcp__story_fini(&t.story);
}
