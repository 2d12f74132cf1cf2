/* arcp-conformance, which `arcp conformance` runs: plays the cases of cases.story one after the
 * other, each on connections of its own, against any runtime that implements the draft. */
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

typedef struct suite {
    arcp__program *program;
    arcp__wire *wire;
    arcp__variables variables;
    arcp__tally tally;
    arcp_buf welcome; /* of the first session */
    arcp_json json;   /* of it */
    arcp_buf runtime; /* its name and version */
    bool has_agent, has_version, has_long, has_token, has_other, is_stdio;
} suite;

/* ---- the command line ---- */

/* Takes the URL argument as the value of --url. */
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

/* Reads the time limit of a step. */
static arcp_status read_wait(const arcp__arguments *arguments, int64_t *wait_ms, arcp_error *err)
{
    int64_t wait_ns = WAIT_MS * ARCP_NS_PER_MS;
    arcp_status status =
        arcp__duration_option(arguments, ARCP__OPTION_CONFORMANCE_TIMEOUT, &wait_ns, err);
    *wait_ms = wait_ns / ARCP_NS_PER_MS;
    if (status == ARCP_OK && (*wait_ms < 1 || *wait_ms > WAIT_MS_MAX)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "--timeout %s is not between 1ms and 1h",
                                arcp__value(arguments, ARCP__OPTION_CONFORMANCE_TIMEOUT));
    }
    return status;
}

/* Sets the variable to the agent's input, or to {} when none was given. */
static arcp_status take_input(suite *s, const char *variable, arcp__option option,
                              bool may_be_stdin, arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    const arcp_status status =
        arcp__json_text(arcp__options[option].name, arcp__value(&s->program->arguments, option),
                        may_be_stdin, &text, err);
    if (status == ARCP_OK) {
        arcp__variable_set(&s->variables, arcp_span_cstr(variable),
                           text.size == 0 ? ARCP_SPAN_LITERAL("{}") : arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    return status;
}

static void set_features(suite *s)
{
    static const char *const features[] = {
#define ARCP_FEATURE(name, number, wire) wire,
#include <arcp/feature.def>
#undef ARCP_FEATURE
    };
    arcp_buf list = arcp_buf_init();
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if (strncmp(features[i], "x-", 2) != 0) { /* only features of the draft */
            arcp_buf_append_format(&list, "%s\"%s\"", list.size == 0 ? "[" : ",", features[i]);
        }
    }
    arcp_buf_append_byte(&list, ']');
    s->variables.failed = s->variables.failed || list.failed;
    arcp__variable_set(&s->variables, ARCP_SPAN_LITERAL("features"), arcp_buf_span(&list));
    arcp_buf_fini(&list);
}

static arcp_status prepare(suite *s, arcp_error *err)
{
    arcp__program *program = s->program;
    const char *other = getenv("ARCP_OTHER_TOKEN");
    int64_t wait_ms = 0;
    if (take_url(&program->arguments, err) != ARCP_OK ||
        read_wait(&program->arguments, &wait_ms, err) != ARCP_OK ||
        arcp__target_find(&program->arguments, &program->target, err) != ARCP_OK ||
        take_input(s, "input", ARCP__OPTION_CONFORMANCE_INPUT, true, err) != ARCP_OK ||
        take_input(s, "long_input", ARCP__OPTION_LONG_INPUT, false, err) != ARCP_OK) {
        return err->status;
    }
    s->has_token = program->target.token != NULL;
    arcp__variable_set_text(&s->variables, "token",
                            s->has_token ? arcp_secret_reveal(program->target.token)
                                         : arcp_span_make("", 0));
    s->has_other = other != NULL && other[0] != '\0';
    if (s->has_other) {
        arcp__variable_set_text(&s->variables, "other", arcp_span_cstr(other));
    }
    s->is_stdio = strncmp(program->target.url, "stdio:", 6) == 0;
    set_features(s);
    s->wire = arcp__wire_new(program->target.url, program->target.ca_file, (uint64_t)wait_ms);
    return s->wire == NULL || s->variables.failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : ARCP_OK;
}

/* ---- the first session ---- */

static void append_text(const suite *s, arcp_json_ref value, arcp_buf *out)
{
    arcp_buf scratch = arcp_buf_init();
    arcp_buf_append(out, arcp_json_string(&s->json, value, &scratch));
    arcp_buf_fini(&scratch);
}

static arcp_json_ref member(const suite *s, arcp_json_ref object, const char *name)
{
    return arcp_json_member(&s->json, object, arcp_span_cstr(name));
}

/* Sets the agents: --agent, else the first of the inventory (whose items are names or objects with
 * a name), and whether the inventory lists versions of it. */
static void set_agents(suite *s)
{
    const arcp__arguments *arguments = &s->program->arguments;
    const char *given = arcp__value(arguments, ARCP__OPTION_CONFORMANCE_AGENT);
    const char *long_agent = arcp__value(arguments, ARCP__OPTION_LONG_AGENT);
    const arcp_json_ref agents = arcp__capability(&s->json, "agents");
    arcp_json_ref item = arcp_json_first(&s->json, agents);
    arcp_buf agent = arcp_buf_init();
    if (given != NULL) {
        arcp_buf_append_cstr(&agent, given);
    } else {
        const bool is_object = arcp_json_is(&s->json, item, ARCP_JSON_OBJECT);
        append_text(s, is_object ? member(s, item, "name") : item, &agent);
    }
    s->has_agent = agent.size != 0;
    s->has_long = long_agent != NULL;
    arcp__variable_set_text(&s->variables, "agent", arcp_buf_span(&agent));
    if (s->has_long) {
        arcp__variable_set_text(&s->variables, "long", arcp_span_cstr(long_agent));
    }
    const char *version = agent.size == 0 ? NULL : memchr(agent.data, '@', agent.size);
    agent.size = version == NULL ? agent.size : (size_t)(version - agent.data);
    while (item != ARCP_JSON_ABSENT &&
           !arcp_json_string_equals(&s->json, member(s, item, "name"), arcp_buf_span(&agent))) {
        item = arcp_json_next(&s->json, agents, item);
    }
    s->has_version = s->has_agent && arcp_json_count(&s->json, member(s, item, "versions")) != 0;
    arcp_buf_append_cstr(&agent, "@0.0.0-nobodys");
    arcp__variable_set_text(&s->variables, "no_version", arcp_buf_span(&agent));
    arcp_buf_fini(&agent);
}

/* Plays the first case and prepares the others from its welcome. Returns the exit status; 0:
 * continue. If the runtime answers with something other than a welcome, the first case fails. */
static int begin(suite *s, const arcp__case *first)
{
    arcp__verdict verdict = {0};
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_SUCCESS;
    arcp__case_play(first, s->wire, &s->variables, &verdict, &s->welcome);
    if (verdict.passed && arcp__wire_scan(&s->json, arcp_buf_span(&s->welcome), &err) == ARCP_OK) {
        const arcp_json_ref runtime = arcp__payload_member(&s->json, "runtime");
        set_agents(s);
        append_text(s, member(s, runtime, "name"), &s->runtime);
        arcp_buf_append_byte(&s->runtime, ' ');
        append_text(s, member(s, runtime, "version"), &s->runtime);
    } else if (verdict.status != ARCP_OK && verdict.frame.size == 0) {
        arcp_error failure = {0};
        (void)arcp_error_set(&failure, verdict.status, "%.*s", (int)verdict.why.size,
                             verdict.why.size == 0 ? "" : verdict.why.data);
        exit_status = ARCP__EXIT_NOT_CONNECTED;
        if (verdict.status == ARCP_E_USAGE) { /* the URL is not valid */
            exit_status = arcp__program_usage(s->program, &failure);
        } else {
            (void)arcp__program_fail(s->program, &failure);
        }
    } else {
        arcp__conformance_report(first, &verdict, NULL, s->program->is_json, &text);
        (void)arcp__program_print_buf(s->program, &text);
        exit_status = ARCP__EXIT_ERROR;
        if (memmem(verdict.frame.data, verdict.frame.size, "\"UNAUTHENTICATED\"", 17) != NULL) {
            (void)arcp__program_explain_no_token(s->program);
            exit_status = ARCP__EXIT_NOT_CONNECTED;
        }
    }
    arcp__verdict_fini(&verdict);
    return exit_status;
}

/* ---- the cases ---- */

/* Why one of the needs of a case is not met, or NULL when it is. */
static const char *why_unmet(const suite *s, arcp_span need, char room[96])
{
    const struct {
        const char *need;
        bool is_met;
        const char *why;
    } rows[] = {
        {"agent", s->has_agent, "the runtime lists no agent; name one with --agent"},
        {"versioned", s->has_version, "the runtime lists no version of the agent"},
        {"long", s->has_long, "needs an agent that runs until it is cancelled: --long-agent"},
        {"token", s->has_token, "needs a valid token, to compare an invalid one with it"},
        {"other", s->has_other, "needs another principal's token: ARCP_OTHER_TOKEN"},
        {"many", !s->is_stdio, "each connection to a stdio: URL starts a runtime of its own"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if (arcp_span_equal_cstr(need, rows[row].need)) {
            return rows[row].is_met ? NULL : rows[row].why;
        }
    }
    if (arcp__list_has(&s->json, arcp__capability(&s->json, "features"), need)) {
        return NULL;
    }
    (void)snprintf(room, 96, "%.*s was not negotiated", (int)need.size, need.data);
    return room;
}

static const char *why_skipped(const suite *s, arcp_span needs, char room[96])
{
    const char *why = NULL;
    while (needs.size != 0 && why == NULL) {
        const char *space = memchr(needs.data, ' ', needs.size);
        const size_t size = space == NULL ? needs.size : (size_t)(space - needs.data);
        why = why_unmet(s, arcp_span_first(needs, size), room);
        needs = arcp_span_from(needs, size + 1);
    }
    return why;
}

/* Sets the variables that differ in each case: $key, and $offset, an hour ahead with a UTC offset.
 */
static void set_case_variables(suite *s, size_t index)
{
    char key[80];
    char text[ARCP__TIMESTAMP_SIZE + 8];
    const int64_t now_ns = arcp__now_wall_ns();
    (void)snprintf(key, sizeof key, "arcp-conformance-%ld-%" PRId64 "-%zu", (long)getpid(), now_ns,
                   index);
    arcp__variable_set_text(&s->variables, "key", arcp_span_cstr(key));
    arcp__timestamp_format(now_ns + 2 * HOUR_NS, text);
    memcpy(text + ARCP__TIMESTAMP_SIZE - 1, "+01:00", 6);
    arcp__variable_set_text(&s->variables, "offset",
                            arcp_span_make(text, ARCP__TIMESTAMP_SIZE + 5));
}

/* False when standard output cannot be written. */
static bool play(suite *s, const arcp__case *played, size_t index)
{
    arcp__verdict verdict = {0};
    arcp_buf text = arcp_buf_init();
    char room[96];
    const char *skipped = why_skipped(s, played->needs, room);
    if (skipped == NULL) {
        set_case_variables(s, index);
        arcp__case_play(played, s->wire, &s->variables, &verdict, NULL);
        arcp__tally_add(&s->tally, &verdict);
    } else {
        s->tally.skipped++;
    }
    arcp__conformance_report(played, &verdict, skipped, s->program->is_json, &text);
    arcp__verdict_fini(&verdict);
    return arcp__program_print_buf(s->program, &text);
}

static int play_all(suite *s)
{
    arcp_span text = arcp_span_cstr(arcp__cases_text);
    arcp_buf summary = arcp_buf_init();
    arcp__case played;
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp__case_next(&text, &played)) {
        exit_status = begin(s, &played);
    }
    if (exit_status != ARCP__EXIT_SUCCESS) {
        return exit_status;
    }
    for (size_t index = 0; arcp__case_next(&text, &played); index++) {
        if (!play(s, &played, index)) {
            return ARCP__EXIT_ERROR;
        }
    }
    arcp__conformance_summary(&s->tally, arcp_buf_span(&s->runtime), s->program->is_json, &summary);
    return arcp__program_print_buf(s->program, &summary) && s->tally.failed == 0
               ? ARCP__EXIT_SUCCESS
               : ARCP__EXIT_ERROR;
}

/* Exit status 0: no case failed; 1: a case failed; 3: no session could be opened. */
static int conformance(arcp__program *program)
{
    suite s = {.program = program, .json = ARCP__JSON_INIT};
    arcp_error err = {0};
    const int exit_status =
        prepare(&s, &err) == ARCP_OK ? play_all(&s) : arcp__program_usage(program, &err);
    arcp__wire_free(s.wire);
    arcp__variables_fini(&s.variables);
    arcp_buf_fini(&s.welcome);
    arcp_buf_fini(&s.runtime);
    arcp__json_fini(&s.json);
    return exit_status;
}

int main(int argc, char **argv)
{
    return arcp__program_main(ARCP__COMMAND_CONFORMANCE, conformance, argc, argv);
}
