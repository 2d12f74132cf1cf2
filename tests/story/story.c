#include "story/story.h"

#include "support/check.h"

#include <arcp/json.h>

#include "base/alloc.h"
#include "base/timestamp.h"
#include "conformance/match.h"

typedef struct story {
    const story_stage *stage;
    const char *path;
    unsigned line;
    arcp__variables names;
    arcp_buf why; /* NUL-terminated: the expectation at hand does not fit */
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
static void bind_instants(story *s, const char *text)
{
    for (const char *at = strstr(text, "$in_"); at != NULL; at = strstr(at + 1, "$in_")) {
        char name[ARCP__VARIABLE_NAME_MAX];
        char duration[ARCP__VARIABLE_NAME_MAX];
        char instant[ARCP__TIMESTAMP_SIZE];
        assert_int_equal(sscanf(at, "$%23[a-z0-9_]", name), 1);
        if (arcp__variable_get(&s->names, arcp_span_cstr(name)) == NULL) {
            (void)snprintf(duration, sizeof(duration), "+%s", name + 3);
            arcp__timestamp_format(s->stage->now(s->stage->user) + read_duration(s, duration),
                                   instant);
            arcp__variable_set_text(&s->names, name, arcp_span_make(instant, sizeof(instant)));
        }
    }
}

static char *expand(story *s, const char *text)
{
    arcp_buf out = ARCP_BUF_INIT;
    bind_instants(s, text);
    if (!arcp__variables_replace(&s->names, arcp_span_cstr(text), &out)) {
        story_fail(s, "a $name has no value: %s", text);
    }
    return arcp_buf_take_cstr(&out);
}

/* The id that a $name stands for. */
static char *job_of(story *s, const char *name)
{
    const arcp_buf *id = arcp__variable_get(&s->names, arcp_span_cstr(name + 1));
    if (name[0] != '$' || id == NULL || id->data[0] != '"') {
        story_fail(s, "%s is no job", name);
    }
    return arcp__copy_cstr(id->data + 1, id->size - 2);
}

/* ---- matching ---- */

static bool fits(story *s, const arcp_json *want, const char *got)
{
    arcp_json have = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    arcp_buf_clear(&s->why);
    if (arcp_json_scan(&have, arcp_span_cstr(got), &limits, &error) != ARCP_OK) {
        story_fail(s, "what came is no JSON: %s: %s", error.message, got);
    }
    bool fit = arcp__pattern_matches(&s->names, want, ARCP__LISTS_EQUAL, &have, &s->why);
    assert_false(s->names.failed);
    arcp_buf_append_byte(&s->why, '\0');
    arcp_json_fini(&have);
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
                       index == 0 ? "" : s->why.data);
        }
        if (fits(s, &want, got)) {
            drop(s->stage->user, who, index);
            break;
        }
        if (s->stage->is_strict) {
            story_fail(s, "%s\n  in %s", s->why.data, got);
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
    char *job_id = job_of(s, rest);
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
        story_fail(s, "no audit record fits %s\n  %s", wanted, s->why.size == 0 ? "" : s->why.data);
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
        arcp__variable_forget(&s->names, key);
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
    arcp__variables_fini(&s.names);
    arcp_buf_fini(&s.why);
}
