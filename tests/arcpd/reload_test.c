/* SIGHUP on a real arcpd: other agents and policies from now on, and no job is dropped. */
#include "arcpd/arcpd_process.h"

#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static arcpd_process d;
static blocking_client c;
static char gate[96]; /* a fifo: the agent `slow` ends when the test writes there */
static unsigned next_id;

/* An agent that answers with `result` when the fifo is opened: no sandbox shows a fifo of the host,
 * so agents have none here. */
#define SLOW                                                                                       \
    "  - {name: slow, command: [sh, -c, 'read start; read go <%s; echo "                           \
    "\"{\\\"type\\\":\\\"job.result\\\",\\\"payload\\\":{\\\"result\\\":\\\"%s\\\"}}\"']%s}\n"

static void configure(const char *slow_result, const char *more_of_slow, const char *rest)
{
    arcpd_configure(
        &d,
        "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\nshutdown: {grace_sec: "
        "0}\nenforce: {mode: off}\ntokens: [{token: secret, principal: alice}]\nagents:\n" SLOW
        "%s",
        gate, slow_result, more_of_slow, rest);
}

static int set_up(void **state)
{
    (void)state;
    next_id = 0;
    arcpd_init(&d);
    (void)snprintf(gate, sizeof gate, "%s/gate", d.directory);
    assert_int_equal(mkfifo(gate, 0600), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    client_close(&c);
    arcpd_fini(&d);
    return 0;
}

static void connect_client(void)
{
    assert_true(client_connect(&c, &d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
}

static const char *hello(void)
{
    return client_request(&c,
                          "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                          "\"auth\":{\"scheme\":\"bearer\",\"token\":\"secret\"},"
                          "\"capabilities\":{\"features\":[\"agent_versions\"]}}}");
}

/* The next frame that contains the word, others are passed over. */
static const char *await(const char *first, const char *word)
{
    while (strstr(first, word) == NULL) {
        first = client_next(&c);
    }
    return first;
}

/* Submits, and waits for the answer. */
static const char *submit(const char *agent, const char *more)
{
    char frame[512];
    char answer[32];
    (void)snprintf(
        frame, sizeof frame,
        "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
        "\"%s\",\"input\":\"%064d\"%s}}",
        ++next_id, agent, 0, more);
    (void)snprintf(answer, sizeof answer, "\"request_id\":\"s%u\"", next_id);
    return await(client_request(&c, frame), answer);
}

static void open_gate(void)
{
    const int file = open(gate, O_WRONLY | O_CLOEXEC); /* waits for a reader */
    assert_true(file >= 0);
    assert_int_equal(write(file, "go\n", 3), 3);
    assert_int_equal(close(file), 0);
}

/* [arcp:7.5-9] */
static void agents_and_policies_are_other_ones_and_running_jobs_go_on(void **state)
{
    char old_job[64] = {0};
    (void)state;
    configure("old", "",
              "  - {name: gone, command: [\"true\"]}\n"
              "  - {name: work, version: 1.0.0, command: [echo, one]}\n");
    arcpd_start(&d);
    connect_client();
    assert_non_null(strstr(hello(), "{\"name\":\"work\",\"versions\":[\"1.0.0\"],\"default\":"
                                    "\"1.0.0\"}"));
    const char *accepted = submit("slow", "");
    const char *id = strstr(accepted, "\"job_id\":\"job_");
    assert_non_null(id);
    (void)sscanf(id, "\"job_id\":\"%63[^\"]", old_job);
    (void)await(client_next(&c), "\"phase\":\"running\"");

    configure("new", "",
              "  - {name: added, command: [echo, added]}\n"
              "  - {name: work, version: 1.0.0, command: [echo, one]}\n"
              "  - {name: work, version: 2.0.0, default: true, command: [echo, two]}\n"
              "policy: [{agent: added, max_lease: {fs.read: [\"/srv/**\"]}}]\n");
    arcpd_reload(&d, "reloaded");

    /* The running job has the old command; it is listed, and continues. */
    assert_non_null(strstr(submit("gone", ""), "\"code\":\"AGENT_NOT_AVAILABLE\""));
    assert_non_null(strstr(submit("work", ""), "\"agent\":\"work@2.0.0\""));
    assert_non_null(strstr(submit("work@3", ""), "\"code\":\"AGENT_VERSION_NOT_AVAILABLE\""));
    assert_non_null(
        strstr(submit("added", ",\"lease_request\":{\"fs.read\":[\"/srv/a\",\"/etc/a\"]}"),
               "\"lease\":{\"fs.read\":[\"/srv/a\"]}"));
    open_gate();
    const char *ended = await(client_next(&c), "\"result\":\"old\"");
    assert_non_null(strstr(ended, old_job));
    assert_non_null(strstr(submit("slow", ""), "\"job.accepted\""));
    open_gate();
    (void)await(client_next(&c), "\"result\":\"new\"");
}

static void warm_processes_of_the_old_command_are_not_used_any_more(void **state)
{
    (void)state;
    configure("old", ", warm: 2", "");
    arcpd_start(&d);
    connect_client();
    (void)hello();
    (void)submit("slow", "");
    (void)await(client_next(&c), "\"phase\":\"running\"");
    configure("new", ", warm: 2", "");
    arcpd_reload(&d, "reloaded");
    open_gate();
    (void)await(client_next(&c), "\"result\":\"old\"");
    for (int job = 0; job < 3; job++) {
        (void)submit("slow", "");
        open_gate();
        (void)await(client_next(&c), "\"result\":\"new\"");
    }
}

static void an_invalid_configuration_changes_no_agents_and_policies(void **state)
{
    (void)state;
    configure("old", "", "policy: [{max_lease: {fs.read: [\"/srv/**\"]}}]\n");
    arcpd_start(&d);
    connect_client();
    (void)hello();
    static const struct {
        const char *rest;
        const char *says;
    } rows[] = {
        {"  - {name: Bad Name, command: [\"true\"]}\n", "Bad Name"},
        {"policy: [{max_lease: {made.up: [\"x\"]}}]\n", "made.up"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        configure("new", "", rows[i].rest);
        arcpd_reload(&d, rows[i].says);
        assert_non_null(strstr(submit("fine", ""), "AGENT_NOT_AVAILABLE"));
        assert_non_null(strstr(submit("slow", ",\"lease_request\":{\"fs.read\":[\"/etc/a\"]}"),
                               "\"lease\":{\"fs.read\":[]}"));
        open_gate();
        (void)await(client_next(&c), "\"result\":\"old\"");
    }
}

static void a_missing_program_is_reported_at_the_start_and_at_each_reload(void **state)
{
    static const char what[] = "agent \\\"missing\\\": the program /no/such/program: ";
    (void)state;
    configure("old", "",
              "  - {name: missing, command: [/no/such/program]}\n"
              "log: {format: json}\n");
    arcpd_start(&d);
    assert_int_equal(arcpd_log_count(&d, what), 1);
    arcpd_reload(&d, what);
    connect_client();
    (void)hello();
    (void)submit("missing", "");
    (void)await(client_next(&c), "the agent's program cannot be started");
}

static void the_log_changes_its_form(void **state)
{
    (void)state;
    configure("old", "", "");
    arcpd_start(&d);
    arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
    configure("old", "", "log: {format: json, level: info}\n");
    arcpd_reload(
        &d, "\"level\":\"info\",\"message\":\"reloaded: the new configuration is in effect\"}\n");
    configure("old", "", "log: {level: info}\n");
    arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
}

static void keys_that_take_a_restart_are_named_until_they_are_put_back(void **state)
{
    static const char what[] =
        "warn  changed keys that need a restart: audit.path (from \"audit.jsonl\" to "
        "\"elsewhere.jsonl\"), tracing.otlp.headers (from {} to "
        "{authorization: \"***\"})\n";
    (void)state;
    configure("old", "", "");
    arcpd_start(&d);
    configure("old", "",
              "audit: {path: elsewhere.jsonl}\n"
              "tracing: {otlp: {headers: {authorization: hush-hush}}}\n");
    for (size_t times = 1; times < 3; times++) {
        arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
        assert_int_equal(arcpd_log_count(&d, what), times);
    }
    assert_int_equal(arcpd_log_count(&d, "hush-hush"), 0);
    configure("old", "", "");
    arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
    assert_int_equal(arcpd_log_count(&d, "need a restart"), 2);
}

static void an_unchanged_provisioner_is_not_reported_as_changed(void **state)
{
    static const char pool[] = "credentials: {provisioner: static, endpoint: 'https://e', "
                               "values: [hush-one, hush-two]}\n";
    (void)state;
    configure("old", "", pool);
    arcpd_start(&d);
    arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
    assert_int_equal(arcpd_log_count(&d, "need a restart"), 0);
    configure("old", "", "");
    arcpd_reload(&d, "info  reloaded: the new configuration is in effect");
    assert_int_equal(
        arcpd_log_count(&d, "need a restart: credentials.provisioner (from static to none)"), 1);
}

/* A session keeps the profile that it began with; the next session has the new one. */
static void a_reload_changes_the_peer_profiles_of_new_sessions(void **state)
{
    (void)state;
    configure("old", "", "");
    arcpd_start(&d);
    connect_client();
    (void)hello();
    assert_non_null(strstr(submit("nobody", ""), "\"type\":\"job.error\""));
    configure("old", "", "peer_profiles: [{principal: alice, profile: go}]\n");
    arcpd_reload(&d, "reloaded");
    assert_non_null(strstr(submit("nobody", ""), "\"type\":\"job.error\""));
    client_close(&c);
    connect_client();
    (void)hello();
    assert_non_null(strstr(submit("nobody", ""), "\"type\":\"session.error\""));
    configure("old", "", "");
    arcpd_reload(&d, "reloaded");
    client_close(&c);
    connect_client();
    (void)hello();
    assert_non_null(strstr(submit("nobody", ""), "\"type\":\"job.error\""));
}

/* Warnings come at the start, and at a reload for what it changes. */
static void warnings_are_given_at_the_start_and_at_a_reload(void **state)
{
    (void)state;
    configure("x", ", mode: plain, warm: 1", "");
    arcpd_start(&d);
    assert_int_equal(arcpd_log_count(&d, "warm has no effect with mode: plain"), 1);
    configure("x", "", "");
    arcpd_reload(&d, "reloaded");
    assert_int_equal(arcpd_log_count(&d, "warm has no effect with mode: plain"), 1);
    configure("x", ", mode: plain, warm: 1", "");
    arcpd_reload(&d, "reloaded");
    assert_int_equal(arcpd_log_count(&d, "warm has no effect with mode: plain"), 2);
}

/* ---- signals during a reload ---- */

/* Sends SIGHUP, and waits until it has been delivered: two that wait to be are one. */
static void hang_up(void)
{
    char path[64];
    char line[128];
    unsigned long long pending = 1;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)d.pid);
    assert_int_equal(kill(d.pid, SIGHUP), 0);
    while (pending != 0) {
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) != NULL && strncmp(line, "ShdPnd:", 7) != 0) {
        }
        (void)fclose(file);
        pending = strtoull(line + 7, NULL, 16) & (1ULL << (SIGHUP - 1));
    }
}

/* With a reload for each, a stream of signals would keep arcpd from everything else, and from
 * stopping. The first reload waits until the test reads the log. */
static void signals_that_arrive_during_a_reload_have_one_reload_together(void **state)
{
    static char log[262144];
    size_t size = 0;
    ssize_t got;
    int status = 0;
    (void)state;
    configure("old", "", "");
    assert_int_equal(mkfifo(d.errors, 0600), 0);
    const int reader = open(d.errors, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int filler = open(d.errors, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    arcpd_start(&d);
    while (write(filler, "\n", 1) == 1) {
    }
    assert_int_equal(close(filler), 0);
    for (int i = 0; i < 6; i++) {
        hang_up();
    }
    assert_int_equal(kill(d.pid, SIGTERM), 0);
    assert_int_equal(fcntl(reader, F_SETFL, 0), 0);
    while ((got = read(reader, log + size, sizeof log - 1 - size)) > 0) {
        size += (size_t)got;
    }
    assert_int_equal(close(reader), 0);
    assert_int_equal(waitpid(d.pid, &status, 0), d.pid);
    d.pid = 0;
    assert_int_equal(status, 0);
    const char *first = strstr(log, "reloaded: the new");
    assert_non_null(first);
    const char *second = strstr(first + 1, "reloaded: the new");
    assert_true(second == NULL || strstr(second + 1, "reloaded: the new") == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agents_and_policies_are_other_ones_and_running_jobs_go_on,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(warm_processes_of_the_old_command_are_not_used_any_more,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reload_changes_the_peer_profiles_of_new_sessions, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_missing_program_is_reported_at_the_start_and_at_each_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(warnings_are_given_at_the_start_and_at_a_reload, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_log_changes_its_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_that_take_a_restart_are_named_until_they_are_put_back,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unchanged_provisioner_is_not_reported_as_changed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_configuration_changes_no_agents_and_policies,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            signals_that_arrive_during_a_reload_have_one_reload_together, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
