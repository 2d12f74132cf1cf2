#include "story/story.h"

#include <ctype.h>

#include "support/check.h"

#include <arcp/json.h>

#include "base/alloc.h"
#include "base/timestamp.h"

#define NAMES_MAX 64

typedef struct story {
    const story_stage *stage;
    const char *path;
    unsigned line;
    struct {
        char name[32];
        char *value; /* JSON */
    } names[NAMES_MAX];
    size_t name_count;
    char **bound[NAMES_MAX]; /* by the expectation at hand */
    size_t bound_count;
    char why[512];
} story;

static const char features[] =
    "\"heartbeat\",\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\","
    "\"model.use\",\"progress\",\"result_chunk\",\"agent_versions\"";
static const char own_features[] = ",\"x-vendor.arcpd.accepted_again\"";

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

static int64_t read_duration(story *s, const char *text)
{
    char unit[3] = {0};
    char *end = NULL;
    double amount = *text == '+' || *text == '-' ? strtod(text, &end) : 0;
    if (end == NULL || end == text + 1 || sscanf(end, "%2[a-z]", unit) != 1) {
        story_fail(s, "a duration is written +31s");
    }
    double ns = strcmp(unit, "ms") == 0 ? 1e6
                : unit[0] == 's'        ? 1e9
                : unit[0] == 'm'        ? 60e9
                                        : 3600e9;
    return (int64_t)(amount * ns);
}

/* $in_2s; the same instant every time: it is kept as a value of that name. */
static void bind_instant(story *s, const char *name, size_t size, char **value)
{
    char duration[32];
    char text[2 + ARCP__TIMESTAMP_SIZE + 1] = "\"";
    if (*value != NULL || size < 5 || size > 20 || memcmp(name, "in_", 3) != 0) {
        return;
    }
    (void)snprintf(duration, sizeof(duration), "+%.*s", (int)size - 3, name + 3);
    arcp__timestamp_format(s->stage->now(s->stage->user) + read_duration(s, duration), text + 1);
    text[1 + ARCP__TIMESTAMP_SIZE] = '"';
    *value = arcp__copy_cstr(text, sizeof(text) - 1);
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
        char **slot = value_of(s, text + 1, size);
        bind_instant(s, text + 1, size, slot);
        const char *value = *slot;
        if (value == NULL) {
            story_fail(s, "$%.*s has no value", (int)size, text + 1);
        }
        size_t length = strlen(value);
        bool quoted = value[0] == '"';
        arcp_buf_append(&out, arcp_span_make(value + quoted, length - (quoted ? 2u : 0u)));
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
        s->bound[s->bound_count++] = value;
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

static bool fits(story *s, const arcp_json *want, const char *got)
{
    arcp_json have = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    s->bound_count = 0;
    if (arcp_json_scan(&have, arcp_span_cstr(got), &limits, &error) != ARCP_OK) {
        story_fail(s, "what came is no JSON: %s: %s", error.message, got);
    }
    bool fit = matches(s, want, ARCP_JSON_ROOT, &have, ARCP_JSON_ROOT, "frame");
    arcp_json_fini(&have);
    for (size_t at = 0; !fit && at < s->bound_count; at++) {
        arcp__free(*s->bound[at]);
        *s->bound[at] = NULL;
    }
    return fit;
}

typedef const char *(*peek_fn)(void *user, const char *who, unsigned index);
typedef void (*remove_fn)(void *user, const char *who, unsigned index);

/* Takes the frame (or line) that fits: the first one on a strict stage. */
static void expect(story *s, const char *wanted, const char *who, peek_fn peek, remove_fn drop)
{
    arcp_json want = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    if (arcp_json_scan(&want, arcp_span_cstr(wanted), &limits, &error) != ARCP_OK) {
        story_fail(s, "the script's own JSON: %s", error.message);
    }
    for (unsigned index = 0;; index++) {
        const char *got = peek(s->stage->user, who, index);
        if (got == NULL) {
            story_fail(s, "%s, want %s\n  %s", index == 0 ? "nothing came" : "nothing fits", wanted,
                       s->why);
        }
        if (fits(s, &want, got)) {
            drop(s->stage->user, who, index);
            break;
        }
        if (s->stage->is_strict) {
            story_fail(s, "%s\n  in %s", s->why, got);
        }
    }
    arcp_json_fini(&want);
}

/* ---- lines ---- */

static void expect_nothing(story *s, const char *who, peek_fn peek)
{
    const char *got = s->stage->is_strict ? peek(s->stage->user, who, 0) : NULL;
    if (got != NULL) {
        story_fail(s, "unexpected %s", got);
    }
}

static void client_line(story *s, const char *name, char direction, const char *rest)
{
    const story_stage *stage = s->stage;
    if (direction == '>') {
        if (!stage->is_connected(stage->user, name)) {
            stage->connect(stage->user, name);
        }
        char *frame = expand(s, rest);
        stage->send(stage->user, name, frame);
        arcp__free(frame);
    } else if (strncmp(rest, "close ", 6) == 0) {
        int code = stage->close_code(stage->user, name);
        if (code != (int)strtol(rest + 6, NULL, 10)) {
            story_fail(s, "closed with %d", code);
        }
    } else if (strcmp(rest, "nothing") == 0) {
        expect_nothing(s, name, stage->peek);
    } else {
        expect(s, rest, name, stage->peek, stage->remove);
    }
}

static void agent_line(story *s, char *rest)
{
    const story_stage *stage = s->stage;
    char *end = rest + strcspn(rest, " <>");
    char action = *end;
    char *text = end + 1;
    *end = '\0';
    char *job_id = expand(s, rest);
    while (*text == ' ') {
        text++;
    }
    if (action == '>') {
        char *line = expand(s, text);
        stage->agent_says(stage->user, job_id, line);
        arcp__free(line);
    } else if (action == '<' && strcmp(text, "nothing") == 0) {
        expect_nothing(s, job_id, stage->agent_peek);
    } else if (action == '<') {
        expect(s, text, job_id, stage->agent_peek, stage->agent_remove);
    } else if (strncmp(text, "exits ", 6) == 0) {
        stage->agent_exits(stage->user, job_id, (int)strtol(text + 6, NULL, 10));
    } else if (strcmp(text, "killed") == 0) {
        if (!stage->agent_is_killed(stage->user, job_id)) {
            story_fail(s, "the agent was not killed");
        }
    } else {
        story_fail(s, "an agent line is `agent $j> ..`, `agent $j< ..`, `agent $j exits N` or "
                      "`agent $j killed`");
    }
    arcp__free(job_id);
}

/* Records come in many orders; one may be looked at twice. */
static void expect_audit(story *s, const char *wanted)
{
    arcp_json want = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    if (arcp_json_scan(&want, arcp_span_cstr(wanted), &limits, &error) != ARCP_OK) {
        story_fail(s, "the script's own JSON: %s", error.message);
    }
    const char *got = s->stage->audit_peek(s->stage->user, 0);
    for (unsigned index = 1; got != NULL && !fits(s, &want, got); index++) {
        got = s->stage->audit_peek(s->stage->user, index);
    }
    if (got == NULL) {
        story_fail(s, "no audit record fits %s\n  %s", wanted, s->why);
    }
    arcp_json_fini(&want);
}

/* hello(a, alice): the usual beginning; a client that is there already is a new one. `client` may
 * be NULL: ours. */
static void hello(story *s, const char *name, const char *principal, const char *client)
{
    char frame[1024];
    char want[256];
    if (s->stage->is_connected(s->stage->user, name)) {
        s->stage->drop(s->stage->user, name);
    }
    s->stage->connect(s->stage->user, name);
    (void)snprintf(frame, sizeof(frame),
                   "{\"arcp\":\"1.1\",\"id\":\"hello-%s\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"%s\",\"version\":\"1\"},"
                   "\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-%s\"},"
                   "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[%s%s]}}}",
                   name, client == NULL ? "story" : client, principal, features,
                   client == NULL ? own_features : "");
    s->stage->send(s->stage->user, name, frame);
    (void)snprintf(want, sizeof(want),
                   "{\"type\":\"session.welcome\",\"session_id\":\"$s_%s\","
                   "\"payload\":{\"resume_token\":\"$t_%s\"}}",
                   name, name);
    for (int at = 0; at < 2; at++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%c_%s", at == 0 ? 's' : 't', name);
        char **value = value_of(s, key, strlen(key));
        arcp__free(*value);
        *value = NULL;
    }
    expect(s, want, name, s->stage->peek, s->stage->remove);
}

/* setting GROUP.KEY VALUE, profile CLIENT PRINCIPAL NAME, policy ROW: true when it was one
 * of them. */
static bool configure(story *s, const char *line)
{
    const story_stage *stage = s->stage;
    char first[64];
    char second[64];
    char third[64];
    if (strncmp(line, "policy ", 7) == 0) {
        stage->policy(stage->user, line + 7);
    } else if (sscanf(line, "setting %63[a-z_].%63[a-z_] %63s", first, second, third) == 3) {
        stage->set(stage->user, first, second, third);
    } else if (sscanf(line, "profile %63s %63s %63s", first, second, third) == 3) {
        stage->profile(stage->user, first, second, third);
    } else {
        return false;
    }
    return true;
}

static void run_line(story *s, char *line)
{
    char first[32];
    char second[32];
    char third[64];
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#' || configure(s, line)) {
        return;
    }
    int said = sscanf(line, "hello(%31[a-z0-9], %31[a-z0-9], %63[^)])", first, second, third);
    if (said >= 2) {
        hello(s, first, second, said == 3 ? third : NULL);
    } else if (strncmp(line, "agent ", 6) == 0) {
        agent_line(s, line + 6);
    } else if (strncmp(line, "connect ", 8) == 0) {
        s->stage->connect(s->stage->user, line + 8);
    } else if (strncmp(line, "clock ", 6) == 0) {
        s->stage->clock(s->stage->user, read_duration(s, line + 6));
    } else if (strncmp(line, "later ", 6) == 0) {
        s->stage->later(s->stage->user, read_duration(s, line + 6));
    } else if (strncmp(line, "wall ", 5) == 0) {
        s->stage->set_wall(s->stage->user, read_duration(s, line + 5));
    } else if (strncmp(line, "audit< ", 7) == 0) {
        expect_audit(s, line + 7);
    } else if (strncmp(line, "drop ", 5) == 0) {
        s->stage->drop(s->stage->user, line + 5);
    } else if (strcmp(line, "store holds") == 0 || strcmp(line, "store writes") == 0) {
        s->stage->hold_store(s->stage->user, strcmp(line, "store holds") == 0);
    } else if (strcmp(line, "restart") == 0) {
        s->stage->restart(s->stage->user);
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

void story_play(const story_stage *stage, const char *path)
{
    static story s;
    s = (story){.stage = stage, .path = path};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
    }
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        s.line++;
        run_line(&s, line);
    }
    free(line);
    (void)fclose(file);
    for (size_t at = 0; at < s.name_count; at++) {
        arcp__free(s.names[at].value);
    }
}
