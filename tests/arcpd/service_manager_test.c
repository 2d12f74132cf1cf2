/* What arcpd reports to a service manager (sd_notify(3)). */
#include "arcpd/arcpd_process.h"

#include "support/check.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "service/service_manager.h"

#define PATIENCE_MS 20000

static arcpd_process d;
static int manager = -1; /* the service manager's socket */

/* Binds the socket that arcpd is to report to, and names it in the environment. */
static void listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = strlen(name);
    assert_true(size < sizeof address.sun_path);
    memcpy(address.sun_path, name, size);
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

/* The next report; valid until the one after it. */
static const char *next_report(void)
{
    static char text[256];
    struct pollfd wait = {.fd = manager, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    const ssize_t size = recv(manager, text, sizeof text - 1, 0);
    assert_true(size > 0);
    text[size] = '\0';
    return text;
}

/* The next report that is not one to the watchdog; counts those. */
static const char *next_state(size_t *watchdog)
{
    const char *report = next_report();
    for (; strcmp(report, "WATCHDOG=1") == 0; report = next_report()) {
        ++*watchdog;
    }
    return report;
}

static void start(void)
{
    arcpd_init(&d);
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n"
                        "tokens: [{token: secret, principal: alice}]\n");
    arcpd_start(&d);
}

static void reload(void)
{
    assert_int_equal(kill(d.pid, SIGHUP), 0);
}

static int tear_down(void **state)
{
    (void)state;
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    if (manager >= 0) {
        (void)close(manager);
        manager = -1;
    }
    return 0;
}

static void starts_reloads_and_stops_are_reported_in_order(void **state)
{
    char name[64];
    size_t watchdog = 0;
    (void)state;
    (void)snprintf(name, sizeof name, "@arcp-notify-%d", (int)getpid());
    listen_at(name);
    start();
    assert_string_equal(next_report(), "READY=1");
    reload();
    const char *report = next_report();
    assert_int_equal(strncmp(report, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    assert_true(strtoull(report + 27, NULL, 10) > 0);
    assert_string_equal(next_report(), "READY=1");
    arcpd_fini(&d);
    assert_string_equal(next_state(&watchdog), "STOPPING=1");
    assert_int_equal(watchdog, 0); /* WATCHDOG_USEC is not set */
}

static void a_failed_reload_is_over_as_well(void **state)
{
    char name[64];
    (void)state;
    (void)snprintf(name, sizeof name, "/tmp/arcp-notify-%d", (int)getpid());
    listen_at(name);
    start();
    assert_string_equal(next_report(), "READY=1");
    arcpd_configure(&d, "no_such_key: 1\n");
    reload();
    assert_int_equal(strncmp(next_report(), "RELOADING=1", 11), 0);
    assert_string_equal(next_report(), "READY=1");
    arcpd_fini(&d);
    assert_string_equal(next_report(), "STOPPING=1");
    (void)unlink(name);
}

static void the_watchdog_has_a_report_in_each_period(void **state)
{
    char name[64];
    (void)state;
    (void)snprintf(name, sizeof name, "@arcp-notify-%d", (int)getpid());
    listen_at(name);
    assert_int_equal(setenv("WATCHDOG_USEC", "200000", 1), 0);
    start();
    assert_string_equal(next_report(), "READY=1");
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(next_report(), "WATCHDOG=1");
    }
    arcpd_fini(&d);
}

static void the_watchdog_of_another_process_has_no_reports(void **state)
{
    char name[64];
    size_t watchdog = 0;
    (void)state;
    (void)snprintf(name, sizeof name, "@arcp-notify-%d", (int)getpid());
    listen_at(name);
    assert_int_equal(setenv("WATCHDOG_USEC", "2000", 1), 0);
    assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
    start();
    assert_string_equal(next_report(), "READY=1");
    reload();
    assert_int_equal(strncmp(next_state(&watchdog), "RELOADING=1", 11), 0);
    assert_string_equal(next_state(&watchdog), "READY=1");
    assert_int_equal(watchdog, 0);
    arcpd_fini(&d);
}

/* ---- the environment ---- */

typedef struct environment_row {
    const char *name;
    const char *socket, *period, *process;
    const char *is_socket;
    uint64_t watchdog_us;
} environment_row;

static const environment_row environments[] = {
    {"no service manager", NULL, "1000000", NULL, "", 0},
    {"a path", "/run/x", "1000000", NULL, "/run/x", 1000000},
    {"an abstract socket", "@x", NULL, NULL, "@x", 0},
    {"a relative path", "run/x", "1000000", NULL, "", 0},
    {"a period that is no number", "/run/x", "1s", NULL, "/run/x", 0},
    {"a process that is no number", "/run/x", "1000000", "x", "/run/x", 0},
    {"another process", "/run/x", "1000000", "1", "/run/x", 0},
    {"the longest path",
     "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
     "45678901234567",
     NULL, NULL,
     "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
     "45678901234567",
     0},
    {"a path that is too long",
     "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
     "456789012345678",
     "1000000", NULL, "", 0},
};

static void set(const char *name, const char *value)
{
    assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

static void the_environment_names_the_manager_and_is_not_passed_on(void **state)
{
    const environment_row *row = *state;
    arcp__service_manager found;
    set("NOTIFY_SOCKET", row->socket);
    set("WATCHDOG_USEC", row->period);
    set("WATCHDOG_PID", row->process);
    arcp__service_manager_find(&found);
    assert_string_equal(found.socket, row->is_socket);
    assert_int_equal(found.watchdog_us, row->watchdog_us);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(starts_reloads_and_stops_are_reported_in_order, tear_down),
        cmocka_unit_test_teardown(a_failed_reload_is_over_as_well, tear_down),
        cmocka_unit_test_teardown(the_watchdog_has_a_report_in_each_period, tear_down),
        cmocka_unit_test_teardown(the_watchdog_of_another_process_has_no_reports, tear_down),
    };
    return run_rows(environments, sizeof environments / sizeof *environments, sizeof *environments,
                    the_environment_names_the_manager_and_is_not_passed_on) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
