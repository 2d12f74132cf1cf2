/* Every block of memory that the engine frees is checked: no token and no credential may be in it.
 * A realloc counts as one that frees the old block (tests/support/failing_alloc). */
#include "engine/credential_rig.h"

#include <ctype.h>

#include "support/failing_alloc.h"

/* Every token of a client's is "t-" and its principal's name; the second one is written with an
 * escape, so that the engine must unescape it. */
#define TOKEN_ESCAPED  "t-\\u0061lice"
#define TOKEN_PLAIN    "t-alice"
#define RESUME_PREFIX  "rt_"
#define RESUME_SIZE    43u /* after the prefix: 32 bytes as base64 */
#define JOBS           14
#define INPUT_STEP     53 /* bytes: the frames end at many places of their buffers */
#define INPUT_SIZE_MAX (JOBS * INPUT_STEP)

typedef struct leaks {
    size_t blocks;
    size_t credentials, tokens, resume_tokens;
    char first[160]; /* the text around the first one */
} leaks;

static void note(leaks *l, size_t *count, const char *block, size_t size, const char *found)
{
    if (l->credentials + l->tokens + l->resume_tokens == 0) {
        const size_t before = (size_t)(found - block) < 80 ? (size_t)(found - block) : 80;
        const size_t behind =
            size - (size_t)(found - block) < 79 ? size - (size_t)(found - block) : 79;
        for (size_t i = 0; i < before + behind; i++) {
            const char byte = found[(ptrdiff_t)i - (ptrdiff_t)before];
            l->first[i] = (char)(isprint((unsigned char)byte) ? byte : '.');
        }
        l->first[before + behind] = '\0';
    }
    ++*count;
}

static const char *find(const char *block, size_t size, const char *text)
{
    return memmem(block, size, text, strlen(text));
}

static bool is_resume_token(const char *text, const char *end)
{
    text += strlen(RESUME_PREFIX);
    size_t size = 0;
    while (size < RESUME_SIZE && text + size < end &&
           (isalnum((unsigned char)text[size]) || text[size] == '-' || text[size] == '_')) {
        size++;
    }
    return size == RESUME_SIZE;
}

static void look(void *user, const void *memory, size_t size)
{
    leaks *l = user;
    const char *block = memory;
    const char *end = block + size;
    l->blocks++;
    const char *found = find(block, size, UPSTREAM_VALUE_PREFIX);
    if (found != NULL) {
        note(l, &l->credentials, block, size, found);
    }
    found = find(block, size, TOKEN_PLAIN);
    found = found != NULL ? found : find(block, size, TOKEN_ESCAPED);
    if (found != NULL) {
        note(l, &l->tokens, block, size, found);
    }
    for (found = find(block, size, RESUME_PREFIX); found != NULL;
         found = find(found + 1, (size_t)(end - found - 1), RESUME_PREFIX)) {
        if (is_resume_token(found, end)) {
            note(l, &l->resume_tokens, block, size, found);
        }
    }
}

/* ---- what happens ---- */

static void take_all(fixture *f, const char *name)
{
    while (next(f, name)[0] != '\0') {
    }
}

static void submit_one(fixture *f, int number)
{
    char id[16];
    char payload[256 + INPUT_SIZE_MAX];
    char input[INPUT_SIZE_MAX + 1] = "";
    memset(input, 'x', (size_t)number * INPUT_STEP);
    (void)snprintf(id, sizeof id, "s%d", number);
    (void)snprintf(payload, sizeof payload,
                   "{\"agent\":\"echo\",\"idempotency_key\":\"key-%d\",\"input\":\"%s\"}", number,
                   input);
    submit(f, id, payload);
    check_has(next(f, "a"), "\"value\":\"" UPSTREAM_VALUE_PREFIX);
    take_all(f, "a");
    check_has(next_line(f, rig_agent_last(&f->rig)), "\"value\":\"" UPSTREAM_VALUE_PREFIX);
}

static void say_hello(fixture *f, const char *name, const char *token, const char *rest)
{
    char frame[1024];
    (void)snprintf(
        frame, sizeof frame,
        "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\""
        ":{\"scheme\":\"bearer\",\"token\":\"%s\"},\"capabilities\":{\"features\":[" FEATURES_ALL
        "]}%s}}",
        token, rest);
    rig_send(&f->rig, rig_connect(&f->rig, name), frame);
    check_has(next(f, name), "\"resume_token\":\"rt_");
}

static void resume(fixture *f, const char *token)
{
    char rest[256];
    (void)snprintf(rest, sizeof rest, ",\"resume_token\":\"%s\",\"last_event_seq\":0", token);
    rig_drop(&f->rig, rig_find(&f->rig, "a"));
    say_hello(f, "a", TOKEN_PLAIN, rest);
    check_has(next(f, "a"), "job.accepted");
    check_has(f->frame, "\"value\":\"" UPSTREAM_VALUE_PREFIX);
    take_all(f, "a");
}

static void look_at_jobs(fixture *f, const char *job_id)
{
    char payload[256];
    say_hello(f, "b", TOKEN_ESCAPED, "");
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\",\"history\":true}", job_id);
    request(f, "b", "1", "job.subscribe", payload);
    check_has(next(f, "b"), "\"value\":\"" UPSTREAM_VALUE_PREFIX);
    take_all(f, "b");
    request(f, "b", "2", "session.list_jobs", "{}");
    check_has(next(f, "b"), "\"value\":\"" UPSTREAM_VALUE_PREFIX);
    request(f, "b", "2", "session.list_jobs", "{}");
    take_all(f, "b");
    submit(f, "again",
           "{\"agent\":\"echo\",\"idempotency_key\":\"key-3\",\"input\":\""
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}");
    check_has(next(f, "a"), "\"value\":\"" UPSTREAM_VALUE_PREFIX);
}

static void rotate(fixture *f, rig_agent *agent)
{
    rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    bool is_notified = false;
    for (const char *frame = next(f, "a"); frame[0] != '\0'; frame = next(f, "a")) {
        is_notified = is_notified || (strstr(frame, "credential_rotated") != NULL &&
                                      strstr(frame, "\"value\":\"" UPSTREAM_VALUE_PREFIX) != NULL);
    }
    assert_true(is_notified);
    check_has(next_line(f, agent), "job.credentials");
}

static void play(fixture *f)
{
    char token[64];
    f->rig.settings.credentials_rotate_sec = 60;
    rig_open(&f->rig);
    say_hello(f, "a", TOKEN_ESCAPED, "");
    (void)snprintf(token, sizeof token, "%.*s", (int)(strlen(RESUME_PREFIX) + RESUME_SIZE),
                   strstr(f->frame, RESUME_PREFIX));
    for (int number = 0; number < JOBS; number++) {
        submit_one(f, number);
    }
    rig_agent *agent = rig_agent_last(&f->rig);
    look_at_jobs(f, agent->job_id);
    rotate(f, agent);
    resume(f, token);
    for (agent = rig_agent_last(&f->rig); agent != NULL; agent = rig_agent_last(&f->rig)) {
        ends(f, agent);
    }
    take_all(f, "a");
    request(f, "b", "bye", "session.bye", "{}");
    rig_stop(&f->rig);
}

static void no_memory_that_is_given_back_has_a_token_or_a_credential_in_it(void **state)
{
    fixture *f = *state;
    leaks seen = {0};
    failing_alloc_watch(look, &seen);
    play(f);
    failing_alloc_watch(NULL, NULL);
    f->rig.engine = NULL;
    assert_true(seen.blocks > 1000);
    if (seen.credentials + seen.tokens + seen.resume_tokens != 0) {
        fail_msg("of %zu blocks that were given back %zu had a credential in them, %zu a token and "
                 "%zu a resume token; the first: %s",
                 seen.blocks, seen.credentials, seen.tokens, seen.resume_tokens, seen.first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            no_memory_that_is_given_back_has_a_token_or_a_credential_in_it, credential_setup,
            credential_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
