/* `arcp lease`: output and exit status. */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "arcp/captured_run.h"
#include "arcp/command.h"

typedef struct command_row {
    const char *name;
    const char *words[CAPTURED_WORDS_MAX];
    int status;
    const char *out;
} command_row;

static const char until_2000[] = "{\"lease\":{\"fs.read\":[\"/a\"]},"
                                 "\"lease_constraints\":{\"expires_at\":\"2000-01-01T00:00:00Z\"}}";

static const command_row rows[] = {
    {"check of what is allowed",
     {"check", "{\"fs.read\":[\"/data/**\"]}", "fs.read", "/data/./x"},
     0,
     "allowed by fs.read \"/data/**\"\n"},
    {"check of what is denied",
     {"check", "{\"fs.read\":[\"/data/**\"]}", "fs.read", "/etc/passwd"},
     4,
     "denied: PERMISSION_DENIED: fs.read of \"/etc/passwd\" is not covered by the lease\n"},
    {"check as JSON",
     {"check", "--json", "{\"fs.read\":[\"/data/**\"]}", "fs.read", "/data/./x"},
     0,
     "{\"allow\":true,\"canonical\":\"/data/x\",\"pattern\":\"/data/**\"}\n"},
    {"a denial as JSON, with the option first",
     {"--json", "check", "{}", "fs.read", "/x"},
     4,
     "{\"allow\":false,\"code\":\"PERMISSION_DENIED\",\"details\":{\"capability\":\"fs.read\","
     "\"target\":\"/x\",\"canonical\":\"/x\",\"granted\":[],\"reason\":\"NO_MATCH\"}}\n"},
    {"relative paths without a directory",
     {"check", "{\"fs.read\":[\"**\"]}", "fs.read", "x"},
     4,
     "denied: PERMISSION_DENIED: fs.read of \"x\" is refused: the relative path leads out of the "
     "job's directory\n"},
    {"relative paths with one",
     {"check", "{\"fs.read\":[\"**\"]}", "fs.read", "x", "--cwd", "/job"},
     0,
     "allowed by fs.read \"**\"\n"},
    {"relative paths with one, behind a sign",
     {"check", "{\"fs.read\":[\"**\"]}", "fs.read", "x", "--cwd=/job"},
     0,
     "allowed by fs.read \"**\"\n"},
    {"a lease with constraints that has expired",
     {"check", until_2000, "fs.read", "/a"},
     4,
     "denied: LEASE_EXPIRED: fs.read of \"/a\" is refused: the lease has expired\n"},
    {"the same lease at an earlier time",
     {"check", until_2000, "fs.read", "/a", "--at", "1999-12-31T23:59:59.999Z"},
     0,
     "allowed by fs.read \"/a\"\n"},
    {"and at its very end",
     {"check", until_2000, "fs.read", "/a", "--at", "2000-01-01T00:00:00Z"},
     4,
     "denied: LEASE_EXPIRED: fs.read of \"/a\" is refused: the lease has expired\n"},
    {"a used up budget",
     {"check", "{\"fs.read\":[\"/a\"],\"cost.budget\":[\"USD:0\"]}", "fs.read", "/a"},
     4,
     "denied: BUDGET_EXHAUSTED: fs.read of \"/a\" is refused: the budget of \"USD\" is used up\n"},
    {"a target that looks like an option",
     {"check", "--", "{\"tool.call\":[\"--*\"]}", "tool.call", "--json"},
     0,
     "allowed by tool.call \"--*\"\n"},
    {"a target that looks like a short option",
     {"check", "{\"tool.call\":[\"-h\"]}", "tool.call", "-h"},
     0,
     "allowed by tool.call \"-h\"\n"},
    {"options of every command",
     {"--color", "never", "check", "{\"fs.read\":[\"/a\"]}", "fs.read", "/a", "--quiet"},
     0,
     "allowed by fs.read \"/a\"\n"},
    {"explain of what is denied",
     {"explain", "{\"fs.read\":[\"/a/*\"]}", "fs.read", "/a/b/c"},
     4,
     "denied: PERMISSION_DENIED, NO_MATCH: fs.read of \"/a/b/c\" is not covered by the lease\n"
     "canonical   \"/a/b/c\"\n"
     "nearest     \"/a/*\"\n"
     "agrees on   \"/a/b\"\n"
     "would allow \"/a/b/c\"\n"},
    {"explain of what is allowed",
     {"explain", "{\"fs.read\":[\"/a/*\"]}", "fs.read", "/a/b"},
     0,
     "allowed: fs.read of \"/a/b\" is allowed\n"
     "canonical   \"/a/b\"\n"
     "allowed by  \"/a/*\"\n"},
    {"a subset",
     {"subset", "{\"fs.read\":[\"/a/b\"]}", "{\"fs.read\":[\"/a/**\"]}"},
     0,
     "subset\n"},
    {"no subset",
     {"subset", "{\"fs.read\":[\"/b\"]}", "{\"fs.read\":[\"/a/**\"]}"},
     4,
     "not a subset\n"
     "witness: fs.read /b\n"
     "reason: the child's \"/b\" allows \"/b\", which the parent does not\n"},
    {"a witness that is not plain stays on its line",
     {"subset", "{\"fs.read\":[\"/b\\nc\"]}", "{\"fs.read\":[\"/a\"]}"},
     4,
     "not a subset\n"
     "witness: fs.read \"/b\\nc\"\n"
     "reason: the child's \"/b?c\" allows \"/b?c\", which the parent does not\n"},
    {"no subset by budget",
     {"subset", "{\"cost.budget\":[\"USD:2\"]}", "{\"cost.budget\":[\"USD:1\"]}"},
     4,
     "not a subset\n"
     "witness: cost.budget USD:2\n"
     "reason: the child requests 2 of USD, but the parent has 1\n"},
    {"a subset as JSON", {"subset", "--json", "{}", "{}"}, 0, "{\"subset\":true}\n"},
    {"no subset as JSON",
     {"subset", "--json", "{\"tool.call\":[\"t\"]}", "{}"},
     4,
     "{\"subset\":false,\"details\":{\"capability\":\"tool.call\",\"child_pattern\":\"t\","
     "\"witness\":\"t\",\"reason\":\"NO_MATCH\"}}\n"},
    {"diff",
     {"diff", "{\"fs.read\":[\"/a\"]}", "{}"},
     0,
     "A allows what B does not:\n"
     "  fs.read \"/a\": for example \"/a\"\n"
     "B is within A\n"},
    {"diff as JSON",
     {"diff", "{}", "{}", "--json"},
     0,
     "{\"only_a\":[],\"only_b\":[],\"a_within_b\":true,\"b_within_a\":true}\n"},
    {"lint",
     {"lint", "{\"net.fetch\":[\"https://**\"]}"},
     0,
     "broad: net.fetch[0] \"https://**\": grants every host\n"},
    {"lint without findings", {"lint", "{\"fs.read\":[\"/a\"]}"}, 0, ""},
    {"lint as JSON", {"lint", "{\"fs.read\":[\"/a\"]}", "--json"}, 0, "[]\n"},
};

static void each_subcommand_has_its_output_and_exit_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        const captured_run result = run_captured("lease", rows[i].words);
        assert_string_equal(result.out, rows[i].out);
        assert_string_equal(result.err, "");
        assert_int_equal(result.status, rows[i].status);
    }
}

static const command_row failures[] = {
    {"no subcommand", {NULL}, 2, "check|explain|subset|diff|lint|learn LEASE... is missing\n"},
    {"a subcommand without a lease",
     {"lint"},
     2,
     "check|explain|subset|diff|lint|learn LEASE... is missing\n"},
    {"an unknown subcommand",
     {"frobnicate", "{}"},
     2,
     "unknown lease command 'frobnicate' (expected check, explain, subset, diff, lint or learn)\n"},
    {"too few words", {"check", "{}", "fs.read"}, 2, "check takes LEASE CAPABILITY TARGET\n"},
    {"too many words", {"lint", "{}", "{}"}, 2, "lint takes LEASE\n"},
    {"far too many words", {"check", "{}", "fs.read", "/a", "/b"}, 2, "unexpected argument '/b'\n"},
    {"an unknown option", {"lint", "{}", "--yaml"}, 2, "unknown option --yaml\n"},
    {"an unknown option with a value",
     {"lint", "{}", "--cwdir=/x"},
     2,
     "unknown option --cwdir; did you mean --cwd?\n"},
    {"another command's option",
     {"lint", "{}", "--detach"},
     2,
     "--detach is an option of arcp submit\n"},
    {"an option twice",
     {"check", "{}", "fs.read", "x", "--cwd", "/a", "--cwd=/b"},
     2,
     "--cwd can be given only once\n"},
    {"a short option", {"-x", "lint", "{}"}, 2, "unknown option -x\n"},
    {"an option without its value", {"lint", "{}", "--at"}, 2, "--at needs a value: TIME\n"},
    {"an invalid time",
     {"lint", "{}", "--at", "noon"},
     2,
     "--at must be RFC 3339 in UTC, such as 2026-05-13T19:42:13Z: noon\n"},
    {"a lease that is not JSON", {"lint", "{fs.read}"}, 1, "LEASE: "},
    {"a lease that is malformed",
     {"check", "{\"fs.read\":\"/a\"}", "fs.read", "/a"},
     1,
     "fs.read is a string"},
    {"a file that is not there",
     {"lint", "@/nonexistent/lease.json"},
     1,
     "LEASE: /nonexistent/lease.json cannot be read: No such file"},
    {"a directory that is relative",
     {"check", "{}", "fs.read", "x", "--cwd", "job"},
     2,
     "--cwd must be an absolute path: job\n"},
    {"a child that is malformed", {"subset", "[]", "{}"}, 1, "CHILD: "},
    {"a parent that is malformed", {"subset", "{}", "[]"}, 1, "PARENT: "},
    {"the first of two that is malformed", {"diff", "[]", "{}"}, 1, "arcp lease: A: "},
    {"the second of two that is malformed", {"diff", "{}", "[]"}, 1, "arcp lease: B: "},
    {"a pair from stdin", {"subset", "-", "-"}, 2, "only one"},
    {"an expiry that is malformed",
     {"lint", "{\"lease_constraints\":{\"expires_at\":\"tomorrow\"}}"},
     1,
     "expires_at"},
};

static void errors_are_printed_on_stderr(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        print_message("  %s\n", failures[i].name);
        const captured_run result = run_captured("lease", failures[i].words);
        assert_string_equal(result.out, "");
        assert_int_equal(result.status, failures[i].status);
        assert_true(strncmp(result.err, "arcp lease: ", 12) == 0);
        if (strstr(result.err, failures[i].out) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", result.err, failures[i].out);
        }
    }
}

static void with_json_the_error_for_an_unreadable_lease_is_an_object(void **state)
{
    (void)state;
    const char *const words[CAPTURED_WORDS_MAX] = {"lint", "{\"fs.read\":\"/a\"}", "--json"};
    const captured_run result = run_captured("lease", words);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out,
                        "{\"code\":\"INVALID_REQUEST\",\"message\":\"LEASE: fs.read is a "
                        "string: it must be an array of strings\",\"retryable\":false}\n");
    assert_true(strncmp(result.err, "arcp lease: LEASE: fs.read is a string", 38) == 0);
    const char *const usage[CAPTURED_WORDS_MAX] = {"lint", "{}", "--json", "--at", "noon"};
    assert_string_equal(run_captured("lease", usage).out, ""); /* as for every command */
}

static void failed_output_is_an_error(void **state)
{
    (void)state;
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    const int saved = dup(STDOUT_FILENO);
    assert_true(full >= 0 && dup2(full, STDOUT_FILENO) >= 0);
    FILE *err = NULL;
    captured_run result;
    const int saved_err = capture_begin(stderr, &err);
    char words[] = "arcp\0lease\0subset\0{}\0{}";
    char *argv[] = {words, words + 5, words + 11, words + 18, words + 21, NULL};
    result.status = arcp__main(5, argv);
    capture_end(stderr, saved_err, err, result.err, sizeof result.err);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    (void)close(saved);
    (void)close(full);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.err, "error: standard output: No space left on device\n");
}

static void a_lease_may_come_from_a_file_or_from_stdin(void **state)
{
    (void)state;
    char path[] = "/tmp/arcp-lease-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    const char text[] = "{\"lease\": {\"fs.read\": [\"/a\"]}}\n";
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    char word[sizeof path + 1];
    (void)snprintf(word, sizeof word, "@%s", path);
    const char *const from_file[CAPTURED_WORDS_MAX] = {"check", word, "fs.read", "/a"};
    assert_int_equal(run_captured("lease", from_file).status, 0);

    const char *const without_sign[CAPTURED_WORDS_MAX] = {"check", path, "fs.read", "/a"};
    const captured_run slip = run_captured("lease", without_sign);
    assert_int_equal(slip.status, 1);
    assert_non_null(strstr(slip.err, " (to read a file, use @FILE)\n"));

    const int saved = dup(STDIN_FILENO);
    assert_true(lseek(file, 0, SEEK_SET) == 0);
    assert_true(dup2(file, STDIN_FILENO) >= 0);
    const char *const from_stdin[CAPTURED_WORDS_MAX] = {"subset", "-", word};
    const captured_run result = run_captured("lease", from_stdin);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    (void)close(saved);
    (void)close(file);
    (void)unlink(path);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "subset\n");
}

static void a_lease_may_be_larger_than_a_runtime_accepts(void **state)
{
    (void)state;
    const size_t count = 1500;
    char *text = malloc(count * 16 + 64);
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "{\"tool.call\":[");
    for (size_t i = 0; i < count; i++) {
        size += (size_t)sprintf(text + size, "%s\"t%zu\"", i == 0 ? "" : ",", i);
    }
    size += (size_t)sprintf(text + size, "]}");
    assert_int_equal(strlen(text), size);
    const char *const words[CAPTURED_WORDS_MAX] = {"check", text, "tool.call", "t1499"};
    assert_int_equal(run_captured("lease", words).status, 0);
    free(text);
}

static void help_has_the_usage(void **state)
{
    (void)state;
    static const char *const asked[] = {"--help", "-h"};
    arcp_buf text = arcp_buf_init();
    arcp__usage_help(ARCP__COMMAND_LEASE, &text);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *const words[CAPTURED_WORDS_MAX] = {asked[i]};
        const captured_run result = run_captured("lease", words);
        assert_int_equal(result.status, 0);
        check_span(arcp_buf_span(&text), result.out);
    }
    arcp_buf_fini(&text);
    static const char *const says[] = {
        "usage: arcp lease check|explain|subset|diff|lint|learn LEASE... [--cwd DIR] [--at TIME]",
        "[--enforce]\n",
        "\n  subset CHILD PARENT  ",
        "\n  --cwd DIR  ",
        "\n  --at TIME  ",
        "\n  --json  "};
    const char *const help[CAPTURED_WORDS_MAX] = {"--help"};
    const captured_run result = run_captured("lease", help);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        assert_non_null(strstr(result.out, says[i]));
    }
    assert_null(strstr(result.out, "--url"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_subcommand_has_its_output_and_exit_status),
        cmocka_unit_test(errors_are_printed_on_stderr),
        cmocka_unit_test(with_json_the_error_for_an_unreadable_lease_is_an_object),
        cmocka_unit_test(failed_output_is_an_error),
        cmocka_unit_test(a_lease_may_come_from_a_file_or_from_stdin),
        cmocka_unit_test(a_lease_may_be_larger_than_a_runtime_accepts),
        cmocka_unit_test(help_has_the_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
