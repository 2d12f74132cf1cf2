/* Cases of arcp conformance put to a runtime that does one thing its own way: which of it fails,
 * and which only differs. */
#include "support/check.h"

#include "conformance/conformance.h"

static const char resumes[] =
    "after a drop a resume brings the same session, a new token, and what was missed";
static const char ordered[] = "submits that are sent together are answered in their order";
static const char listed[] = "a listing names its request and has the job with all its members";

static const struct form {
    const char *name, *title, *mode;
    bool passes, differs;
    const char *why;
} forms[] = {
    {"a hello resumes", resumes, "hello", true, false, ""},
    {"no form that is known resumes", resumes, "neither", false, true,
     "the next message is \"session.error\", must be session.welcome"},
    {"a session that is said to be gone", resumes, "expired", false, false,
     "the next message is \"session.error\", must be session.welcome"},
    {"answers in order", ordered, "ordered", true, false, ""},
    {"refusals that come late", ordered, "late", false, false,
     "answer 2 of 10 submits: the next message is \"job.accepted\", must be a refusal"},
    {"a ping before the answer", listed, "pinging", true, false, ""},
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

static void a_case_passes_fails_or_differs(void **state)
{
    const struct form *form = *state;
    char url[512];
    arcp__variables given = {0};
    arcp__verdict verdict = {0};
    arcp__tally tally = {0};
    (void)snprintf(url, sizeof(url), "stdio:sh %s/tests/arcp/agents/other_runtime.sh %s",
                   ARCP_SOURCE_DIR, form->mode);
    arcp__wire *wire = arcp__wire_new(url, NULL, 30000);
    assert_non_null(wire);
    arcp__variable_set_text(&given, "token", arcp_span_cstr("t"));
    arcp__variable_set_text(&given, "agent", arcp_span_cstr("some"));
    arcp__variable_set_text(&given, "long", arcp_span_cstr("some"));
    arcp__variable_set(&given, arcp_span_cstr("input"), arcp_span_cstr("null"));
    arcp__variable_set(&given, arcp_span_cstr("long_input"), arcp_span_cstr("null"));
    arcp__variable_set(&given, arcp_span_cstr("features"), arcp_span_cstr("[]"));
    const arcp__case played = case_of(form->title);
    arcp__case_play(&played, wire, &given, &verdict, NULL);
    arcp__tally_add(&tally, &verdict);
    if (verdict.passed != form->passes || (tally.differ != 0) != form->differs ||
        !arcp_span_equal_cstr(arcp_buf_span(&verdict.why), form->why)) {
        fail_msg("passed: %d, differs: %u, %.*s", verdict.passed, tally.differ,
                 (int)verdict.why.size, verdict.why.size == 0 ? "" : verdict.why.data);
    }
    assert_int_equal(tally.passed + tally.failed + tally.differ, 1);
    arcp__verdict_fini(&verdict);
    arcp__variables_fini(&given);
    arcp__wire_free(wire);
}

int main(void)
{
    struct CMUnitTest tests[sizeof(forms) / sizeof(forms[0])];
    for (size_t at = 0; at < sizeof(forms) / sizeof(forms[0]); at++) {
        tests[at] = (struct CMUnitTest){.name = forms[at].name,
                                        .test_func = a_case_passes_fails_or_differs,
                                        .initial_state = (void *)&forms[at]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
