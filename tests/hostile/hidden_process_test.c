/* An agent starts a process that shares nothing with it: no process group, no session, no
 * environment, no parent. It is killed at the end of the job if each job has a cgroup, and when
 * arcpd stops in any case. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "support/check.h"

#include "launch/cgroups.h"

#define AGENT "hide=" ARCP_SOURCE_DIR "/tests/hostile/agents/hide.sh"

static bool cgroups_can_be_made(void)
{
    arcp__cgroups *cgroups = arcp__cgroups_open();
    arcp__cgroups_close(cgroups);
    return cgroups != NULL;
}

static void await_end(pid_t pid)
{
    for (int round = 0; kill(pid, 0) == 0; round++) {
        assert_true(round < WIRE_PATIENCE_MS / 10);
        (void)poll(NULL, 0, 10);
    }
}

static void a_hidden_process_is_killed_with_its_job_or_with_arcpd(void **state)
{
    (void)state;
    daemon_state d;
    wire w;
    wire_session session;
    daemon_begin(&d, &(daemon_options){.store = "memory:", .agents = {AGENT}});
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    wire_send(&w, "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                  "\"hide\"}}");
    const arcp_span result = wire_await_type(&w, "job.result");
    const char *number = memmem(result.data, result.size, "pid ", 4);
    assert_non_null(number);
    const pid_t pid = (pid_t)strtol(number + 4, NULL, 10);
    assert_true(pid > 1);
    if (cgroups_can_be_made()) {
        await_end(pid);
    }
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    await_end(pid);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hidden_process_is_killed_with_its_job_or_with_arcpd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
