/* The listeners of a sandbox's network are handed over to the process that started it, and to no
 * other; a reader that does not take them ends the start. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/sandbox_net_fixture.h"

static bool has_socket(const net_world *w, int type, unsigned port)
{
    for (size_t i = 0; i < w->count; i++) {
        if (net_type_of(w->listeners[i].fd) == type && net_port_of(w->listeners[i].fd) == port) {
            return true;
        }
    }
    return false;
}

static void all_listeners_are_handed_over_in_as_many_datagrams_as_it_takes(void **state)
{
    static uint16_t ports[ARCP__SANDBOX_PORTS_MAX];
    static net_world w;
    static const char *const argv[] = {"/bin/true", NULL};
    sandbox_fixture *f = *state;
    for (size_t i = 0; i < ARCP__SANDBOX_PORTS_MAX; i++) {
        ports[i] = (uint16_t)(10000 + i);
    }
    net_use_ports(f, ports, ARCP__SANDBOX_PORTS_MAX);
    w = (net_world){.f = f};
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    arcp_process *process = net_start(&w, argv, null);
    (void)close(null);
    net_await_listeners(&w);
    assert_int_equal(w.count, ARCP__SANDBOX_PORTS_MAX + 3);
    assert_true(has_socket(&w, SOCK_DGRAM, 53) && has_socket(&w, SOCK_STREAM, 53) &&
                has_socket(&w, SOCK_STREAM, 3128));
    for (size_t i = 0; i < ARCP__SANDBOX_PORTS_MAX; i++) {
        assert_true(has_socket(&w, SOCK_STREAM, ports[i]));
    }
    net_finish(&w, process);
    assert_int_equal(f->end.code, 0);
}

/* The sockets of a process that are one of the listeners. */
static size_t listeners_of(const net_world *w, pid_t pid)
{
    char path[64];
    size_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        struct stat one;
        struct stat other;
        for (size_t i = 0; i < w->count; i++) {
            found += fstatat(dirfd(entries), entry->d_name, &one, 0) == 0 &&
                     fstat(w->listeners[i].fd, &other) == 0 && one.st_ino == other.st_ino &&
                     one.st_dev == other.st_dev;
        }
    }
    (void)closedir(entries);
    return found;
}

static void no_process_of_the_sandbox_keeps_a_listener(void **state)
{
    static net_world w;
    static const char *const argv[] = {"/bin/cat", NULL};
    sandbox_fixture *f = *state;
    int out[2];
    int in[2];
    if (geteuid() != 0) {
        (void)fprintf(stderr, "NOT RUN: only root sees the descriptors of arcp-sandbox\n");
        skip();
    }
    net_use_ports(f, net_web, 3);
    w = (net_world){.f = f};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    arcp__launch_control_events events = net_events(&w);
    int control = -1;
    f->spec.stdin_fd = in[0];
    f->spec.stdout_fd = f->spec.stderr_fd = out[1];
    arcp_buf_clear(&f->records);
    arcp_process *process = sandbox_start(f, argv, &control);
    arcp__launch_control_init(&w.control, control, &events);
    f->spec.stdin_fd = -1;
    (void)close(in[0]);
    (void)close(out[1]);
    net_await_listeners(&w);
    char byte;
    assert_int_equal(write(in[1], "x", 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1); /* now the program runs */
    assert_int_equal(listeners_of(&w, getpid()), w.count);
    assert_int_equal(listeners_of(&w, process->pid), 0);
    char command[128];
    char list[64] = "";
    (void)snprintf(command, sizeof command, "pgrep -P %d", (int)process->pid);
    FILE *children = popen(command, "re"); /* NOLINT(cert-env33-c): of the system */
    assert_non_null(fgets(list, sizeof list, children));
    (void)pclose(children);
    assert_int_equal(listeners_of(&w, number_in(list)), 0);
    (void)close(in[1]);
    (void)close(out[0]);
    net_finish(&w, process);
}

/* Starts a program that leaves a mark, with the end of a control socket; closes that. */
static arcp_process *start_marking(sandbox_fixture *f, int control)
{
    static const char *const argv[] = {"/bin/sh", "-c", ": > ran", NULL};
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
        open("/dev/null", O_RDWR | O_CLOEXEC);
    arcp_process *process = sandbox_start_on(f, argv, control);
    (void)close(f->spec.stdin_fd);
    (void)close(control);
    return process;
}

static void expect_end(sandbox_fixture *f, arcp_process *process, int code)
{
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    assert_true(f->end.is_known && !f->end.by_signal);
    assert_int_equal(f->end.code, code);
    sandbox_outside("%s test -e %s/ran", code == 0 ? "" : "!", f->tree);
}

static void a_reader_that_has_closed_its_end_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    int pair[2];
    net_use_ports(f, net_web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    (void)close(pair[0]);
    expect_end(f, start_marking(f, pair[1]), 125);
}

static bool send_descriptor(int to, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(sizeof fd)}};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == 1;
}

static size_t fill(int control)
{
    size_t count = 0;
    while (send(control, "{}", 2, MSG_DONTWAIT) == 2) {
        count++;
    }
    return count;
}

static void a_reader_that_is_late_is_waited_for(void **state)
{
    sandbox_fixture *f = *state;
    char bytes[64];
    int pair[2];
    net_use_ports(f, net_web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    size_t count = fill(pair[1]);
    arcp_process *process = start_marking(f, pair[1]);
    while (count-- > 0) {
        assert_int_equal(recv(pair[0], bytes, sizeof bytes, 0), 2);
    }
    expect_end(f, process, 0);
    (void)close(pair[0]);
}

/* What other sandboxes of the user have sent counts, too, until it is read. */
static void descriptors_on_their_way_to_others_are_waited_for(void **state)
{
    sandbox_fixture *f = *state;
    struct rlimit before;
    int pair[2];
    int others[2];
    char byte;
    net_use_ports(f, net_web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, others), 0);
    for (size_t i = 0; i < 40; i++) {
        assert_true(send_descriptor(others[1], STDERR_FILENO));
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {.rlim_cur = 32, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    arcp_process *process = start_marking(f, pair[1]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(recv(others[0], &byte, 1, 0), 1);
    }
    expect_end(f, process, 0);
    (void)close(pair[0]);
    (void)close(others[0]);
    (void)close(others[1]);
}

static void a_reader_that_never_reads_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    int pair[2];
    net_use_ports(f, net_web, 3);
    if (geteuid() != 0) {
        skip(); /* it takes seconds, and is the same for every user */
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    (void)fill(pair[1]);
    expect_end(f, start_marking(f, pair[1]), 125);
    (void)close(pair[0]);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(all_listeners_are_handed_over_in_as_many_datagrams_as_it_takes),
        SANDBOX_TEST(no_process_of_the_sandbox_keeps_a_listener),
        SANDBOX_TEST(a_reader_that_has_closed_its_end_ends_the_start),
        SANDBOX_TEST(a_reader_that_is_late_is_waited_for),
        SANDBOX_TEST(descriptors_on_their_way_to_others_are_waited_for),
        SANDBOX_TEST(a_reader_that_never_reads_ends_the_start),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
