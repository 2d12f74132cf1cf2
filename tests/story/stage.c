/* The lines that the stages of tests add to the language of stories. */
#include "story/stage.h"

#include "support/check.h"

#include "base/alloc.h"
#include "cli/cli.h"

static const story_stage *stage_of(const arcp__story *story)
{
    return (const story_stage *)story->stage; /* its first member is the arcp__story_stage */
}

static bool read_duration(arcp__story *story, const char *text, int64_t *out_ns)
{
    arcp_error error = {0};
    if ((text[0] != '+' && text[0] != '-') ||
        arcp__duration_parse(text + 1, out_ns, &error) != ARCP_OK) {
        return arcp__story_fail(story, "expected a duration such as +31s: %s", error.message);
    }
    *out_ns = text[0] == '-' ? -*out_ns : *out_ns;
    return true;
}

/* ---- agents ---- */

static bool agent_line(arcp__story *story, const char *job_id, const char *action, char *text)
{
    const story_stage *stage = stage_of(story);
    if (strcmp(action, ">") == 0) {
        arcp_buf line = arcp_buf_init();
        const bool is_expanded = arcp__story_expand(story, text, &line);
        if (is_expanded) {
            stage->agent_says(stage->story.user, job_id, line.data);
        }
        arcp_buf_fini(&line);
        return is_expanded;
    }
    if (strcmp(action, "<") == 0) {
        return strcmp(text, "nothing") == 0
                   ? arcp__story_expect_nothing(story, &stage->agents, job_id)
                   : arcp__story_expect(story, &stage->agents, job_id, "", text);
    }
    if (strncmp(text, "exits ", 6) == 0) {
        stage->agent_exits(stage->story.user, job_id, (int)strtol(text + 6, NULL, 10));
        return true;
    }
    if (strcmp(text, "killed") == 0) {
        return stage->agent_is_killed(stage->story.user, job_id) ||
               arcp__story_fail(story, "the agent was not killed");
    }
    return arcp__story_fail(story, "expected `agent $j> ..`, `agent $j< ..`, "
                                   "`agent $j exits N` or `agent $j killed`");
}

static bool play_agent(arcp__story *story, char *rest)
{
    char name[ARCP__VARIABLE_NAME_MAX + 2] = {0};
    const char *word = arcp__story_word(&rest);
    const size_t size = strcspn(word, "<>");
    memcpy(name, word, size < sizeof name ? size : sizeof name - 1);
    const arcp_buf *id = arcp__story_value(story, name);
    if (id == NULL || id->data[0] != '"') {
        return arcp__story_fail(story, ": %s is not a job", name);
    }
    char *job_id = arcp__copy_cstr(id->data + 1, id->size - 2);
    const bool passed = agent_line(story, job_id, word + size, rest);
    arcp__free(job_id);
    return passed;
}

/* ---- the runtime ---- */

static bool play_audit(arcp__story *story, char *rest)
{
    return arcp__story_expect(story, &stage_of(story)->audit, "", "", rest);
}

static bool play_policy(arcp__story *story, char *rest)
{
    stage_of(story)->policy(story->stage->user, rest);
    return true;
}

static bool play_setting(arcp__story *story, char *rest)
{
    const char *key = arcp__story_word(&rest);
    char group[64] = {0};
    const size_t size = strcspn(key, ".");
    if (size >= sizeof group || key[size] != '.') {
        return arcp__story_fail(story, "expected a setting: GROUP.KEY VALUE");
    }
    memcpy(group, key, size);
    stage_of(story)->set(story->stage->user, group, key + size + 1, rest);
    return true;
}

static bool play_profile(arcp__story *story, char *rest)
{
    const char *client = arcp__story_word(&rest);
    const char *principal = arcp__story_word(&rest);
    stage_of(story)->profile(story->stage->user, client, principal, rest);
    return true;
}

static bool play_time(arcp__story *story, const char *text, void (*pass)(void *user, int64_t ns))
{
    int64_t ns = 0;
    if (!read_duration(story, text, &ns)) {
        return false;
    }
    pass(story->stage->user, ns);
    return true;
}

static bool play_clock(arcp__story *story, char *rest)
{
    return play_time(story, rest, stage_of(story)->clock);
}

static bool play_later(arcp__story *story, char *rest)
{
    return play_time(story, rest, stage_of(story)->later);
}

static bool play_wall(arcp__story *story, char *rest)
{
    return play_time(story, rest, stage_of(story)->set_wall);
}

static bool play_store(arcp__story *story, char *rest)
{
    const bool holds = strcmp(rest, "holds") == 0;
    stage_of(story)->hold_store(story->stage->user, holds);
    return holds || strcmp(rest, "writes") == 0 ||
           arcp__story_fail(story, "expected `store holds` or `store writes`");
}

static bool play_host(arcp__story *story, char *rest)
{
    const story_stage *stage = stage_of(story);
    return (stage->host != NULL && stage->host(story->stage->user, rest)) ||
           arcp__story_fail(story, "expected `host` and an answer that this stage knows");
}

static bool play_denied(arcp__story *story, char *rest)
{
    const story_stage *stage = stage_of(story);
    const char *job = arcp__story_word(&rest);
    const char *layer = arcp__story_word(&rest);
    const char *capability = arcp__story_word(&rest);
    const arcp_buf *id = arcp__story_value(story, job);
    if (id == NULL || id->data[0] != '"') {
        return arcp__story_fail(story, ": %s is not a job", job);
    }
    char *job_id = arcp__copy_cstr(id->data + 1, id->size - 2);
    const bool passed =
        stage->denied != NULL && stage->denied(story->stage->user, job_id, layer, capability, rest);
    arcp__free(job_id);
    return passed || arcp__story_fail(story, "expected broker, egress or gateway, in memory");
}

static bool play_max_jobs(arcp__story *story, char *rest)
{
    const unsigned long count = strtoul(arcp__story_word(&rest), NULL, 10);
    stage_of(story)->max_jobs(story->stage->user, (unsigned)count, strcmp(rest, "refuses") == 0);
    return true;
}

static bool play_agents(arcp__story *story, char *rest)
{
    const story_stage *stage = stage_of(story);
    if (stage->has_echo == NULL || strcmp(rest + (rest[0] != '\0'), "echo") != 0) {
        return arcp__story_fail(story, "expected `agents +echo` or `agents -echo`, in memory");
    }
    stage->has_echo(story->stage->user, rest[0] == '+');
    return true;
}

static bool play_restart(arcp__story *story, char *rest)
{
    (void)rest;
    stage_of(story)->restart(story->stage->user);
    return true;
}

static const arcp__story_verb verbs[] = {
    {"agent", play_agent},     {"audit<", play_audit},      {"policy", play_policy},
    {"setting", play_setting}, {"profile", play_profile},   {"clock", play_clock},
    {"later", play_later},     {"wall", play_wall},         {"store", play_store},
    {"host", play_host},       {"max_jobs", play_max_jobs}, {"agents", play_agents},
    {"denied", play_denied},   {"restart", play_restart},   {NULL, NULL}};

/* ---- playing ---- */

void story_keep_text(void *user, const char *name, unsigned index)
{
    (void)user;
    (void)name;
    (void)index;
}

static char *read_text(const char *path)
{
    arcp_buf text = arcp_buf_init();
    char *name = NULL;
    arcp_error error = {0};
    assert_true(asprintf(&name, "@%s", path) > 0);
    check_ok(arcp__file_text(name, false, &text, &error), &error);
    free(name);
    return arcp_buf_take_cstr(&text);
}

void story_play(story_stage *stage, const char *path)
{
    static arcp__story story;
    char *macros = read_text(ARCP_SOURCE_DIR "/tests/scripts/macros");
    char *text = read_text(path);
    stage->story.verbs = verbs;
    stage->story.macros = macros;
    arcp__story_init(&story, &stage->story);
    if (!arcp__story_play(&story, arcp_span_cstr(text))) {
        fail_msg("%s:%u: %.*s%s%.*s", path, story.line, (int)story.why.size, story.why.data,
                 story.shows_frame ? "\n  in " : "", story.shows_frame ? (int)story.frame.size : 0,
                 story.frame.size == 0 ? "" : story.frame.data);
    }
    arcp__story_fini(&story);
    arcp__free(text);
    arcp__free(macros);
}
