/* Warnings: for settings that are allowed and a risk, or would fail later; not for others. */
#include "support/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "arcpd/config.h"

static void add_line(void *user, const char *text)
{
    arcp_buf_append_format(user, "%s\n", text);
}

/* The warnings about a text, which stands for the file `name`; the caller frees. */
static char *warnings_of(const char *name, const char *text, arcp__config_moment moment)
{
    arcp__config config;
    arcp__token_facts tokens;
    arcp_error error = {0};
    arcp_buf lines = arcp_buf_init();
    arcp__config_init(&config);
    check_ok(arcp__config_read_text(&config, name, arcp_span_cstr(text), &error), &error);
    check_ok(arcp__config_check(&config, &error), &error);
    check_ok(arcp__verifiers_check(&config, &tokens, &error), &error);
    arcp__config_warn(&config, &tokens, moment, add_line, &lines);
    arcp__config_fini(&config);
    return arcp_buf_take_cstr(&lines);
}

static void check_warnings(const char *text, arcp__config_moment moment, const char *want)
{
    char *got = warnings_of("t.yaml", text, moment);
    if (strcmp(got, want) != 0) {
        fail_msg("%s\nwarns\n%swant\n%s", text, got, want);
    }
    arcp_free(got);
}

#define LONG_TOKEN  "tokens: [{token: 0123456789abcdef, principal: a}]\n"
#define SHORT_TOKEN "tokens: [{token: 0123456789abcde, principal: a}]\n"
#define NO_TLS                                                                                     \
    ": tokens and results are sent over the network unencrypted; use wss:// (tls), or listen on "  \
    "127.0.0.1 behind a proxy with TLS\n"

static void a_listener_that_can_be_reached_from_elsewhere_is_reported_with_its_place(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"listen: ['ws://127.0.0.1:1/arcp', 'ws://[::1]:1/arcp', "
         "'ws://localhost:1/arcp']\n" SHORT_TOKEN,
         ""},
        {"listen: ['ws://0.0.0.0:1/arcp']\n" LONG_TOKEN,
         "t.yaml:1: listen[0]: ws://0.0.0.0:1/arcp" NO_TLS},
        {LONG_TOKEN "listen:\n  - ws://127.0.0.1:1/arcp\n  - WS://[::]:1/arcp\n",
         "t.yaml:4: listen[1]: WS://[::]:1/arcp" NO_TLS},
        {"listen: ['ws://0.0.0.0:1/arcp']\n" SHORT_TOKEN,
         "t.yaml:1: listen[0]: ws://0.0.0.0:1/arcp" NO_TLS
         "tokens: a token shorter than 16 bytes can be guessed over the network; create random "
         "tokens, for example with `openssl rand -hex 32`\n"},
        {"http: {listen: '127.0.0.1:1'}\n", ""},
        {"http: {listen: '[::1]:1'}\n", ""},
        {"http:\n  listen: '0.0.0.0:1'\n",
         "t.yaml:2: http.listen: 0.0.0.0:1: the metrics can be read over the network without "
         "authentication; listen on 127.0.0.1, or behind a proxy that requires authentication\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_warnings(rows[i].text, ARCP__CONFIG_START, rows[i].want);
        check_warnings(rows[i].text, ARCP__CONFIG_CHECK, rows[i].want);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* The shortest token of a file counts; a comment is not a token. */
static void tokens_of_a_file_count_too(void **state)
{
    static const struct {
        const char *tokens;
        bool is_short;
    } rows[] = {{"# short\n0123456789abcdef=a\n0123456789abcdefg=b\n", false},
                {"0123456789abcdef=a\n0123456789abcde=b\n", true}};
    char path[] = "/tmp/arcp-tokens-XXXXXX";
    char text[256];
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    (void)snprintf(text, sizeof text, "listen: ['ws://0.0.0.0:1/arcp']\ntoken_file: %s\n", path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(path, rows[i].tokens);
        char *got = warnings_of("t.yaml", text, ARCP__CONFIG_START);
        assert_int_equal(strstr(got, "shorter than 16 bytes") != NULL, rows[i].is_short);
        arcp_free(got);
    }
    (void)unlink(path);
}

/* ---- agents ---- */

#define TWO_PRINCIPALS "tokens: [{token: x, principal: a}, {token: y, principal: b}]\n"
#define AGENT          "agents: [{name: a, command: [sh]}]\n"
#define OWN_USER       "agents: [{name: a, command: [sh], user: nobody}]\n"
#define OFF            "enforce: {mode: off}\n"
#define NOT_CONFINED                                                                               \
    "enforce.mode: agents are not confined: a lease decides only the operations that they ask "    \
    "about\n"
#define SHARED                                                                                     \
    " run as arcpd's user, not confined, and can read the tokens, files and results of all "       \
    "principals; give "                                                                            \
    "each a user of its own (user:)\n"

static void check_shared(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {AGENT, ""},
        {AGENT OFF, NOT_CONFINED},
        {TWO_PRINCIPALS OFF, ""},
        {TWO_PRINCIPALS AGENT, ""},
        {TWO_PRINCIPALS OWN_USER OFF, NOT_CONFINED},
        {"tokens: [{token: x, principal: a}, {token: y, principal: a}]\n" AGENT OFF, NOT_CONFINED},
        {TWO_PRINCIPALS AGENT OFF, NOT_CONFINED "agents: entries without user: (\"a\")" SHARED},
        {TWO_PRINCIPALS OFF
         "agents: [{name: a, command: [sh], user: nobody}, {name: b, command: [sh]},"
         " {name: c, command: [sh]}]\n",
         NOT_CONFINED "agents: entries without user: (\"b\" and 1 more)" SHARED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_warnings(rows[i].text, ARCP__CONFIG_START, rows[i].want);
    }
}

static void agents_that_share_a_user_with_arcpd_are_named_where_principals_differ(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        check_shared();
        return;
    }
    assert_int_equal(seteuid(65534), 0);
    check_shared();
    assert_int_equal(seteuid(0), 0);
}

static void agents_that_are_root_are_named(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("not root\n");
        skip();
    }
    check_warnings(OWN_USER, ARCP__CONFIG_START, "");
    check_warnings(AGENT, ARCP__CONFIG_START, "");
    check_warnings(
        AGENT OFF, ARCP__CONFIG_START,
        NOT_CONFINED
        "agents: entries without user: (\"a\") run as root, not confined, and can do anything, "
        "whatever their lease allows; give each a user of its own (user:), or run arcpd "
        "as another user\n");
    assert_int_equal(seteuid(65534), 0);
    check_warnings(AGENT, ARCP__CONFIG_START, "");
    assert_int_equal(seteuid(0), 0);
}

static void an_agent_that_is_not_confined_is_named(void **state)
{
    (void)state;
    check_warnings(
        "agents: [{name: a, command: [sh], user: nobody, confine: false}]\n", ARCP__CONFIG_START,
        "t.yaml:1: agents[0]: agent \"a\": it is not confined (confine: false), and can do "
        "anything that its user can, whatever its lease allows\n");
    check_warnings("agents: [{name: a, command: [sh], user: nobody, warm: 2}]\n",
                   ARCP__CONFIG_CHECK,
                   "t.yaml:1: agents[0]: agent \"a\": warm has no effect on a confined agent; each "
                   "process is started for its job\n");
}

/* A folder with agent.py, which is arcpd's current directory while the configuration is in another
 * folder, or the other way round. */
static void check_words(const char *config_name, const char *real)
{
    char want[512];
    (void)snprintf(want, sizeof want,
                   "%s:1: agents[0].command[1]: agent \"a\": its jobs look for agent.py in a fresh "
                   "directory, where it does not exist; write %s/agent.py\n",
                   config_name, real);
    char *got = warnings_of(config_name,
                            "agents: [{name: a, user: nobody, command: [python3, agent.py, "
                            "-agent.py, other.py, ., '']}]\n",
                            ARCP__CONFIG_START);
    assert_string_equal(got, want);
    arcp_free(got);
}

static void a_word_that_names_a_file_here_is_not_found_by_a_job(void **state)
{
    char folder[] = "/tmp/arcp-words-XXXXXX";
    char path[96];
    char text[256];
    char here[PATH_MAX];
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/agent.py", folder);
    write_file(path, "");
    (void)snprintf(path, sizeof path, "%s/t.yaml", folder);
    check_words(path, folder);
    assert_int_equal(chdir(folder), 0);
    check_words("t.yaml", folder);
    /* The folder in which agent.py is searched has it. */
    (void)snprintf(text, sizeof text,
                   "agents: [{name: a, user: nobody, cwd: %s, command: [python3, agent.py]}]\n",
                   folder);
    check_warnings(text, ARCP__CONFIG_START, "");
    check_warnings("agents: [{name: a, user: nobody, cwd: /nowhere, command: [agent.py]}]\n",
                   ARCP__CONFIG_START, "");
    (void)snprintf(text, sizeof text,
                   "t.yaml:1: agents[0].command[1]: agent \"a\": its jobs look for agent.py in /, "
                   "where it does not exist; write %s/agent.py\n",
                   folder);
    check_warnings("agents: [{name: a, user: nobody, cwd: /, command: [python3, agent.py]}]\n",
                   ARCP__CONFIG_START, text);
    assert_int_equal(chdir(here), 0);
    (void)snprintf(path, sizeof path, "%s/agent.py", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void plain_agents_are_not_kept_waiting(void **state)
{
    (void)state;
    check_warnings("agents:\n"
                   "  - {name: a, user: nobody, command: [sh], warm: 2}\n"
                   "  - {name: b, user: nobody, command: [sh], mode: plain}\n"
                   "  - {name: c, user: nobody, command: [sh], mode: plain, warm: 2}\n",
                   ARCP__CONFIG_START,
                   "t.yaml:4: agents[2]: agent \"c\": warm has no effect with mode: plain; remove "
                   "one of the two\n");
}

static void keys_of_served_processes_that_have_no_effect_are_reported(void **state)
{
    (void)state;
    check_warnings(
        "agents:\n"
        "  - {name: a, user: nobody, command: [sh], mode: serve, processes: 2, "
        "concurrency: 4, max_jobs: 8}\n"
        "  - {name: b, user: nobody, command: [sh], mode: serve, warm: 1}\n"
        "  - {name: c, user: nobody, command: [sh], mode: serve, max_jobs: 17}\n"
        "  - {name: d, user: nobody, command: [sh], mode: serve, stderr_in_errors: true}\n"
        "  - {name: e, user: nobody, command: [sh], jobs_per_process: 1}\n"
        "  - {name: f, user: nobody, command: [sh], mode: plain, concurrency: 2}\n",
        ARCP__CONFIG_START,
        "t.yaml:3: agents[1]: agent \"b\": warm has no effect with mode: serve; remove "
        "one of the two\n"
        "t.yaml:4: agents[2]: agent \"c\": max_jobs has no effect, because processes * "
        "concurrency (16) is less\n"
        "t.yaml:5: agents[3]: agent \"d\": stderr_in_errors has no effect with mode: "
        "serve, because standard error belongs to no job\n"
        "t.yaml:6: agents[4]: agent \"e\": processes, concurrency, jobs_per_process, "
        "process_memory_bytes and lease have an effect only with mode: serve\n"
        "t.yaml:7: agents[5]: agent \"f\": processes, concurrency, jobs_per_process, "
        "process_memory_bytes and lease have an effect only with mode: serve\n");
}

/* ---- what a start finds by itself ---- */

#define HTTP                                                                                       \
    "credentials:\n"                                                                               \
    "  provisioner: http\n"                                                                        \
    "  endpoint: https://e\n"                                                                      \
    "  http:\n"                                                                                    \
    "    issue:\n"                                                                                 \
    "      url: https://u/{env:ARCP_TEST_HOST}\n"                                                  \
    "      headers: {Authorization: 'Bearer {env:ARCP_TEST_KEY}', X: '{env:ARCP_TEST_SET}'}\n"     \
    "      body: {a: '{env:ARCP_TEST_KEY} {env:ARCP_TEST_BODY}'}\n"                                \
    "      response: {value: /v}\n"                                                                \
    "    revoke: {url: https://u}\n"                                                               \
    "tracing: {otlp: {endpoint: 'http://c:1', headers: {A: '{env:ARCP_TEST_TRACE}'}}}\n"
#define MISSING(name)                                                                              \
    "the environment variable " name " is not set here; arcpd does not start without it\n"

static void a_check_reports_what_a_start_would_miss(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"agents:\n  - name: a\n    user: nobody\n    command: [/nowhere/program]\n",
         "t.yaml:2: agents[0]: agent \"a\": the program /nowhere/program: No such file or "
         "directory; its jobs will fail\n"},
        {"agents: [{name: a, user: nobody, command: [no-such-program]}]\n",
         "t.yaml:1: agents[0]: agent \"a\": the program no-such-program is not in PATH; "
         "its "
         "jobs "
         "will fail\n"},
        {"agents: [{name: a, user: no-such-user, command: [sh]}]\n",
         "t.yaml:1: agents[0]: agent \"a\": there is no user \"no-such-user\"; its jobs "
         "will "
         "fail\n"},
        {"agents: [{name: a, user: nobody, command: [sh]}]\n", ""},
        {HTTP,
         "t.yaml:6: credentials.http.issue.url: " MISSING(
             "ARCP_TEST_HOST") "credentials.http."
                               "issue.body:"
                               " " MISSING(
                                   "ARCP_"
                                   "TEST_"
                                   "KEY") "credentials.http.issue.body:"
                                          " " MISSING(
                                              "ARCP_TEST_"
                                              "BODY") "t."
                                                      "yaml:"
                                                      "7: "
                                                      "creden"
                                                      "tials."
                                                      "http."
                                                      "issue."
                                                      "header"
                                                      "s."
                                                      "Author"
                                                      "izatio"
                                                      "n:"
                                                      " " MISSING(
                                                          "ARCP_TEST_"
                                                          "KEY") "t."
                                                                 "yam"
                                                                 "l:"
                                                                 "11:"
                                                                 " tr"
                                                                 "aci"
                                                                 "ng."
                                                                 "otl"
                                                                 "p."
                                                                 "hea"
                                                                 "der"
                                                                 "s."
                                                                 "A:"
                                                                 " " MISSING("ARCP_TEST_TRACE")},
        {"policy:\n  - {max_budget: ['USD:1']}\n  - {max_lease: {fs.read: [/a], tool.call: "
         "['**']}}\n",
         "t.yaml:3: policy[1]: max_lease does not name fs.write, net.fetch, "
         "agent.delegate, "
         "model.use, and so denies them\n"},
    };
    (void)state;
    assert_int_equal(setenv("ARCP_TEST_SET", "", 1), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_warnings(rows[i].text, ARCP__CONFIG_START, "");
        check_warnings(rows[i].text, ARCP__CONFIG_CHECK, rows[i].want);
    }
}

static void purses_of_anonymous_sessions_are_reported(void **state)
{
    (void)state;
    check_warnings("no_auth: true\nmodels:\n  spend: [{budget: ['USD:5']}]\n", ARCP__CONFIG_START,
                   "models.spend: with no_auth each session is a principal of its own, and "
                   "has a purse of its own\n");
    check_warnings(LONG_TOKEN "models:\n  spend: [{budget: ['USD:5']}]\n", ARCP__CONFIG_START, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listener_that_can_be_reached_from_elsewhere_is_reported_with_its_place),
        cmocka_unit_test(tokens_of_a_file_count_too),
        cmocka_unit_test(agents_that_share_a_user_with_arcpd_are_named_where_principals_differ),
        cmocka_unit_test(agents_that_are_root_are_named),
        cmocka_unit_test(an_agent_that_is_not_confined_is_named),
        cmocka_unit_test(a_word_that_names_a_file_here_is_not_found_by_a_job),
        cmocka_unit_test(plain_agents_are_not_kept_waiting),
        cmocka_unit_test(keys_of_served_processes_that_have_no_effect_are_reported),
        cmocka_unit_test(a_check_reports_what_a_start_would_miss),
        cmocka_unit_test(purses_of_anonymous_sessions_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
