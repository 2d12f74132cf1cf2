/* The stage on which cases are played: connections to a runtime, frames in the order received, and
 * a time limit for every wait. Single-threaded. */
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
/* Bytes that may wait for a runtime that does not read. */
#define UNSENT_MAX ((size_t)64 * 1024 * 1024)

typedef struct frame {
    struct frame *next;
    arcp_buf text; /* NUL-terminated; the NUL is counted */
} frame;

struct arcp__wire {
    const char *url, *ca_file;
    uint64_t wait_ms;
    uv_loop_t loop;
    uv_timer_t timer;
    uint64_t deadline_ms; /* of the step, by the loop's clock */
    bool is_late;
};

typedef struct client {
    bool is_open;                /* from its connect to its drop */
    arcp_connection *connection; /* NULL: not connected yet, or closed */
    bool has_failed;             /* while connecting */
    bool is_closed;
    bool is_out_of_memory;
    int close_code;
    arcp_error why;       /* has_failed or is_closed */
    frame *first, **last; /* received and not checked yet */
    arcp_buf frame;       /* checked and not yet taken by the story, if has_frame */
    bool has_frame;
    arcp__frame_rules rules;
    arcp_buf requested; /* the features of the last hello */
} client;

/* A case that is being played. Pings are answered, and every frame is checked. */
typedef struct playing {
    arcp__story story;
    arcp__wire *wire;
    client clients[CLIENTS];
    arcp__verdict *verdict;
} playing;

static client *client_of(playing *t, const char *name)
{
    return &t->clients[name[0] - 'a'];
}

void arcp__verdict_fini(arcp__verdict *verdict)
{
    arcp_buf_fini(&verdict->why);
    arcp_buf_fini(&verdict->frame);
    arcp_buf_fini(&verdict->left_open);
}

static bool fail_with_error(playing *t, const char *while_what, const arcp_error *err)
{
    t->verdict->status = err->status;
    t->story.shows_frame = false;
    return arcp__story_fail(&t->story, "%s: %s", while_what, err->message);
}

/* Sets a client's variable: $session_a, $resume_a, $before_a. */
static void set_client_variable(playing *t, const char *prefix, const char *name, arcp_span json)
{
    char own[ARCP__VARIABLE_NAME_MAX];
    (void)snprintf(own, sizeof own, "%s_%s", prefix, name);
    arcp__variable_set(&t->story.variables, arcp_span_cstr(own), json);
}

/* ---- the runtime ---- */

arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms)
{
    arcp__wire *wire = arcp__alloc(sizeof *wire);
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
    /* Dropped connections free themselves in the loop. */
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

/* Begins a step: all its waits together take wait_ms at most, however many frames arrive. */
static void begin_step(void *user)
{
    arcp__wire *wire = ((const playing *)user)->wire;
    uv_update_time(&wire->loop);
    wire->deadline_ms = uv_now(&wire->loop) + wire->wait_ms;
}

/* Runs the loop until is_done, or until the deadline of the step. */
static void wait_for(arcp__wire *wire, bool (*is_done)(const client *c), const client *c)
{
    uv_update_time(&wire->loop);
    const uint64_t now_ms = uv_now(&wire->loop);
    wire->is_late = now_ms >= wire->deadline_ms;
    wire->timer.data = wire;
    (void)uv_timer_start(&wire->timer, on_late, wire->is_late ? 0 : wire->deadline_ms - now_ms, 0);
    while (!is_done(c) && !wire->is_late) {
        (void)uv_run(&wire->loop, UV_RUN_ONCE);
    }
    (void)uv_timer_stop(&wire->timer);
}

/* ---- callbacks of a connection ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span text)
{
    client *c = user;
    frame *added = arcp__alloc(sizeof *added);
    if (added != NULL) {
        arcp_buf_append(&added->text, text);
        arcp_buf_append_byte(&added->text, '\0');
    }
    if (added == NULL || added->text.failed) {
        arcp__free(added);
        c->is_out_of_memory = true;
        return;
    }
    *c->last = added;
    c->last = &added->next;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    client *c = user;
    c->is_closed = true;
    c->close_code = (int)code;
    (void)arcp_error_set(&c->why, ARCP_E_CLOSED, "the runtime closed the connection (%d%s%s)",
                         (int)code, reason[0] == '\0' ? "" : ": ", reason);
    c->connection = NULL;
    connection->ops->free(connection);
}

static void on_connected(void *user, arcp_connection *connection)
{
    client *c = user;
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .closed = on_closed, .user = c};
    c->connection = connection;
    connection->ops->set_callbacks(connection, &callbacks);
}

static void on_failed(void *user, const arcp_error *err)
{
    client *c = user;
    c->has_failed = true;
    c->why = *err;
}

static bool has_connected_or_failed(const client *c)
{
    return c->connection != NULL || c->has_failed || c->is_closed;
}

static bool has_frame_or_close(const client *c)
{
    return c->first != NULL || c->is_closed || c->is_out_of_memory;
}

/* ---- the stage ---- */

static bool is_connected(void *user, const char *name)
{
    return client_of(user, name)->is_open;
}

static void drop(void *user, const char *name)
{
    client *c = client_of(user, name);
    if (c->connection != NULL) {
        c->connection->ops->flush(c->connection);
        c->connection->ops->free(c->connection);
    }
    while (c->first != NULL) {
        frame *first = c->first;
        c->first = first->next;
        arcp_buf_fini(&first->text);
        arcp__free(first);
    }
    arcp_buf_fini(&c->rules.session);
    arcp_buf_fini(&c->requested);
    arcp_buf_fini(&c->frame);
    *c = (client){0};
}

static bool connect_client(void *user, const char *name)
{
    playing *t = user;
    client *c = client_of(t, name);
    arcp_connect_options options = arcp_connect_options_init();
    const arcp_connect_callbacks callbacks = {
        .connected = on_connected, .failed = on_failed, .user = c};
    arcp_connector *connector = NULL;
    drop(t, name);
    c->last = &c->first;
    /* A resumed session does not repeat what it has negotiated: allow everything until a welcome.
     */
    c->rules.may_chunk = c->rules.may_progress = true;
    options.ca_file = t->wire->ca_file;
    const arcp_status status =
        arcp_connect(&t->wire->loop, t->wire->url, &options, &callbacks, &connector, &c->why);
    if (status == ARCP_OK) {
        wait_for(t->wire, has_connected_or_failed, c);
        if (!has_connected_or_failed(c)) {
            arcp_connector_cancel(connector);
            (void)arcp_error_set(&c->why, ARCP_E_DEADLINE, "connecting timed out");
        }
    }
    c->is_open = c->connection != NULL;
    return c->is_open || fail_with_error(t, "connecting", &c->why);
}

/* Remembers the features that a hello requests: its welcome may grant only these. */
static void note_hello(client *c, arcp_span text)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    if (arcp__wire_scan(&json, text, &err) == ARCP_OK && arcp__frame_is(&json, "session.hello")) {
        const arcp_json_ref capabilities = arcp__payload_member(&json, "capabilities");
        const arcp_json_ref resume = arcp__payload_member(&json, "resume");
        arcp_buf_clear(&c->requested);
        if (resume == ARCP_JSON_ABSENT) {
            arcp_buf_append(&c->requested,
                            arcp_json_raw(&json, arcp_json_member(&json, capabilities,
                                                                  ARCP_SPAN_LITERAL("features"))));
        }
    }
    arcp__json_fini(&json);
}

static bool send_frame(void *user, const char *name, const char *text)
{
    playing *t = user;
    client *c = client_of(t, name);
    arcp_error err = c->why;
    arcp_status status = ARCP_E_CLOSED;
    note_hello(c, arcp_span_cstr(text));
    if (c->connection != NULL && c->connection->ops->unsent(c->connection) > UNSENT_MAX) {
        status = arcp_error_set(&err, ARCP_E_LIMIT, "the runtime does not read its connection");
    } else if (c->connection != NULL) {
        status = c->connection->ops->send(c->connection, arcp_span_cstr(text));
        (void)arcp_error_set(&err, status, "the frame could not be sent");
    }
    if (status != ARCP_OK) {
        return fail_with_error(t, "sending", &err);
    }
    c->connection->ops->flush(c->connection);
    return true;
}

/* Does not change $id, the id of the case's last message: the response to it may follow the ping.
 */
static bool answer_ping(playing *t, const char *name)
{
    char id[ARCP__ULID_SIZE + 1] = {0};
    arcp_buf payload = arcp_buf_init();
    const arcp_json_ref nonce = arcp__payload_member(&t->story.json, "nonce");
    arcp__ulid_next(&t->story.ids, arcp__now_wall_ns() / ARCP_NS_PER_MS, id);
    arcp_buf_append_cstr(&payload, "{\"ping_nonce\":");
    arcp_buf_append(&payload, nonce == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null")
                                                        : arcp_json_raw(&t->story.json, nonce));
    arcp_buf_append(&payload, ARCP_SPAN_LITERAL(",\"received_at\":$now}\0"));
    const bool sent = payload.failed
                          ? arcp__story_fail(&t->story, "out of memory")
                          : arcp__story_send(&t->story, name, "session.pong", id, payload.data);
    arcp_buf_fini(&payload);
    return sent;
}

/* Checks a received frame by the general rules. The draft leaves nothing open about these, so a
 * violation is always a failure. */
static bool check_frame(playing *t, const char *name, arcp_span text)
{
    client *c = client_of(t, name);
    arcp__story *story = &t->story;
    arcp_error err = {0};
    char number[24];
    const char *section = "5";
    const bool had_number = c->rules.has_number;
    arcp_buf_clear(&story->frame);
    arcp_buf_append(&story->frame, text);
    bool is_valid = arcp__wire_scan(&story->json, arcp_buf_span(&story->frame), &err) == ARCP_OK;
    if (!is_valid) {
        (void)arcp__story_fail(story, "a frame is not JSON: %s", err.message);
    }
    is_valid = is_valid && arcp__frame_rules_check(&c->rules, &story->json, &section, &story->why);
    if (!is_valid) {
        t->verdict->section = arcp_span_cstr(section);
        arcp_buf_clear(&t->verdict->left_open);
        story->shows_frame = true;
        return false;
    }
    if (!had_number && c->rules.has_number) {
        (void)snprintf(number, sizeof number, "%" PRIu64, c->rules.before);
        set_client_variable(t, "before", name, arcp_span_cstr(number));
    }
    const arcp_json_ref session = arcp__frame_member(&story->json, "session_id");
    const arcp_json_ref token = arcp__payload_member(&story->json, "resume_token");
    if (arcp__frame_is(&story->json, "session.welcome") &&
        arcp_json_is(&story->json, session, ARCP_JSON_STRING) &&
        arcp_json_is(&story->json, token, ARCP_JSON_STRING)) {
        set_client_variable(t, "session", name, arcp_json_raw(&story->json, session));
        set_client_variable(t, "resume", name, arcp_json_raw(&story->json, token));
        if (c->requested.size != 0) {
            arcp__frame_rules_negotiate(&c->rules, &story->json, arcp_buf_span(&c->requested));
        }
    }
    return true;
}

/* Waits for a frame and moves the first one to c->frame. */
static arcp_status next_frame(arcp__wire *wire, client *c, arcp_error *err)
{
    wait_for(wire, has_frame_or_close, c);
    if (c->first != NULL && !wire->is_late) {
        frame *first = c->first;
        c->first = first->next;
        c->last = c->first == NULL ? &c->first : c->last;
        arcp_buf_fini(&c->frame);
        c->frame = first->text;
        arcp__free(first);
        return ARCP_OK;
    }
    if (c->is_out_of_memory) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (c->is_closed && c->first == NULL) {
        return arcp_error_copy(err, &c->why);
    }
    return arcp_error_set(err, ARCP_E_DEADLINE, "timed out after %llu ms",
                          (unsigned long long)wire->wait_ms);
}

/* The next frame other than a ping; pings are answered. */
static const char *text_at(void *user, const char *name, unsigned index)
{
    playing *t = user;
    client *c = client_of(t, name);
    char waiting[96];
    arcp_error err = {0};
    (void)index; /* frames that are skipped are removed, so this is always 0 */
    (void)snprintf(waiting, sizeof waiting, "waiting for %s", t->story.awaited);
    while (!c->has_frame) {
        if (!c->is_open) {
            (void)arcp__story_fail(&t->story,
                                   "the case waits for a frame, but the client is not connected");
            return NULL;
        }
        if (next_frame(t->wire, c, &err) != ARCP_OK) {
            (void)fail_with_error(t, waiting, &err);
            return NULL;
        }
        if (!check_frame(t, name, arcp_span_make(c->frame.data, c->frame.size - 1))) {
            return NULL;
        }
        c->has_frame = !arcp__frame_is(&t->story.json, "session.ping");
        if (!c->has_frame && !answer_ping(t, name)) {
            return NULL;
        }
    }
    return c->frame.data;
}

static void remove_frame(void *user, const char *name, unsigned index)
{
    (void)index;
    client_of(user, name)->has_frame = false;
}

static bool await_close(void *user, const char *name, int *code)
{
    playing *t = user;
    const client *c = client_of(t, name);
    if (!c->is_open) {
        return arcp__story_fail(&t->story, "the client was never connected, or was dropped");
    }
    wait_for(t->wire, has_frame_or_close, c);
    if (c->has_frame || c->first != NULL) {
        return arcp__story_fail(&t->story, "a frame came before the close");
    }
    *code = c->close_code;
    return c->is_closed || arcp__story_fail(&t->story, "the connection is still open");
}

static int64_t now(void *user)
{
    (void)user;
    return arcp__now_wall_ns();
}

/* ---- lines of cases ---- */

static bool play_left_open(arcp__story *story, char *rest)
{
    const playing *t = story->stage->user;
    arcp_buf_clear(&t->verdict->left_open);
    arcp_buf_append_cstr(&t->verdict->left_open, rest);
    return true;
}

/* Macros of cases.story: the draft's message, and the hello that most clients send instead. */
static const char *const resume_forms[] = {"resume_by_message", "resume_by_hello"};
#define RESUME_FORMS (sizeof resume_forms / sizeof resume_forms[0])

/* Tries one form, on a new connection. The next event must have the number after `after`. */
static bool try_resume(playing *t, const char *name, const char *of, const char *after, size_t form)
{
    arcp__story *story = &t->story;
    arcp__frame_rules *rules = &client_of(t, name)->rules;
    char lines[96];
    char session_name[] = "$session_?";
    arcp_buf number = arcp_buf_init();
    session_name[sizeof session_name - 2] = of[0];
    (void)snprintf(lines, sizeof lines, "connect %s\n%s %s %s %s", name, resume_forms[form], name,
                   of, after);
    const arcp_buf *session = arcp__story_value(story, session_name);
    bool resumed = session != NULL && arcp__story_play(story, arcp_span_cstr(lines)) &&
                   arcp__story_expand(story, after, &number);
    if (resumed) {
        rules->has_number = arcp__digits_parse(arcp_span_cstr(number.data), &rules->number);
        resumed = rules->has_number
                      ? arcp__story_take(story, name, "session.welcome")
                      : arcp__story_fail(story, "%s is not a number to resume after", after);
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
           arcp__story_fail(story, "the welcome belongs to another session");
}

/* resume b from a after SEQ */
static bool play_resume(arcp__story *story, char *rest)
{
    playing *t = story->stage->user;
    const char *name = arcp__story_word(&rest);
    const char *from = arcp__story_word(&rest);
    const char *of = arcp__story_word(&rest);
    const char *after = arcp__story_word(&rest);
    const arcp_span section = t->verdict->section;
    bool resumed = false;
    bool is_understood = false;
    if (strcmp(from, "from") != 0 || strcmp(after, "after") != 0) {
        return arcp__story_fail(story, "the form is: resume b from a after 0");
    }
    for (size_t form = 0; form < RESUME_FORMS && !resumed; form++) {
        arcp_buf_clear(&story->why);
        arcp_buf_clear(&story->frame);
        story->shows_frame = false;
        t->verdict->section = section;
        t->verdict->status = ARCP_OK;
        arcp_buf_clear(&t->verdict->left_open);
        arcp_buf_append_cstr(&t->verdict->left_open, "which message requests a resume");
        begin_step(t);
        resumed = try_resume(t, name, of, rest, form);
        /* RESUME_WINDOW_EXPIRED shows that the runtime understood the form. */
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
    .clients = {ARCP__STORY_SKIPPING, text_at, remove_frame},
    .names_ids = true,
    .verbs = verbs,
    .macros = arcp__cases_text,
    .step = begin_step,
    .is_connected = is_connected,
    .connect = connect_client,
    .send = send_frame,
    .await_close = await_close,
    .drop = drop,
    .now = now,
};

/* ---- cases ---- */

/* Cancels a job that would run on, and waits for the acknowledgement: dropping the connection at
 * once might lose the request. The result is ignored. */
static void clean_up(playing *t)
{
    char lines[] = "?> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n?< job.cancelled";
    bool is_cancelled = false;
    for (size_t i = 0; i < CLIENTS && !is_cancelled; i++) {
        lines[0] = strchr(lines, '\n')[1] = (char)('a' + i);
        is_cancelled = t->clients[i].is_open && arcp__story_play(&t->story, arcp_span_cstr(lines));
    }
}

void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome)
{
    playing t = {.wire = wire, .verdict = verdict};
    arcp__story_stage own = stage;
    own.user = &t;
    arcp__story_init(&t.story, &own);
    *verdict = (arcp__verdict){.section = played->section};
    for (size_t i = 0; i < given->count; i++) {
        arcp__variable_set(&t.story.variables, arcp_span_cstr(given->rows[i].name),
                           arcp_buf_span(&given->rows[i].json));
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
        arcp__verdict ignored = {0};
        t.verdict = &ignored;
        clean_up(&t);
        arcp__verdict_fini(&ignored);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        drop(&t, (const char[2]){(char)('a' + i)});
    }
    arcp__story_fini(&t.story);
}
