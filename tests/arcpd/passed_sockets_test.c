/* Sockets that a service manager passes to arcpd (sd_listen_fds(3)). */
#include "arcpd/arcpd_process.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcpd/arcpd.h"

/* Above the numbers at which they are passed. */
#define FIRST_FREE 10

/* A listening socket at a port of 127.0.0.1 that the system picks. */
static int listen_anywhere(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int fd = fcntl(made, F_DUPFD_CLOEXEC, FIRST_FREE);
    assert_true(fd >= 0);
    (void)close(made);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void configure(const arcpd_process *d, int port)
{
    arcpd_configure(d,
                    "listen: [\"ws://127.0.0.1:%d/arcp\"]\nstore: \"memory:\"\n"
                    "tokens: [{token: secret, principal: alice}]\n",
                    port);
}

static void expect_welcome(const arcpd_process *d)
{
    blocking_client c;
    assert_true(client_connect(&c, d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
    assert_non_null(strstr(client_hello(&c, "secret"), "\"session.welcome\""));
    client_close(&c);
}

static void a_passed_socket_serves_the_url_at_its_address(void **state)
{
    arcpd_process d;
    int port = 0;
    const int fd = listen_anywhere(&port); /* held meanwhile, so that it cannot be bound anew */
    (void)state;
    arcpd_init(&d);
    configure(&d, port);
    d.passed = &fd;
    d.passed_count = 1;
    arcpd_start(&d);
    assert_int_equal(d.port, port);
    expect_welcome(&d);
    arcpd_fini(&d);
    (void)close(fd);
}

/* Two sockets, in the other order than the URLs, and a URL without one. */
static void each_url_takes_the_socket_at_its_address_and_the_rest_are_opened(void **state)
{
    arcpd_process d;
    int ports[2];
    const int fds[2] = {listen_anywhere(&ports[0]), listen_anywhere(&ports[1])};
    (void)state;
    arcpd_init(&d);
    arcpd_configure(&d,
                    "listen: [\"ws://127.0.0.1:%d/a\", \"ws://127.0.0.1:0/b\", "
                    "\"ws://127.0.0.1:%d/arcp\"]\nstore: \"memory:\"\n"
                    "tokens: [{token: secret, principal: alice}]\n",
                    ports[1], ports[0]);
    d.passed = fds;
    d.passed_count = 2;
    arcpd_start(&d);
    assert_int_equal(d.port, ports[0]); /* the last one of the ready line */
    expect_welcome(&d);
    arcpd_fini(&d);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void a_client_that_connects_between_two_lives_of_arcpd_is_served(void **state)
{
    arcpd_process d;
    int port = 0;
    const int fd = listen_anywhere(&port);
    blocking_client waiting;
    (void)state;
    arcpd_init(&d);
    configure(&d, port);
    d.passed = &fd;
    d.passed_count = 1;
    d.port = port;
    assert_true(client_connect(&waiting, &d, NULL, 0)); /* there is no arcpd yet */
    arcpd_start(&d);
    assert_int_equal(client_upgrade(&waiting, "127.0.0.1", ""), 101);
    assert_non_null(strstr(client_hello(&waiting, "secret"), "\"session.welcome\""));
    client_close(&waiting);
    arcpd_fini(&d);
    (void)close(fd);
}

static void a_socket_at_another_address_is_refused(void **state)
{
    arcpd_process d;
    int port = 0;
    char said[128];
    const int fd = listen_anywhere(&port);
    (void)state;
    arcpd_init(&d);
    configure(&d, 0);
    d.passed = &fd;
    d.passed_count = 1;
    assert_int_equal(arcpd_start_refused(&d, NULL), 2);
    (void)snprintf(said, sizeof said, "passed a socket at 127.0.0.1:%d: expected", port);
    assert_int_equal(arcpd_log_count(&d, said), 1);
    arcpd_fini(&d);
    (void)close(fd);
}

static void a_descriptor_that_is_no_tcp_socket_is_refused(void **state)
{
    arcpd_process d;
    int pair[2];
    int fd = -1;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    fd = fcntl(pair[0], F_DUPFD_CLOEXEC, FIRST_FREE);
    arcpd_init(&d);
    configure(&d, 0);
    d.passed = &fd;
    d.passed_count = 1;
    assert_int_equal(arcpd_start_refused(&d, NULL), 2);
    assert_int_equal(arcpd_log_count(&d, "descriptor 3, which is no TCP socket"), 1);
    arcpd_fini(&d);
    (void)close(fd);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* ---- the environment ---- */

typedef struct environment_row {
    const char *name;
    const char *process; /* "": this one */
    const char *count;
    size_t found;
    bool has_more;
} environment_row;

static const environment_row environments[] = {
    {"nothing is passed", NULL, NULL, 0, false},
    {"one", "", "1", 1, false},
    {"as many as are taken", "", "64", 64, false},
    {"one more than are taken", "", "65", 64, true},
    {"more than are open", "", "18446744073709551615", 64, true},
    {"a count that is no number", "", "1x", 0, false},
    {"a count without a process", NULL, "1", 0, false},
    {"a process that is no number", "x", "1", 0, false},
    {"sockets of another process", "1", "1", 0, false},
};

static void the_environment_says_how_many_sockets_there_are_and_is_not_passed_on(void **state)
{
    const environment_row *row = *state;
    arcp__passed_sockets found;
    char self[16];
    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    if (row->process != NULL) {
        (void)setenv("LISTEN_PID", row->process[0] == '\0' ? self : row->process, 1);
    }
    if (row->count != NULL) {
        (void)setenv("LISTEN_FDS", row->count, 1);
    }
    (void)setenv("LISTEN_FDNAMES", "a", 1);
    arcp__passed_sockets_find(&found);
    assert_int_equal(found.count, row->found);
    assert_int_equal(found.has_more, row->has_more);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.fds[i], 3 + (int)i);
        assert_int_equal(fcntl(found.fds[i], F_GETFD), FD_CLOEXEC);
    }
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_FDNAMES"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_passed_socket_serves_the_url_at_its_address),
        cmocka_unit_test(each_url_takes_the_socket_at_its_address_and_the_rest_are_opened),
        cmocka_unit_test(a_client_that_connects_between_two_lives_of_arcpd_is_served),
        cmocka_unit_test(a_socket_at_another_address_is_refused),
        cmocka_unit_test(a_descriptor_that_is_no_tcp_socket_is_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int fd = 3; fd < 3 + (int)ARCP__PASSED_SOCKETS_MAX + 1; fd++) {
        (void)dup2(STDERR_FILENO, fd); /* so that each number is open */
    }
    return failed + run_rows(environments, sizeof environments / sizeof *environments,
                             sizeof *environments,
                             the_environment_says_how_many_sockets_there_are_and_is_not_passed_on);
}
