/* Signals that stop a real arcpd while a job runs. */
#include "arcpd/arcpd_process.h"

#include "support/check.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define PATIENCE_MS 20000
#define ROUNDS      5

static arcpd_process d;
static blocking_client c;

static int set_up(void **state)
{
    (void)state;
    arcpd_init(&d);
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n"
                        "shutdown: {grace_sec: 3600}\n"
                        "tokens: [{token: secret, principal: alice}]\nagents:\n"
                        "  - {name: wait, command: [sh, -c, 'echo begun; cat >/dev/null']}\n");
    arcpd_start(&d);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    client_close(&c);
    arcpd_fini(&d); /* which checks its exit status */
    return 0;
}

static void await_frame(const char *first, const char *word)
{
    while (strstr(first, word) == NULL) {
        first = client_next(&c);
    }
}

static const char *submit(const char *id)
{
    char frame[512];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                   "\"wait\",\"input\":\"%064d\"}}",
                   id, 0);
    return client_request(&c, frame);
}

static void signal_and_await(int number, const char *word)
{
    assert_int_equal(kill(d.pid, number), 0);
    for (int left = PATIENCE_MS; arcpd_log_count(&d, word) == 0; left -= 10) {
        assert_true(left > 0);
        (void)poll(NULL, 0, 10);
    }
}

static void a_second_signal_ends_the_jobs_that_the_first_one_waits_for(void **state)
{
    (void)state;
    assert_true(client_connect(&c, &d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
    (void)client_hello(&c, "secret");
    await_frame(submit("s"), "\"begun\"");
    signal_and_await(SIGTERM, "stopping on SIGTERM; running jobs have 3600 s to finish");
    await_frame(submit("t"), "\"request_id\":\"t\""); /* it is refused, and the first continues */
    signal_and_await(SIGINT, "SIGINT again: running jobs are ended now");
    await_frame(client_next(&c), "\"job.error\"");
}

static void signals_do_not_kill_it_while_it_ends(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int status = 0;
        size_t sent = 0;
        assert_int_equal(kill(d.pid, SIGTERM), 0);
        while (waitpid(d.pid, &status, WNOHANG) == 0) {
            (void)kill(d.pid, numbers[sent++ % (sizeof numbers / sizeof numbers[0])]);
            (void)poll(NULL, 0, 1); /* more signals would keep it busy for ever */
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            d.pid = 0;
            fail_msg("wait status 0x%x after %zu signals", (unsigned)status, sent);
        }
        arcpd_start(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_signal_ends_the_jobs_that_the_first_one_waits_for,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_do_not_kill_it_while_it_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
