/* arcpd --stdio with an input that ends: all requests are answered before arcpd exits. */
#include "arcpd/host.h"

#include <signal.h>

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}\n"
#define HELLO             FRAME("h", "session.hello", "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"any\"}}")
#define SUBMIT(id, agent) FRAME(id, "job.submit", "{\"agent\":\"" agent "\"}")

/* `slow` ends when the file of the test is there, which no sandbox shows it; `caller` has a child
 * whose answer is its own. */
#define AGENTS                                                                                     \
    "agents:\n"                                                                                    \
    "  - {name: hello, command: [echo, hi], mode: plain}\n"                                        \
    "  - {name: wait, command: [sh, -c, 'echo begun; exec sleep 1000']}\n"                         \
    "  - name: slow\n"                                                                             \
    "    confine: false\n"                                                                         \
    "    env: {GO: \"%s/go\"}\n"                                                                   \
    "    command: [sh, -c, 'echo begun; until test -e \"$GO\"; do sleep 0.01; done; echo done']\n" \
    "  - {name: caller, command: [sh, '@agents/caller.sh']}\n"

static void configure(const host *place, const char *more)
{
    char yaml[2048];
    char agents[1536];
    (void)snprintf(agents, sizeof agents, AGENTS, place->directory);
    (void)snprintf(yaml, sizeof yaml, "store: \"memory:\"\n%s%s", agents, more);
    host_configure(place, yaml);
}

/* Runs it in the folder, by a shell: $ARCPD is the program with its options, `in` has the frames.
 */
static int run(const host *place, process *p, const char *script, const char *frames)
{
    char line[512];
    char arcpd[256];
    (void)snprintf(line, sizeof line, "cd %s && cat >in && %s", place->directory, script);
    (void)snprintf(arcpd, sizeof arcpd, "ARCPD=%s/bin/arcpd --stdio --config %s/arcpd.yaml",
                   ARCP_BINARY_DIR, place->directory);
    process_start(p, WORDS("/bin/sh", "-c", line), WORDS(arcpd), frames);
    return process_finish(p);
}

/* Adds `more` to the common configuration; arcpd must exit with status 0. */
static void run_with(const host *place, process *p, const char *more, const char *script,
                     const char *frames)
{
    configure(place, more);
    assert_int_equal(run(place, p, script, frames), 0);
}

static void expect(const process *p, const char *word)
{
    if (strstr(p->out.data, word) == NULL) {
        fail_msg("want %s in\n%s\n%s", word, p->out.data, p->err.data);
    }
}

/* The input is a pipe that ends, or a file. */
static void requests_are_answered_after_the_end_of_the_input(void **state)
{
    static const char *const scripts[] = {"cat in | $ARCPD", "$ARCPD <in",
                                          "$ARCPD <in >out; cat out"};
    const host *place = *state;
    configure(place, "");
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        process p;
        assert_int_equal(run(place, &p, scripts[i], HELLO SUBMIT("s", "hello")), 0);
        expect(&p, "\"session.welcome\"");
        expect(&p, "\"job.accepted\"");
        expect(&p, "\"result\":\"hi\\n\"");
        process_fini(&p);
    }
}

static void a_job_that_takes_its_time_is_waited_for(void **state)
{
    const host *place = *state;
    process p;
    run_with(place, &p, "shutdown: {grace_sec: 3600}\n",
             "cat in | $ARCPD | while read -r line; do printf '%s\\n' \"$line\"; "
             "case $line in *begun*) touch go;; esac; done",
             HELLO SUBMIT("s", "slow") SUBMIT("t", "hello"));
    expect(&p, "\"message\":\"done\"");
    expect(&p, "\"result\":\"hi\\n\"");
    expect(&p, "\"result\":null");
    process_fini(&p);
}

static void a_job_may_delegate_after_the_end_of_the_input(void **state)
{
    const host *place = *state;
    process p;
    run_with(place, &p, "", "cat in | $ARCPD",
             HELLO FRAME("s", "job.submit",
                         "{\"agent\":\"caller\",\"lease_request\":{"
                         "\"agent.delegate\":[\"hello\"]}}"));
    expect(&p, "\"message\":\"called\"");
    expect(&p, "\"result\":\"hi\\n\"");
    process_fini(&p);
}

static void a_job_is_ended_when_the_grace_period_has_passed(void **state)
{
    const host *place = *state;
    process p;
    run_with(place, &p, "shutdown: {grace_sec: 0}\n", "cat in | $ARCPD", HELLO SUBMIT("s", "wait"));
    expect(&p, "\"job.accepted\"");
    expect(&p, "\"the runtime is stopping\"");
    assert_non_null(strstr(p.err.data, "shutdown.grace_sec has passed since standard input ended"));
    process_fini(&p);
}

static void nothing_is_sent_when_the_output_is_broken(void **state)
{
    const host *place = *state;
    process p;
    run_with(place, &p, "shutdown: {grace_sec: 3600}\n",
             "{ cat in | $ARCPD; echo $? >status; } | { head -n 2; touch go; }; "
             "cat status",
             HELLO SUBMIT("s", "slow"));
    expect(&p, "\"job.accepted\"");
    assert_null(strstr(p.out.data, "\"job.result\""));
    assert_string_equal(p.out.data + p.out.size - 3, "\n0\n");
    process_fini(&p);
}

static void nothing_and_nonsense_end_it_too(void **state)
{
    const host *place = *state;
    process p;
    configure(place, "");
    assert_int_equal(run(place, &p, "cat in | $ARCPD", ""), 0);
    assert_int_equal(p.out.size, 0);
    process_fini(&p);
    assert_int_equal(run(place, &p, "cat in | $ARCPD", SUBMIT("s", "hello")), 0);
    expect(&p, "\"UNAUTHENTICATED\"");
    process_fini(&p);
}

static void a_signal_ends_the_waiting(void **state)
{
    static const char program[] = ARCP_BINARY_DIR "/bin/arcpd";
    const host *place = *state;
    char config[96];
    process p;
    configure(place, "shutdown: {grace_sec: 3600}\n");
    (void)snprintf(config, sizeof config, "%s/arcpd.yaml", place->directory);
    process_start(&p, WORDS(program, "--stdio", "--config", config), WORDS(NULL),
                  HELLO SUBMIT("s", "wait"));
    process_await(&p, false, "begun");
    process_signal(&p, SIGTERM);
    process_await(&p, true, "stopping on SIGTERM");
    process_signal(&p, SIGTERM);
    assert_int_equal(process_finish(&p), 0);
    expect(&p, "\"job.error\"");
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_are_answered_after_the_end_of_the_input,
                                        host_setup, host_teardown),
        cmocka_unit_test_setup_teardown(a_job_that_takes_its_time_is_waited_for, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(a_job_may_delegate_after_the_end_of_the_input, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(a_job_is_ended_when_the_grace_period_has_passed, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(nothing_is_sent_when_the_output_is_broken, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(nothing_and_nonsense_end_it_too, host_setup, host_teardown),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_waiting, host_setup, host_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
