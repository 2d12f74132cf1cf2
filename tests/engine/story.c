#include "engine/story.h"

#include <ctype.h>

#include "support/check.h"

#include <arcp/json.h>

#include "base/alloc.h"

#define NAMES_MAX 64

typedef struct story {
    engine_rig rig;
    const char *path;
    unsigned line;
    struct {
        char name[32];
        char *value; /* JSON */
    } names[NAMES_MAX];
    size_t name_count;
    char why[512];
} story;

static const char features[] =
    "[\"heartbeat\",\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\","
    "\"model.use\",\"progress\",\"result_chunk\",\"agent_versions\"]";

#define story_fail(s, ...)                                                                         \
    do {                                                                                           \
        (void)fprintf(stderr, "%s:%u: ", (s)->path, (s)->line);                                    \
        (void)fprintf(stderr, __VA_ARGS__);                                                        \
        (void)fprintf(stderr, "\n");                                                               \
        fail_msg("%s:%u", (s)->path, (s)->line);                                                   \
    } while (0)

/* ---- names ---- */

static char **value_of(story *s, const char *name, size_t size)
{
    for (size_t at = 0; at < s->name_count; at++) {
        if (strlen(s->names[at].name) == size && memcmp(s->names[at].name, name, size) == 0) {
            return &s->names[at].value;
        }
    }
    assert_true(s->name_count < NAMES_MAX && size < sizeof(s->names[0].name));
    memcpy(s->names[s->name_count].name, name, size);
    return &s->names[s->name_count++].value;
}

/* Replaces $name by its value, without the quotes of a string. */
static char *expand(story *s, const char *text)
{
    arcp_buf out = ARCP_BUF_INIT;
    while (*text != '\0') {
        if (*text != '$' || !(isalpha((unsigned char)text[1]) || text[1] == '_')) {
            arcp_buf_append_byte(&out, *text++);
            continue;
        }
        size_t size = 1;
        while (isalnum((unsigned char)text[1 + size]) || text[1 + size] == '_') {
            size++;
        }
        const char *value = *value_of(s, text + 1, size);
        if (value == NULL) {
            story_fail(s, "$%.*s has no value", (int)size, text + 1);
        }
        size_t length = strlen(value);
        bool quoted = value[0] == '"';
        arcp_buf_append(&out, arcp_span_make(value + quoted, length - 2 * quoted));
        text += 1 + size;
    }
    return arcp_buf_take_cstr(&out);
}

/* ---- matching ---- */

static bool matches(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                    arcp_json_ref h, const char *where);

static bool differs(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                    arcp_json_ref h, const char *where)
{
    arcp_span wanted = arcp_json_raw(want, w);
    arcp_span had = h == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("nothing") : arcp_json_raw(have, h);
    (void)snprintf(s->why, sizeof(s->why), "%s: want %.*s, have %.*s", where,
                   (int)arcp_span_first(wanted, 150).size, wanted.data,
                   (int)arcp_span_first(had, 150).size, had.data);
    return false;
}

static bool matches_name(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                         arcp_json_ref h, const char *where)
{
    arcp_span name = arcp_json_raw(want, w); /* with quotes */
    if (h == ARCP_JSON_ABSENT) {
        return differs(s, want, w, have, h, where);
    }
    if (arcp_span_equal_cstr(name, "\"$_\"")) {
        return true;
    }
    char **value = value_of(s, name.data + 2, name.size - 3);
    arcp_buf form = ARCP_BUF_INIT;
    assert_int_equal(arcp_json_canonical(have, h, &form, NULL), ARCP_OK);
    char *text = arcp_buf_take_cstr(&form);
    if (*value == NULL) {
        *value = text;
        return true;
    }
    bool same = strcmp(*value, text) == 0;
    arcp__free(text);
    return same || differs(s, want, w, have, h, where);
}

static bool matches_object(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                           arcp_json_ref h, const char *where)
{
    if (!arcp_json_is(have, h, ARCP_JSON_OBJECT)) {
        return differs(s, want, w, have, h, where);
    }
    for (arcp_json_ref name = arcp_json_first(want, w); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(want, w, name)) {
        arcp_buf scratch = ARCP_BUF_INIT;
        arcp_span text = arcp_json_string(want, name, &scratch);
        char path[256];
        (void)snprintf(path, sizeof(path), "%s.%.*s", where, (int)text.size, text.data);
        arcp_json_ref member = arcp_json_member(have, h, text);
        arcp_buf_fini(&scratch);
        bool absent = arcp_json_string_equals(want, name + 1, ARCP_SPAN_LITERAL("$absent"));
        if (absent ? member != ARCP_JSON_ABSENT : !matches(s, want, name + 1, have, member, path)) {
            return absent ? differs(s, want, name + 1, have, member, path) : false;
        }
    }
    return true;
}

static bool matches_array(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                          arcp_json_ref h, const char *where)
{
    if (!arcp_json_is(have, h, ARCP_JSON_ARRAY) ||
        arcp_json_count(want, w) != arcp_json_count(have, h)) {
        return differs(s, want, w, have, h, where);
    }
    arcp_json_ref other = arcp_json_first(have, h);
    for (arcp_json_ref at = arcp_json_first(want, w); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(want, w, at), other = arcp_json_next(have, h, other)) {
        if (!matches(s, want, at, have, other, where)) {
            return false;
        }
    }
    return true;
}

static bool matches(story *s, const arcp_json *want, arcp_json_ref w, const arcp_json *have,
                    arcp_json_ref h, const char *where)
{
    arcp_span raw = arcp_json_raw(want, w);
    if (raw.size > 3 && memcmp(raw.data, "\"$", 2) == 0) {
        return matches_name(s, want, w, have, h, where);
    }
    if (arcp_json_is(want, w, ARCP_JSON_OBJECT)) {
        return matches_object(s, want, w, have, h, where);
    }
    if (arcp_json_is(want, w, ARCP_JSON_ARRAY)) {
        return matches_array(s, want, w, have, h, where);
    }
    arcp_buf a = ARCP_BUF_INIT;
    arcp_buf b = ARCP_BUF_INIT;
    bool same = h != ARCP_JSON_ABSENT && arcp_json_canonical(want, w, &a, NULL) == ARCP_OK &&
                arcp_json_canonical(have, h, &b, NULL) == ARCP_OK &&
                arcp_span_equal(arcp_buf_span(&a), arcp_buf_span(&b));
    arcp_buf_fini(&a);
    arcp_buf_fini(&b);
    return same || differs(s, want, w, have, h, where);
}

static void expect(story *s, const char *wanted, const char *got)
{
    arcp_json want = ARCP_JSON_INIT;
    arcp_json have = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    if (got == NULL) {
        story_fail(s, "nothing came, want %s", wanted);
    }
    if (arcp_json_scan(&want, arcp_span_cstr(wanted), &limits, &error) != ARCP_OK) {
        story_fail(s, "the script's own JSON: %s", error.message);
    }
    if (arcp_json_scan(&have, arcp_span_cstr(got), &limits, &error) != ARCP_OK) {
        story_fail(s, "what came is no JSON: %s: %s", error.message, got);
    }
    if (!matches(s, &want, ARCP_JSON_ROOT, &have, ARCP_JSON_ROOT, "frame")) {
        story_fail(s, "%s\n  in %s", s->why, got);
    }
    arcp_json_fini(&want);
    arcp_json_fini(&have);
}

/* ---- lines ---- */

static int64_t read_duration(story *s, const char *text)
{
    char unit[3] = {0};
    double amount = 0;
    if (sscanf(text, "+%lf%2s", &amount, unit) != 2) {
        story_fail(s, "a duration is written +31s");
    }
    double ns = strcmp(unit, "ms") == 0 ? 1e6
                : unit[0] == 's'        ? 1e9
                : unit[0] == 'm'        ? 60e9
                                        : 3600e9;
    return (int64_t)(amount * ns);
}

static void client_line(story *s, const char *name, char direction, const char *rest)
{
    rig_client *client = rig_find(&s->rig, name);
    if (direction == '>') {
        if (client->link == NULL) {
            client = rig_connect(&s->rig, name);
        }
        char *frame = expand(s, rest);
        rig_send(&s->rig, client, frame);
        arcp__free(frame);
        return;
    }
    if (strncmp(rest, "close ", 6) == 0) {
        if (client->close_code != atoi(rest + 6)) {
            story_fail(s, "closed with %d", client->close_code);
        }
        return;
    }
    char *got = rig_take(client);
    if (strcmp(rest, "nothing") == 0) {
        if (got != NULL) {
            story_fail(s, "unexpected %s", got);
        }
        return;
    }
    expect(s, rest, got);
    arcp__free(got);
}

static void agent_line(story *s, char *rest)
{
    char *end = rest + strcspn(rest, " <>");
    char action = *end;
    char *text = end + 1;
    *end = '\0';
    char *job_id = expand(s, rest);
    rig_agent *agent = rig_agent_of(&s->rig, job_id);
    if (agent == NULL) {
        story_fail(s, "job %s has no agent", job_id);
    }
    arcp__free(job_id);
    while (*text == ' ') {
        text++;
    }
    if (action == '>') {
        char *line = expand(s, text);
        rig_agent_says(&s->rig, agent, line);
        arcp__free(line);
    } else if (action == '<' && strcmp(text, "nothing") == 0) {
        char *got = rig_agent_take(agent);
        if (got != NULL) {
            story_fail(s, "unexpected line %s", got);
        }
    } else if (action == '<') {
        char *got = rig_agent_take(agent);
        expect(s, text, got);
        arcp__free(got);
    } else if (strncmp(text, "exits ", 6) == 0) {
        rig_agent_exits(&s->rig, agent, false, atoi(text + 6));
    } else if (strcmp(text, "killed") == 0) {
        if (!agent->killed) {
            story_fail(s, "the agent was not killed");
        }
    } else {
        story_fail(s, "an agent line is `agent $j> ..`, `agent $j< ..`, `agent $j exits N` or "
                      "`agent $j killed`");
    }
}

/* hello(a, alice): the usual beginning. */
static void hello(story *s, const char *name, const char *principal)
{
    char frame[1024];
    rig_client *client = rig_connect(&s->rig, name);
    (void)snprintf(frame, sizeof(frame),
                   "{\"arcp\":\"1.1\",\"id\":\"hello-%s\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"story\",\"version\":\"1\"},"
                   "\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-%s\"},"
                   "\"capabilities\":{\"encodings\":[\"json\"],\"features\":%s}}}",
                   name, principal, features);
    rig_send(&s->rig, client, frame);
    char want[256];
    (void)snprintf(want, sizeof(want),
                   "{\"type\":\"session.welcome\",\"session_id\":\"$s_%s\","
                   "\"payload\":{\"resume_token\":\"$t_%s\"}}",
                   name, name);
    /* A new hello of the same client is a new session. */
    for (int at = 0; at < 2; at++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%c_%s", at == 0 ? 's' : 't', name);
        char **value = value_of(s, key, strlen(key));
        arcp__free(*value);
        *value = NULL;
    }
    char *got = rig_take(client);
    expect(s, want, got);
    arcp__free(got);
}

static void run_line(story *s, char *line)
{
    char first[32];
    char second[32];
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') {
        return;
    }
    if (sscanf(line, "hello(%31[a-z0-9], %31[a-z0-9])", first, second) == 2) {
        hello(s, first, second);
    } else if (strncmp(line, "agent ", 6) == 0) {
        agent_line(s, line + 6);
    } else if (strncmp(line, "clock ", 6) == 0) {
        rig_clock(&s->rig, read_duration(s, line + 6));
    } else if (strncmp(line, "drop ", 5) == 0) {
        rig_drop(&s->rig, rig_find(&s->rig, line + 5));
    } else if (strcmp(line, "restart") == 0) {
        rig_restart(&s->rig);
    } else {
        size_t size = strcspn(line, "<>");
        if (size == 0 || size >= sizeof(first) || line[size] == '\0' || line[size + 1] != ' ') {
            story_fail(s, "this line says nothing");
        }
        memcpy(first, line, size);
        first[size] = '\0';
        client_line(s, first, line[size], line + size + 2);
    }
}

void story_run_in_memory(const char *path)
{
    static story s;
    s = (story){.path = path};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
    }
    rig_start(&s.rig, NULL);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        s.line++;
        run_line(&s, line);
    }
    free(line);
    (void)fclose(file);
    rig_stop(&s.rig);
    for (size_t at = 0; at < s.name_count; at++) {
        arcp__free(s.names[at].value);
    }
}
