/* Cases of arcp conformance against a runtime that deviates in one respect: which deviation fails,
 * and which only differs. */
#include "support/check.h"

#include "conformance/conformance.h"

static const char resumes[] =
    "a resume after a drop returns the same session, a new token and the missed events";
static const char ordered[] = "pipelined submits are answered in their order";
static const char listed[] = "a listing names its request and has every required member of a job";

static const struct form {
    const char *name, *title, *mode;
    bool passes, differs;
    const char *why;
} forms[] = {
    {"a hello resumes", resumes, "hello", true, false, ""},
    {"no known form resumes", resumes, "neither", false, true,
     "the next message is \"session.error\", must be session.welcome"},
    {"the session is reported as expired", resumes, "expired", false, false,
     "the next message is \"session.error\", must be session.welcome"},
    {"responses in order", ordered, "ordered", true, false, ""},
    {"refusals that come late", ordered, "late", false, false,
     "response 2 of 10 submits: the next message is \"job.accepted\", must be a refusal"},
    {"a ping before the response", listed, "pinging", true, false, ""},
};

static arcp__case case_of(const char *title)
{
    arcp_span text = arcp_span_cstr(arcp__cases_text);
    arcp__case found;
    do {
        if (!arcp__case_next(&text, &found)) {
            fail_msg("there is no case \"%s\"", title);
        }
    } while (!arcp_span_equal_cstr(found.title, title));
    return found;
}

/* Plays the case against the runtime in this mode. */
static void play(const arcp__case *played, const char *mode, uint64_t wait_ms,
                 arcp__verdict *verdict)
{
    char url[512];
    arcp__variables given = {0};
    (void)snprintf(url, sizeof url, "stdio:sh %s/tests/arcp/agents/other_runtime.sh %s",
                   ARCP_SOURCE_DIR, mode);
    arcp__wire *wire = arcp__wire_new(url, NULL, wait_ms);
    assert_non_null(wire);
    arcp__variable_set_text(&given, "token", arcp_span_cstr("t"));
    arcp__variable_set_text(&given, "agent", arcp_span_cstr("some"));
    arcp__variable_set_text(&given, "long", arcp_span_cstr("some"));
    arcp__variable_set(&given, arcp_span_cstr("input"), arcp_span_cstr("null"));
    arcp__variable_set(&given, arcp_span_cstr("long_input"), arcp_span_cstr("null"));
    arcp__variable_set(&given, arcp_span_cstr("features"), arcp_span_cstr("[]"));
    arcp__case_play(played, wire, &given, verdict, NULL);
    arcp__variables_fini(&given);
    arcp__wire_free(wire);
}

static void a_case_passes_fails_or_differs(void **state)
{
    const struct form *form = *state;
    arcp__verdict verdict = {0};
    arcp__tally tally = {0};
    const arcp__case played = case_of(form->title);
    play(&played, form->mode, 30000, &verdict);
    arcp__tally_add(&tally, &verdict);
    if (verdict.passed != form->passes || (tally.differ != 0) != form->differs ||
        !arcp_span_equal_cstr(arcp_buf_span(&verdict.why), form->why)) {
        fail_msg("passed: %d, differs: %u, %.*s", verdict.passed, tally.differ,
                 (int)verdict.why.size, verdict.why.size == 0 ? "" : verdict.why.data);
    }
    assert_int_equal(tally.passed + tally.failed + tally.differ, 1);
    arcp__verdict_fini(&verdict);
}

static const struct close_row {
    const char *name, *steps;
    const char *why; /* "": it passes */
} closes[] = {
    {"a close after the last frame", "a> session.resume\na refused INVALID_REQUEST\na< close 1000",
     ""},
    {"another code of a close", "a> session.resume\na refused INVALID_REQUEST\na< close 1008",
     "closed with 1000"},
    {"a close without a connection", "a< close 1000",
     "the client was never connected, or was dropped"},
    {"a frame before the close", "a> session.resume\na< close 1000",
     "a frame came before the close"},
    {"a connection that stays open", "connect a\na< close 1000", "the connection is still open"},
};

static void a_close_is_expected(void **state)
{
    const struct close_row *row = *state;
    arcp__verdict verdict = {0};
    const arcp__case played = {.section = ARCP_SPAN_LITERAL("6.7"),
                               .steps = arcp_span_cstr(row->steps)};
    const bool stays_open = strncmp(row->steps, "connect", 7) == 0;
    play(&played, "hello", stays_open ? 200 : 30000, &verdict);
    if (verdict.passed != (row->why[0] == '\0') ||
        !arcp_span_equal_cstr(arcp_buf_span(&verdict.why), row->why)) {
        fail_msg("passed: %d, %.*s", verdict.passed, (int)verdict.why.size,
                 verdict.why.size == 0 ? "" : verdict.why.data);
    }
    arcp__verdict_fini(&verdict);
}

#define FORMS  (sizeof forms / sizeof forms[0])
#define CLOSES (sizeof closes / sizeof closes[0])

int main(void)
{
    struct CMUnitTest tests[FORMS + CLOSES];
    for (size_t i = 0; i < FORMS; i++) {
        tests[i] = (struct CMUnitTest){.name = forms[i].name,
                                       .test_func = a_case_passes_fails_or_differs,
                                       .initial_state = (void *)&forms[i]};
    }
    for (size_t i = 0; i < CLOSES; i++) {
        tests[FORMS + i] = (struct CMUnitTest){.name = closes[i].name,
                                               .test_func = a_close_is_expected,
                                               .initial_state = (void *)&closes[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
