/* `arcp lease explain --enforce`: how a host would enforce a lease. */
#include "arcp/run_rows.h"

static const run_row rows[] = {
    {"explain --enforce where TLS is terminated",
     "$ARCP lease explain '{\"net.fetch\":[\"https://a/v1/*\"]}' --enforce --level full --tls "
     "terminate | grep -c 'exact *each request, inside TLS'",
     0, .out = "1\n"},
    {"explain --enforce where it stays closed",
     "$ARCP lease explain '{\"net.fetch\":[\"https://a/v1/*\"]}' --enforce --level full --tls "
     "tunnel | grep -c 'refused'",
     0, .out = "2\n"},
    {"a setting of TLS that is none", "$ARCP lease explain '{}' --enforce --tls x", 2, .out = "",
     .err = "~is not one of tunnel, terminate"},
    {"explain --enforce for a level",
     "$ARCP lease explain "
     "'{\"fs.read\":[\"/srv/**\",\"/data/a\"],\"fs.write\":[\"/srv/out/**\"],"
     "\"net.fetch\":[\"https://x/**\"],\"tool.call\":[\"web.*\"]}' --enforce --level full | grep "
     "-v "
     "'^base\\|^limit'",
     0,
     .out = "capability  pattern                  verdict   how\n"
            "fs.read     /srv/**                  exact     directory\n"
            "fs.read     /data/a                  exact     file\n"
            "fs.write    /srv/out/**              exact     directory; a .git at its root is "
            "protected; "
            "that is no boundary, because other files in it may be run later\n"
            "net.fetch   https://x/**             exact     name and SNI; TLS stays closed, so "
            "what is requested inside is not seen\n"
            "tool.call   web.*                    advisory  gate; only calls that the program asks "
            "about are decided\n"
            "level full: 4 exact, 1 advisory. enforce.min under: runs\n",
     ""},
    {"the same for level landlock",
     "$ARCP lease explain '{\"fs.write\":[\"/srv/**\"]}' --enforce --level landlock | tail -1", 0,
     .out = "level landlock: 1 exact. enforce.min under: runs\n", ""},
    {"a host of level none runs nothing",
     "ARCP_SANDBOX_WITHOUT=landlock $ARCP lease explain '{}' --enforce | tail -1; exit "
     "${PIPESTATUS[0]}",
     4, .out = NULL, ""},
    {"relative patterns start at --cwd",
     "$ARCP lease explain '{\"fs.read\":[\"a/**\"]}' --enforce --level full --cwd $ROOT/project "
     "--json | "
     "grep -c '\"pattern\":\"a/\\*\\*\",\"verdict\":\"exact\"'",
     0, .out = "1\n", ""},
    {"the base of an agent's command",
     "printf x >../data/main.py; $ARCP lease explain '{}' --enforce --level full --agent-command "
     "\"cat "
     "$ROOT/data/main.py\" | grep data",
     0, .out = "~ $ROOT/data ", ""},
    {"an agent's command that is not there",
     "$ARCP lease explain '{}' --enforce --agent-command no-such-command", 2, .out = "",
     "~--agent-command: the program no-such-command is not in PATH"},
    {"an agent's command that cannot be split",
     "$ARCP lease explain '{}' --enforce --agent-command \"cat 'x\"", 2, .out = "",
     "~--agent-command: "},
    {"a level that is none of them", "$ARCP lease explain '{}' --enforce --level none", 2,
     .out = "", "~--level: 'none' is not one of full, landlock"},
    {"a directory that is not absolute", "$ARCP lease explain '{}' --enforce --cwd x", 2, .out = "",
     "~--cwd must be an absolute path"},
    {"words too many", "$ARCP lease explain '{}' fs.read /x --enforce", 2, .out = "",
     "~explain --enforce takes LEASE"},
    {"--level without --enforce", "$ARCP lease explain '{}' fs.read /x --level full", 2, .out = "",
     "~are for explain --enforce"},
    {"--enforce of another command", "$ARCP lease lint '{}' --enforce", 2, .out = "",
     "~are for explain --enforce"},
    {"a lease that cannot be read", "$ARCP lease explain '[' --enforce", 1, .out = "", "~LEASE: "},
};

static void explain_enforce_is_as_written(void **state)
{
    run_rows_check(*state, rows, sizeof rows / sizeof rows[0], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explain_enforce_is_as_written),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
