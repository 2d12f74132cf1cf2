/* The stage of cases: connections to a runtime, frames as they are, one after the other, and every
 * wait with an end. One thread. */
#include "conformance/conformance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/digits.h"
#include "cli/cli.h"

/* Clients are a to z. */
#define CLIENTS 26
/* What a runtime that does not read may leave with us. */
#define UNSENT_MAX ((size_t)64 * 1024 * 1024)

typedef struct frame {
    struct frame *next;
    arcp_buf text;
} frame;

struct arcp__wire {
    const char *url, *ca_file;
    uint64_t wait_ms;
    uv_loop_t loop;
    uv_timer_t timer;
    uint64_t deadline_ms; /* of the loop's clock */
    bool is_late;
};

typedef struct client {
    bool is_open;                /* from its connect to its drop */
    arcp_connection *connection; /* NULL: not yet, or over */
    bool has_failed;             /* while connecting */
    bool is_closed;
    bool lacks_memory;
    int close_code;
    arcp_error why;       /* of either */
    frame *first, **last; /* what has come */
    arcp_buf frame;       /* looked at, not yet taken; NUL-terminated */
    bool has_frame;
    arcp__look look;
    arcp_buf asked; /* the features of the hello that was sent last */
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

/* ---- the way to the runtime ---- */

arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms)
{
    arcp__wire *wire = arcp__alloc(sizeof(*wire));
    if (wire == NULL) {
        return NULL;
    }
    wire->url = url;
    wire->ca_file = ca_file;
    wire->wait_ms = wait_ms;
    if (uv_loop_init(&wire->loop) != 0) {
        arcp__free(wire);
        return NULL;
    }
    (void)uv_timer_init(&wire->loop, &wire->timer);
    return wire;
}

void arcp__wire_free(arcp__wire *wire)
{
    if (wire == NULL) {
        return;
    }
    uv_close((uv_handle_t *)&wire->timer, NULL);
    /* Connections that were dropped free themselves in the loop. */
    (void)uv_run(&wire->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&wire->loop);
    arcp__free(wire);
}

/* ---- waiting ---- */

static void on_late(uv_timer_t *timer)
{
    arcp__wire *wire = timer->data;
    wire->is_late = true;
}

/* From here on all waits together take wait_ms at most, however much comes meanwhile. */
static void begin_step(void *user)
{
    arcp__wire *wire = ((const talk *)user)->wire;
    uv_update_time(&wire->loop);
    wire->deadline_ms = uv_now(&wire->loop) + wire->wait_ms;
}

/* Turns the loop until the end has news, or until the deadline. */
static void wait_for(arcp__wire *wire, bool (*has_news)(const client *who), const client *who)
{
    uv_update_time(&wire->loop);
    uint64_t now_ms = uv_now(&wire->loop);
    wire->is_late = now_ms >= wire->deadline_ms;
    wire->timer.data = wire;
    (void)uv_timer_start(&wire->timer, on_late, wire->is_late ? 0 : wire->deadline_ms - now_ms, 0);
    while (!has_news(who) && !wire->is_late) {
        (void)uv_run(&wire->loop, UV_RUN_ONCE);
    }
    (void)uv_timer_stop(&wire->timer);
}

/* ---- what a connection says ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span text)
{
    client *who = user;
    frame *added = arcp__alloc(sizeof(*added));
    if (added != NULL) {
        arcp_buf_append(&added->text, text);
    }
    if (added == NULL || added->text.failed) {
        arcp__free(added);
        who->lacks_memory = true;
        return;
    }
    *who->last = added;
    who->last = &added->next;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    client *who = user;
    who->is_closed = true;
    who->close_code = (int)code;
    (void)arcp_error_set(&who->why, ARCP_E_CLOSED, "the runtime closed the connection (%d%s%s)",
                         (int)code, reason[0] == '\0' ? "" : ": ", reason);
    who->connection = NULL;
    connection->ops->release(connection);
}

static void on_connected(void *user, arcp_connection *connection)
{
    client *who = user;
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .closed = on_closed, .user = who};
    who->connection = connection;
    connection->ops->set_callbacks(connection, &callbacks);
}

static void on_failed(void *user, const arcp_error *err)
{
    client *who = user;
    who->has_failed = true;
    who->why = *err;
}

static bool is_connected_or_not(const client *who)
{
    return who->connection != NULL || who->has_failed || who->is_closed;
}

static bool has_frame(const client *who)
{
    return who->first != NULL || who->is_closed || who->lacks_memory;
}

/* ---- the stage ---- */

static bool is_connected(void *user, const char *name)
{
    return client_of(user, name)->is_open;
}

static void drop(void *user, const char *name)
{
    client *who = client_of(user, name);
    if (who->connection != NULL) {
        who->connection->ops->flush(who->connection);
        who->connection->ops->release(who->connection);
    }
    while (who->first != NULL) {
        frame *first = who->first;
        who->first = first->next;
        arcp_buf_fini(&first->text);
        arcp__free(first);
    }
    arcp_buf_fini(&who->look.session);
    arcp_buf_fini(&who->asked);
    arcp_buf_fini(&who->frame);
    *who = (client){0};
}

static bool connect_client(void *user, const char *name)
{
    talk *t = user;
    client *who = client_of(t, name);
    arcp_connect_options options = ARCP_CONNECT_OPTIONS_INIT;
    const arcp_connect_callbacks callbacks = {
        .connected = on_connected, .failed = on_failed, .user = who};
    arcp_connector *connector = NULL;
    drop(t, name);
    who->last = &who->first;
    /* What a session that is resumed has negotiated is not said again: it may be anything. */
    who->look.may_chunk = who->look.may_progress = true;
    options.ca_file = t->wire->ca_file;
    arcp_status status =
        arcp_connect(&t->wire->loop, t->wire->url, &options, &callbacks, &connector, &who->why);
    if (status == ARCP_OK) {
        wait_for(t->wire, is_connected_or_not, who);
        if (!is_connected_or_not(who)) {
            arcp_connector_cancel(connector);
            (void)arcp_error_set(&who->why, ARCP_E_DEADLINE, "no connection came about in time");
        }
    }
    who->is_open = who->connection != NULL;
    return who->is_open || fail_with_error(t, "connecting", &who->why);
}

/* What a hello asks for is what its welcome may have. */
static void note_hello(client *who, arcp_span text)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_error err = {0};
    if (arcp__wire_scan(&json, text, &err) == ARCP_OK && arcp__frame_is(&json, "session.hello")) {
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

static bool send_frame(void *user, const char *name, const char *text)
{
    talk *t = user;
    client *who = client_of(t, name);
    arcp_error err = who->why;
    arcp_status status = ARCP_E_CLOSED;
    note_hello(who, arcp_span_cstr(text));
    if (who->connection != NULL && who->connection->ops->unsent(who->connection) > UNSENT_MAX) {
        status = arcp_error_set(&err, ARCP_E_LIMIT, "the runtime does not read what it is sent");
    } else if (who->connection != NULL) {
        status = who->connection->ops->send(who->connection, arcp_span_cstr(text));
        (void)arcp_error_set(&err, status, "a frame could not be sent");
    }
    if (status != ARCP_OK) {
        return fail_with_error(t, "sending", &err);
    }
    who->connection->ops->flush(who->connection);
    return true;
}

/* $id stays what the case sent last: its answer may come behind the ping. */
static bool answer_ping(talk *t, const char *name)
{
    char id[ARCP__ULID_SIZE + 1] = {0};
    arcp_buf payload = ARCP_BUF_INIT;
    arcp_json_ref nonce = arcp__payload_member(&t->story.json, "nonce");
    arcp__ulid_next(&t->story.ids, arcp__now_wall_ns() / ARCP_NS_PER_MS, id);
    arcp_buf_append_cstr(&payload, "{\"ping_nonce\":");
    arcp_buf_append(&payload, nonce == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null")
                                                        : arcp_json_raw(&t->story.json, nonce));
    arcp_buf_append(&payload, ARCP_SPAN_LITERAL(",\"received_at\":$now}\0"));
    bool sent = payload.failed
                    ? arcp__story_fail(&t->story, "out of memory")
                    : arcp__story_send(&t->story, name, "session.pong", id, payload.data);
    arcp_buf_fini(&payload);
    return sent;
}

/* Looks at a frame that has come. No form is open for one that is wrong wherever it comes. */
static bool look_at_frame(talk *t, const char *name, arcp_span text)
{
    client *who = client_of(t, name);
    arcp__story *story = &t->story;
    arcp_error err = {0};
    char number[24];
    const char *section = "5";
    const bool had_number = who->look.has_number;
    arcp_buf_clear(&story->frame);
    arcp_buf_append(&story->frame, text);
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

/* Takes what came first, waited for. */
static arcp_status next_frame(arcp__wire *wire, client *who, arcp_error *err)
{
    wait_for(wire, has_frame, who);
    if (who->first != NULL && !wire->is_late) {
        frame *first = who->first;
        who->first = first->next;
        who->last = who->first == NULL ? &who->first : who->last;
        arcp_buf_fini(&who->frame);
        who->frame = first->text;
        arcp__free(first);
        return ARCP_OK;
    }
    if (who->lacks_memory) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (who->is_closed && who->first == NULL) {
        return arcp_error_copy(err, &who->why);
    }
    return arcp_error_set(err, ARCP_E_DEADLINE, "it did not come within %llu ms",
                          (unsigned long long)wire->wait_ms);
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
        if (!who->is_open) {
            (void)arcp__story_fail(&t->story, "a case waits where nothing is connected");
            return NULL;
        }
        if (next_frame(t->wire, who, &err) != ARCP_OK) {
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
    if (who->is_open) {
        wait_for(((const talk *)user)->wire, has_frame, who);
    }
    return who->first == NULL ? who->close_code : 0;
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

/* A job that would run on is cancelled, and that is heard: a dropped connection may lose it. What
 * comes of it does not count. */
static void clean_up(talk *t)
{
    char lines[] = "?> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n?< job.cancelled";
    bool is_cancelled = false;
    for (size_t at = 0; at < CLIENTS && !is_cancelled; at++) {
        lines[0] = strchr(lines, '\n')[1] = (char)('a' + at);
        is_cancelled = t->clients[at].is_open && arcp__story_play(&t->story, arcp_span_cstr(lines));
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
