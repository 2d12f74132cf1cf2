/* What arcp-worker reports to a service manager (sd_notify(3)). */
#include "support/check.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "worker/runtime_end.h"

#define PATIENCE_MS 60000

/* Reports go there. */
static int listen_below(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(manager >= 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", directory);
    assert_int_equal(bind(manager, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    return manager;
}

static void check_report(int manager, const char *wanted)
{
    char text[256];
    struct pollfd waited = {.fd = manager, .events = POLLIN};
    assert_int_equal(poll(&waited, 1, PATIENCE_MS), 1);
    const ssize_t size = recv(manager, text, sizeof text - 1, 0);
    assert_true(size > 0);
    text[size] = '\0';
    assert_memory_equal(text, wanted, strlen(wanted));
}

static void it_reports_its_start_its_reload_and_its_stop(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open(&r);
    const int manager = listen_below(r.state);
    runtime_end_listen(&r);
    runtime_end_spawn_with_store(&r);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    check_report(manager, "READY=1");
    runtime_end_accept(&r);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    runtime_end_run(&r, "j", "echo ${NOTIFY_SOCKET-none}");
    runtime_end_lines(&r, 1, "none\n"); /* no agent speaks for it */
    assert_int_equal(kill(r.worker, SIGHUP), 0);
    check_report(manager, "RELOADING=1\nMONOTONIC_USEC=");
    check_report(manager, "READY=1");
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    check_report(manager, "STOPPING=1");
    (void)close(manager);
    runtime_end_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reports_its_start_its_reload_and_its_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
