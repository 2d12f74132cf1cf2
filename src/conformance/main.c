/* arcp-conformance, which `arcp conformance` runs: the cases of cases.story, one after the other,
 * each on connections of its own, against whatever speaks the draft. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "conformance/conformance.h"

#define WAIT_MS     10000
#define WAIT_MS_MAX INT64_C(3600000)
#define HOUR_NS     (3600 * ARCP_NS_PER_SEC)

typedef struct kit {
    arcp__program *program;
    arcp__wire *wire;
    arcp__variables variables;
    arcp__tally tally;
    arcp_buf welcome; /* of the first session */
    arcp_json json;   /* of it */
    arcp_buf runtime; /* its name and version */
    bool has_agent, has_version, has_long, has_token, has_other, is_stdio;
} kit;

/* ---- the command line ---- */

/* The URL may stand as a word: it is the one of --url. */
static arcp_status take_url(arcp__arguments *arguments, arcp_error *err)
{
    if (arguments->word_count == 0) {
        return ARCP_OK;
    }
    if (arcp__has(arguments, ARCP__OPTION_URL)) {
        return arcp_error_set(err, ARCP_E_USAGE, "URL and --url cannot be given together");
    }
    arguments->values[ARCP__OPTION_URL] = arguments->words;
    arguments->counts[ARCP__OPTION_URL] = 1;
    arguments->words = NULL;
    arguments->word_count = 0;
    return ARCP_OK;
}

/* How long a step may take. */
static arcp_status read_wait(const arcp__arguments *arguments, int64_t *wait_ms, arcp_error *err)
{
    int64_t wait_ns = WAIT_MS * ARCP_NS_PER_MS;
    arcp_status status =
        arcp__duration_option(arguments, ARCP__OPTION_CONFORMANCE_TIMEOUT, &wait_ns, err);
    *wait_ms = wait_ns / ARCP_NS_PER_MS;
    if (status == ARCP_OK && (*wait_ms < 1 || *wait_ms > WAIT_MS_MAX)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "--timeout %s is not from 1ms to 1h",
                                arcp__value(arguments, ARCP__OPTION_CONFORMANCE_TIMEOUT));
    }
    return status;
}

/* An agent's input as a variable, null when there is none. */
static arcp_status take_input(kit *k, const char *variable, arcp__option option, bool may_be_stdin,
                              arcp_error *err)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_status status =
        arcp__json_text(arcp__options[option].name, arcp__value(&k->program->arguments, option),
                        may_be_stdin, &text, err);
    if (status == ARCP_OK) {
        arcp__variable_set(&k->variables, arcp_span_cstr(variable),
                           text.size == 0 ? ARCP_SPAN_LITERAL("null") : arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    return status;
}

static void set_features(kit *k)
{
    static const char *const features[] = {
#define ARCP_FEATURE(name, wire) wire,
#include <arcp/feature.def>
#undef ARCP_FEATURE
    };
    arcp_buf list = ARCP_BUF_INIT;
    for (size_t at = 0; at < sizeof(features) / sizeof(features[0]); at++) {
        if (strncmp(features[at], "x-", 2) != 0) { /* the draft's alone */
            arcp_buf_append_format(&list, "%s\"%s\"", list.size == 0 ? "[" : ",", features[at]);
        }
    }
    arcp_buf_append_byte(&list, ']');
    k->variables.failed = k->variables.failed || list.failed;
    arcp__variable_set(&k->variables, ARCP_SPAN_LITERAL("features"), arcp_buf_span(&list));
    arcp_buf_fini(&list);
}

static arcp_status prepare(kit *k, arcp_error *err)
{
    arcp__program *program = k->program;
    const char *other = getenv("ARCP_OTHER_TOKEN");
    int64_t wait_ms = 0;
    if (take_url(&program->arguments, err) != ARCP_OK ||
        read_wait(&program->arguments, &wait_ms, err) != ARCP_OK ||
        arcp__target_find(&program->arguments, &program->target, err) != ARCP_OK ||
        take_input(k, "input", ARCP__OPTION_CONFORMANCE_INPUT, true, err) != ARCP_OK ||
        take_input(k, "long_input", ARCP__OPTION_LONG_INPUT, false, err) != ARCP_OK) {
        return err->status;
    }
    k->has_token = program->target.token != NULL;
    arcp__variable_set_text(&k->variables, "token",
                            k->has_token ? arcp_secret_reveal(program->target.token)
                                         : arcp_span_make("", 0));
    k->has_other = other != NULL && other[0] != '\0';
    if (k->has_other) {
        arcp__variable_set_text(&k->variables, "other", arcp_span_cstr(other));
    }
    k->is_stdio = strncmp(program->target.url, "stdio:", 6) == 0;
    set_features(k);
    k->wire = arcp__wire_new(program->target.url, program->target.ca_file, (uint64_t)wait_ms);
    return k->wire == NULL || k->variables.failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : ARCP_OK;
}

/* ---- the first session ---- */

static void append_text(const kit *k, arcp_json_ref value, arcp_buf *out)
{
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_buf_append(out, arcp_json_string(&k->json, value, &scratch));
    arcp_buf_fini(&scratch);
}

static arcp_json_ref member(const kit *k, arcp_json_ref object, const char *name)
{
    return arcp_json_member(&k->json, object, arcp_span_cstr(name));
}

/* The agent that was asked for, else the first of the inventory, by name or as {name, ...}; and
 * whether the inventory shows versions of it. */
static void set_agents(kit *k)
{
    const arcp__arguments *arguments = &k->program->arguments;
    const char *asked = arcp__value(arguments, ARCP__OPTION_CONFORMANCE_AGENT);
    const char *long_agent = arcp__value(arguments, ARCP__OPTION_LONG_AGENT);
    const arcp_json_ref agents = arcp__capability(&k->json, "agents");
    arcp_json_ref item = arcp_json_first(&k->json, agents);
    arcp_buf agent = ARCP_BUF_INIT;
    if (asked != NULL) {
        arcp_buf_append_cstr(&agent, asked);
    } else {
        bool is_object = arcp_json_is(&k->json, item, ARCP_JSON_OBJECT);
        append_text(k, is_object ? member(k, item, "name") : item, &agent);
    }
    k->has_agent = agent.size != 0;
    k->has_long = long_agent != NULL;
    arcp__variable_set_text(&k->variables, "agent", arcp_buf_span(&agent));
    if (k->has_long) {
        arcp__variable_set_text(&k->variables, "long", arcp_span_cstr(long_agent));
    }
    const char *version = agent.size == 0 ? NULL : memchr(agent.data, '@', agent.size);
    agent.size = version == NULL ? agent.size : (size_t)(version - agent.data);
    while (item != ARCP_JSON_ABSENT &&
           !arcp_json_string_equals(&k->json, member(k, item, "name"), arcp_buf_span(&agent))) {
        item = arcp_json_next(&k->json, agents, item);
    }
    k->has_version = k->has_agent && arcp_json_count(&k->json, member(k, item, "versions")) != 0;
    arcp_buf_append_cstr(&agent, "@0.0.0-nobodys");
    arcp__variable_set_text(&k->variables, "no_version", arcp_buf_span(&agent));
    arcp_buf_fini(&agent);
}

/* The exit status; 0 goes on. A runtime that answers, and not with a welcome, fails the first case.
 */
static int begin(kit *k, const arcp__case *first)
{
    arcp__verdict verdict = {0};
    arcp_buf text = ARCP_BUF_INIT;
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_SUCCESS;
    arcp__case_play(first, k->wire, &k->variables, &verdict, &k->welcome);
    if (verdict.passed && arcp__wire_scan(&k->json, arcp_buf_span(&k->welcome), &err) == ARCP_OK) {
        const arcp_json_ref runtime = arcp__payload_member(&k->json, "runtime");
        set_agents(k);
        append_text(k, member(k, runtime, "name"), &k->runtime);
        arcp_buf_append_byte(&k->runtime, ' ');
        append_text(k, member(k, runtime, "version"), &k->runtime);
    } else if (verdict.status != ARCP_OK && verdict.frame.size == 0) {
        arcp_error failure = {0};
        (void)arcp_error_set(&failure, verdict.status, "%.*s", (int)verdict.why.size,
                             verdict.why.size == 0 ? "" : verdict.why.data);
        exit_status = ARCP__EXIT_NOT_CONNECTED;
        if (verdict.status == ARCP_E_USAGE) { /* a URL that is none */
            exit_status = arcp__program_usage(k->program, &failure);
        } else {
            (void)arcp__program_fail(k->program, &failure);
        }
    } else {
        arcp__conformance_report(first, &verdict, NULL, k->program->is_json, &text);
        (void)arcp__program_print_buf(k->program, &text);
        exit_status = ARCP__EXIT_ERROR;
        if (memmem(verdict.frame.data, verdict.frame.size, "\"UNAUTHENTICATED\"", 17) != NULL) {
            (void)arcp__program_explain_no_token(k->program);
            exit_status = ARCP__EXIT_NOT_CONNECTED;
        }
    }
    arcp__verdict_fini(&verdict);
    return exit_status;
}

/* ---- the cases ---- */

/* Why there cannot be what a case needs; NULL when there is. */
static const char *lacks(const kit *k, arcp_span need, char room[96])
{
    const struct {
        const char *need;
        bool is_there;
        const char *why;
    } rows[] = {
        {"agent", k->has_agent, "the runtime shows no agent; name one with --agent"},
        {"versioned", k->has_version, "the runtime shows no version of the agent"},
        {"long", k->has_long, "takes an agent that runs until it is cancelled: --long-agent"},
        {"token", k->has_token, "without a token of ours a wrong one says nothing"},
        {"other", k->has_other, "takes another principal's token: ARCP_OTHER_TOKEN"},
        {"many", !k->is_stdio, "a command is another runtime on each connection"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (arcp_span_equal_cstr(need, rows[row].need)) {
            return rows[row].is_there ? NULL : rows[row].why;
        }
    }
    if (arcp__list_has(&k->json, arcp__capability(&k->json, "features"), need)) {
        return NULL;
    }
    (void)snprintf(room, 96, "%.*s was not negotiated", (int)need.size, need.data);
    return room;
}

static const char *why_skipped(const kit *k, arcp_span needs, char room[96])
{
    const char *why = NULL;
    while (needs.size != 0 && why == NULL) {
        const char *space = memchr(needs.data, ' ', needs.size);
        const size_t size = space == NULL ? needs.size : (size_t)(space - needs.data);
        why = lacks(k, arcp_span_first(needs, size), room);
        needs = arcp_span_from(needs, size + 1);
    }
    return why;
}

/* What is another in each case: $key, and an hour ahead with an offset from UTC. */
static void set_own(kit *k, size_t index)
{
    char key[80];
    char text[ARCP__TIMESTAMP_SIZE + 8];
    const int64_t now_ns = arcp__now_wall_ns();
    (void)snprintf(key, sizeof(key), "arcp-conformance-%ld-%" PRId64 "-%zu", (long)getpid(), now_ns,
                   index);
    arcp__variable_set_text(&k->variables, "key", arcp_span_cstr(key));
    arcp__timestamp_format(now_ns + 2 * HOUR_NS, text);
    memcpy(text + ARCP__TIMESTAMP_SIZE - 1, "+01:00", 6);
    arcp__variable_set_text(&k->variables, "offset",
                            arcp_span_make(text, ARCP__TIMESTAMP_SIZE + 5));
}

/* False when standard output is gone. */
static bool play(kit *k, const arcp__case *played, size_t index)
{
    arcp__verdict verdict = {0};
    arcp_buf text = ARCP_BUF_INIT;
    char room[96];
    const char *skipped = why_skipped(k, played->needs, room);
    if (skipped == NULL) {
        set_own(k, index);
        arcp__case_play(played, k->wire, &k->variables, &verdict, NULL);
        arcp__tally_add(&k->tally, &verdict);
    } else {
        k->tally.skipped++;
    }
    arcp__conformance_report(played, &verdict, skipped, k->program->is_json, &text);
    arcp__verdict_fini(&verdict);
    return arcp__program_print_buf(k->program, &text);
}

static int play_all(kit *k)
{
    arcp_span text = arcp_span_cstr(arcp__cases_text);
    arcp_buf summary = ARCP_BUF_INIT;
    arcp__case played;
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp__case_next(&text, &played)) {
        exit_status = begin(k, &played);
    }
    if (exit_status != ARCP__EXIT_SUCCESS) {
        return exit_status;
    }
    for (size_t index = 0; arcp__case_next(&text, &played); index++) {
        if (!play(k, &played, index)) {
            return ARCP__EXIT_ERROR;
        }
    }
    arcp__conformance_summary(&k->tally, arcp_buf_span(&k->runtime), k->program->is_json, &summary);
    return arcp__program_print_buf(k->program, &summary) && k->tally.failed == 0
               ? ARCP__EXIT_SUCCESS
               : ARCP__EXIT_ERROR;
}

/* 0 no case failed; 1 one did; 3 no session could be opened. */
static int conformance(arcp__program *program)
{
    kit k = {.program = program, .json = ARCP_JSON_INIT};
    arcp_error err = {0};
    int exit_status =
        prepare(&k, &err) == ARCP_OK ? play_all(&k) : arcp__program_usage(program, &err);
    arcp__wire_free(k.wire);
    arcp__variables_fini(&k.variables);
    arcp_buf_fini(&k.welcome);
    arcp_buf_fini(&k.runtime);
    arcp_json_fini(&k.json);
    return exit_status;
}

int main(int argc, char **argv)
{
    return arcp__program_main(ARCP__COMMAND_CONFORMANCE, conformance, argc, argv);
}
