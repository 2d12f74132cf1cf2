/* Every documented exit status, and the message that goes with it. */
#include "arcp/fixture.h"

static const struct ending {
    const char *name;
    const char *words[8];
    int exit_status;
    const char *says;
} endings[] = {
    {"an agent's error",
     {"submit", "fail", "--input", "{\"code\":\"JOB_NOT_FOUND\"}"},
     1,
     "JOB_NOT_FOUND: as asked"},
    {"an unknown agent", {"submit", "nobody"}, 1, "AGENT_NOT_AVAILABLE"},
    {"no agent", {"submit"}, 2, "AGENT is missing"},
    {"an unknown option", {"submit", "hello", "--gant", "a=b"}, 2, "did you mean --grant?"},
    {"an input that is not JSON", {"submit", "hello", "--input", "{oops"}, 2, "--input: "},
    {"an invalid lease", {"submit", "hello", "--grant", "fs.raed=/x"}, 2, "fs.raed"},
    {"an invalid number",
     {"submit", "hello", "--max-runtime", "soon"},
     2,
     "--max-runtime: 'soon' is not a duration"},
    {"an output file that cannot be created",
     {"submit", "hello", "--output", "/nonexistent/x"},
     2,
     "/nonexistent/x"},
    {"an unknown status", {"jobs", "--status", "asleep"}, 2, "'asleep' is not one of"},
    {"an unknown context", {"ping", "--context", "nowhere"}, 2, "there is no context nowhere"},
    {"no runtime", {"ping", "--url", "ws://127.0.0.1:1/arcp"}, 3, "127.0.0.1:1"},
    {"no WebSocket",
     {"ping", "--url", "gopher://x"},
     2,
     "arcp ping: \"gopher://x\": expected ws://"},
    {"a wrong token", {"ping", "--token", "wrong"}, 3, "UNAUTHENTICATED"},
    {"a denial",
     {"submit", "fail", "--input", "{\"code\":\"PERMISSION_DENIED\"}"},
     4,
     "PERMISSION_DENIED"},
    {"an expired lease",
     {"submit", "fail", "--input", "{\"code\":\"LEASE_EXPIRED\"}"},
     4,
     "LEASE_EXPIRED"},
    {"a used budget",
     {"submit", "fail", "--input", "{\"code\":\"BUDGET_EXHAUSTED\"}"},
     4,
     "BUDGET_EXHAUSTED"},
    {"a wider child",
     {"submit", "fail", "--input", "{\"code\":\"LEASE_SUBSET_VIOLATION\"}"},
     4,
     "LEASE_SUBSET_VIOLATION"},
    {"a cancellation", {"submit", "fail", "--input", "{\"code\":\"CANCELLED\"}"}, 5, "CANCELLED"},
    {"a timeout", {"submit", "wait", "--max-runtime", "1"}, 6, "TIMEOUT"},
    {"an unknown job", {"watch", "job_nowhere"}, 1, "JOB_NOT_FOUND"},
    {"nothing to cancel", {"cancel", "job_nowhere"}, 1, "JOB_NOT_FOUND"},
    {"help", {"--help"}, 0, ""},
    {"help as a word", {"help", "submit"}, 0, ""},
    {"the version", {"--version"}, 0, ""},
    {"completions", {"completion", "fish"}, 0, ""},
    {"an unknown shell", {"completion", "tcsh"}, 2, "unknown shell 'tcsh'"},
    {"an unknown colour", {"ping", "--color", "red"}, 2, "'red' is not one of auto"},
    {"fewer jobs than sessions", {"bench", "--sessions", "8", "--in-flight", "4"}, 2, "--idle"},
    {"no session", {"bench", "--sessions", "0"}, 2, "--sessions 0 needs --idle"},
    {"no session and a job",
     {"bench", "--sessions", "0", "--idle", "2", "--jobs", "1"},
     2,
     "excludes --in-flight and --jobs"},
    {"an invalid count", {"bench", "--sessions", "x"}, 2, "x is not a number from 0 to"},
    {"a load that is not a number", {"bench", "--jobs", "1x"}, 2, "--jobs 1x is not a number"},
    {"jobs for a time", {"bench", "--jobs", "1", "--duration", "1s"}, 2, "together"},
    {"an invalid duration", {"bench", "--duration", "soon"}, 2, "--duration: "},
    {"no time at all", {"bench", "--duration", "0"}, 2, "--duration 0 must be 1ms or more"},
    {"no time at all, with a unit", {"bench", "--duration", "0ms"}, 2, "--duration 0ms must be"},
    {"no command", {"--json"}, 2, "no command given"},
    {"a lease that allows",
     {"lease", "check", "{\"fs.read\":[\"/a/**\"]}", "fs.read", "/a/b"},
     0,
     ""},
    {"a lease that denies",
     {"lease", "check", "{\"fs.read\":[\"/a/**\"]}", "fs.read", "/b"},
     4,
     ""},
};

static void every_exit_status_is_produced(void **state)
{
    for (size_t row = 0; row < sizeof endings / sizeof endings[0]; row++) {
        process p;
        const char *words[9] = {NULL};
        memcpy(words, endings[row].words, sizeof endings[row].words);
        print_message("  %s\n", endings[row].name);
        fixture_run(*state, &p, endings[row].exit_status, words);
        arcp_buf_append_byte(&p.err, '\0');
        if (strstr(p.err.data, endings[row].says) == NULL) {
            fail_msg("said: %s", p.err.data);
        }
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_exit_status_is_produced),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
