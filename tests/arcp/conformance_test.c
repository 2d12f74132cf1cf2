/* arcp conformance: arcpd passes every case, and each kind of fault is reported with its section
 * and its frame. The faulty runtimes are arcpd behind a proxy that replaces one text in its frames.
 */
#include "arcp/fixture.h"

#include <stdlib.h>

#include "arcp/editing_proxy.h"

static int begin(void **state)
{
    static fixture f;
    arcpd_run_begin(&f);
    arcpd_run_configure(&f, "jobs: {cancel_grace_ms: 2000}\n");
    assert_int_equal(setenv("ARCP_TOKEN", "token-of-alice", 1), 0);
    assert_int_equal(setenv("ARCP_OTHER_TOKEN", "token-of-bob", 1), 0);
    arcpd_run_start(&f, 0,
                    WORDS("--store", "memory:", "--token", "token-of-alice=alice", "--token",
                          "token-of-bob=bob", "--agent",
                          "hello@1.0.0=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/hello.sh",
                          "--agent", "plain=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/hello.sh",
                          "--agent", "wait=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/wait.sh"));
    *state = &f;
    return 0;
}

static int end(void **state)
{
    return arcpd_run_end(*state);
}

static bool has(const process *p, const char *text)
{
    return p->out.size != 0 && memmem(p->out.data, p->out.size, text, strlen(text)) != NULL;
}

static void check_has(const process *p, const char *name, const char *text)
{
    if (!has(p, text)) {
        fail_msg("%s: '%s' is not in:\n%.*s\n%.*s", name, text, (int)p->out.size,
                 p->out.size ? p->out.data : "", (int)p->err.size, p->err.size ? p->err.data : "");
    }
}

/* ---- arcpd ---- */

static void our_runtime_passes_every_case(void **state)
{
    const fixture *f = *state;
    process p;
    fixture_run(NULL, &p, 0, WORDS("conformance", f->url, "--long-agent", "wait"));
    check_has(&p, "ours", "pass  6.4 ");
    check_has(&p, "ours",
              "arcpd " ARCP_VERSION_STRING ": 37 passed, 0 failed, 0 differ, 0 skipped\n");
    process_fini(&p);
}

static void a_case_that_cannot_run_is_skipped_with_the_reason(void **state)
{
    const fixture *f = *state;
    process p;
    assert_int_equal(unsetenv("ARCP_OTHER_TOKEN"), 0);
    fixture_run(NULL, &p, 0, WORDS("conformance", "--url", f->url, "--agent", "plain"));
    assert_int_equal(setenv("ARCP_OTHER_TOKEN", "token-of-bob", 1), 0);
    check_has(&p, "no long agent",
              "(needs an agent that runs until it is cancelled: --long-agent)");
    check_has(&p, "no version", "(the runtime lists no version of the agent)");
    process_fini(&p);
}

/* Each case starts an arcpd, which prepares its sandboxes at the start. */
#define BARE "--enforce off "

static void a_stdio_command_gets_the_cases_that_need_one_connection(void **state)
{
    process p;
    fixture_run(NULL, &p, 0,
                WORDS("conformance",
                      "stdio:" ARCP_BINARY_DIR "/bin/arcpd " BARE "--stdio --store memory: --agent "
                      "'hello@1.0.0=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/hello.sh'"));
    check_has(&p, "stdio", "(each connection to a stdio: URL starts a runtime of its own)");
    check_has(&p, "stdio", "pass  7.2 ");
    check_has(&p, "stdio", " 0 failed, ");
    process_fini(&p);
}

/* As arcp submit does. */
static void jobs_without_an_input_get_an_empty_object(void **state)
{
    process p;
    fixture_run(NULL, &p, 0,
                WORDS("conformance", "--long-agent", "wait",
                      "stdio:" ARCP_BINARY_DIR "/bin/arcpd " BARE "--stdio --store memory: --agent "
                      "'hello@1.0.0=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/empty_input.sh hello' "
                      "--agent 'wait=sh " ARCP_SOURCE_DIR
                      "/tests/arcp/agents/empty_input.sh wait'"));
    check_has(&p, "hello", "pass  7.1 ");
    check_has(&p, "wait", "pass  7.4 ");
    check_has(&p, "both", " 0 failed, ");
    process_fini(&p);
}

static void json_has_a_line_for_each_case_and_a_summary(void **state)
{
    const fixture *f = *state;
    process p;
    fixture_run(NULL, &p, 0, WORDS("conformance", f->url, "--json", "--long-agent", "wait"));
    check_has(&p, "json",
              "{\"result\":\"pass\",\"section\":\"6.7\",\"case\":\"a close is answered by "
              "session.closed\"}\n");
    check_has(&p, "json",
              "{\"runtime\":\"arcpd " ARCP_VERSION_STRING
              "\",\"passed\":37,\"failed\":0,\"differ\":0,\"skipped\":0}\n");
    process_fini(&p);
}

/* ---- faulty runtimes ---- */

static const struct fault {
    const char *name;
    const char *from, *to; /* of the same size */
    const char *says[3];
} faults[] = {
    {"a pong with another type",
     "\"type\":\"session.pong\"",
     "\"type\":\"session.pang\"",
     {"fail  6.4   a pong has the nonce",
      "the next message is \"session.pang\", must be session.pong", "\"type\":\"session.pang\""}},
    {"a pong that is not sent",
     "\"type\":\"session.pong\"",
     "\"type\":\"x-vendr.pong\"",
     {"fail  6.4   a pong has the nonce", "waiting for session.pong: timed out after 2000 ms"}},
    {"a pong without its nonce",
     "\"ping_nonce\"",
     "\"ping_nance\"",
     {"fail  6.4   a pong has the nonce", "payload.ping_nonce is missing, must be \"n-1\""}},
    {"a gap",
     "\"event_seq\":2,",
     "\"event_seq\":3,",
     {"fail  8.3   a submit is accepted", "event_seq 3 follows 1"}},
    {"a number twice",
     "\"event_seq\":2,",
     "\"event_seq\":1,",
     {"fail  8.3   a submit is accepted", "event_seq 1 follows 1"}},
    {"errors without retryable",
     "\"retryable\"",
     "\"retryabla\"",
     {"fail  12    a submit without an agent", "an error has no boolean payload.retryable"}},
    {"an event without its kind",
     "\"kind\":",
     "\"kynd\":",
     {"fail  8.1   a submit is accepted", "an event's payload.kind is not a string"}},
    {"a frame that is not JSON",
     "\"type\":\"job.accepted\"",
     "\"type\":\"job.accepted'",
     {"fail  5     a submit is accepted", "a frame is not JSON: ", "job.accepted'"}},
    {"another session",
     "\"type\":\"job.accepted\",\"session_id\":\"s",
     "\"type\":\"job.accepted\",\"session_id\":\"x",
     {"fail  5     a submit is accepted", "the frame belongs to another session: \"xess_"}},
    {"another code",
     "DUPLICATE_KEY",
     "DUPLICATE_KAY",
     {"fail  7.2   the same key with other parameters",
      "payload.code is \"DUPLICATE_KAY\", must be DUPLICATE_KEY"}},
    {"another end",
     "\"final_status\":\"cancelled\"",
     "\"final_status\":\"cancalled\"",
     {"fail  7.4   a cancel is acknowledged",
      "payload.final_status is \"cancalled\", must be \"cancelled\""}},
    {"another code, where the draft leaves the code open",
     "RESUME_WINDOW_EXPIRED",
     "RESUME_WINDAW_EXPIRED",
     {"differs  6.3   an unknown resume token is refused", " 0 failed, 1 differ, ",
      "(the draft leaves open what session.resume carries, and which code refuses it)"}},
    {"a descriptor without the budget",
     ",\"budget\":{\"USD\":1.5},\"p",
     ",\"badget\":{\"USD\":1.5},\"p",
     {"fail  7.6   the authority descriptor has the job's constraints and its budget",
      "payload.budget is missing"}},
    {"no end",
     "\"type\":\"job.error\",\"trace_id\"",
     "\"type\":\"job.errer\",\"trace_id\"",
     {"fail  7.6   after job.unsubscribe nothing more",
      "the next message is \"job.errer\", must be the job's end"}},
    {"a response without its request",
     "\"request_id\"",
     "\"request_ad\"",
     {"fail  6.6   a listing names its request", "payload.request_id is missing"}},
    {"a feature that is not there",
     "\"lease_expires_at\"",
     "\"lease_expires_bt\"",
     {"skip  9.5   an expiry in the future is echoed (lease_expires_at was not negotiated)",
      " 0 failed"}},
};

/* Runs the suite against arcpd with `from` replaced by `to`; the options follow the URL. */
static void run_edited(const fixture *f, process *p, int exit_status, const char *from,
                       const char *to, const char *const *options)
{
    editing_proxy proxy;
    const char *words[8] = {"conformance", proxy.tcp.url};
    for (size_t i = 0; options != NULL && options[i] != NULL; i++) {
        assert_true(i < 5);
        words[i + 2] = options[i];
    }
    editing_proxy_start(&proxy, f->port, from, to);
    fixture_run(NULL, p, exit_status, words);
    editing_proxy_stop(&proxy);
}

static void each_kind_of_fault_is_named_with_its_section(void **state)
{
    const fixture *f = *state;
    for (size_t row = 0; row < sizeof faults / sizeof faults[0]; row++) {
        const struct fault *fault = &faults[row];
        process p;
        const bool has_failed = strstr(fault->says[1], " 0 failed") == NULL;
        /* The case about a deadline is the only one that reaches it. */
        const bool waits = strstr(fault->says[1], "2000 ms") != NULL;
        const bool needs_long = strstr(fault->says[0], " 7.4 ") != NULL ||
                                strstr(fault->says[0], " 7.6 ") != NULL ||
                                strstr(fault->says[0], " 6.6 ") != NULL;
        run_edited(f, &p, has_failed ? 1 : 0, fault->from, fault->to,
                   WORDS("--timeout", waits ? "2s" : "30s", needs_long ? "--long-agent" : "--quiet",
                         needs_long ? "wait" : NULL));
        for (size_t i = 0; i < 3 && fault->says[i] != NULL; i++) {
            check_has(&p, fault->name, fault->says[i]);
        }
        process_fini(&p);
    }
}

/* Only if the case itself fails: a frame that violates another section does not count as a variant.
 */
static void json_names_what_the_draft_leaves_open(void **state)
{
    const fixture *f = *state;
    process p;
    run_edited(f, &p, 0, "RESUME_WINDOW_EXPIRED", "RESUME_WINDAW_EXPIRED", WORDS("--json"));
    check_has(&p, "another code",
              "{\"result\":\"differs\",\"section\":\"6.3\",\"case\":\"an unknown resume token");
    check_has(&p, "another code",
              ",\"left_open\":\"what session.resume carries, and which code refuses it\"}\n");
    process_fini(&p);
    run_edited(f, &p, 1, "\"retryable\"", "\"retryabla\"", WORDS("--json"));
    check_has(&p, "no retryable",
              "{\"result\":\"fail\",\"section\":\"12\",\"case\":\"an unknown resume token is "
              "refused\"");
    assert_false(has(&p, "left_open"));
    process_fini(&p);
}

static void no_secret_is_printed(void **state)
{
    const fixture *f = *state;
    process p;
    run_edited(f, &p, 1, "\"resume_window_sec\"", "\"resume_windaw_sec\"", NULL);
    check_has(&p, "a welcome", "payload.resume_window_sec is missing, must be a number");
    check_has(&p, "a welcome", "\"resume_token\":\"***\"");
    assert_false(has(&p, "token-of-alice"));
    assert_false(has(&p, "\"resume_token\":\"rt"));
    process_fini(&p);
}

/* ---- no usable runtime ---- */

static void a_runtime_without_a_welcome_fails_and_the_others_exit_with_3(void **state)
{
    const fixture *f = *state;
    process p;
    run_edited(f, &p, 1, "session.welcome", "session.walcome", NULL);
    check_has(&p, "no welcome", "fail  6.2   a hello is answered by a welcome");
    process_fini(&p);
    fixture_run(NULL, &p, 3, WORDS("conformance", f->url, "--token", "nobodys"));
    check_has(&p, "a wrong token", "UNAUTHENTICATED");
    process_fini(&p);
    fixture_run(NULL, &p, 3, WORDS("conformance", "ws://127.0.0.1:1/arcp"));
    process_fini(&p);
}

static void a_peer_that_only_pings_is_given_up(void **state)
{
    static const char url[] =
        "stdio:yes '{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{}}'";
    process p;
    fixture_run(NULL, &p, 3, WORDS("conformance", "--timeout", "500ms", url));
    /* On a fast machine `yes` has sent too many frames by then. */
    assert_true(memmem(p.err.data, p.err.size, "timed out after 500 ms", 22) != NULL ||
                memmem(p.err.data, p.err.size, "does not read what it is sent", 29) != NULL);
    process_fini(&p);
}

static const struct wrong {
    const char *words[5];
    const char *says;
} wrongs[] = {
    {{"conformance", "ws://127.0.0.1:1/arcp", "--url", "ws://127.0.0.1:1/arcp"}, "together"},
    {{"conformance", "--timeout", "soon"}, "arcp conformance: --timeout: "},
    {{"conformance", "--timeout", "2h"}, "is not between 1ms and 1h"},
    {{"conformance", "--input", "{oops"}, "arcp conformance: --input: JSON: "},
    {{"conformance", "gopher://x"}, "arcp conformance: connecting: \"gopher://x\": expected ws://"},
};

static void usage_errors_are_printed(void **state)
{
    for (size_t row = 0; row < sizeof wrongs / sizeof wrongs[0]; row++) {
        process p;
        fixture_run(NULL, &p, 2, wrongs[row].words);
        if (memmem(p.err.data, p.err.size, wrongs[row].says, strlen(wrongs[row].says)) == NULL) {
            fail_msg("'%s' is not in %.*s", wrongs[row].says, (int)p.err.size, p.err.data);
        }
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_runtime_passes_every_case),
        cmocka_unit_test(a_case_that_cannot_run_is_skipped_with_the_reason),
        cmocka_unit_test(a_stdio_command_gets_the_cases_that_need_one_connection),
        cmocka_unit_test(jobs_without_an_input_get_an_empty_object),
        cmocka_unit_test(json_has_a_line_for_each_case_and_a_summary),
        cmocka_unit_test(each_kind_of_fault_is_named_with_its_section),
        cmocka_unit_test(json_names_what_the_draft_leaves_open),
        cmocka_unit_test(no_secret_is_printed),
        cmocka_unit_test(a_runtime_without_a_welcome_fails_and_the_others_exit_with_3),
        cmocka_unit_test(a_peer_that_only_pings_is_given_up),
        cmocka_unit_test(usage_errors_are_printed),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
