/* What comes up the control socket of a sandbox: what is taken, and all that is refused. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/launcher_control.h"
#include "support/check.h"
#include "support/process_support.h"

typedef struct fixture {
    arcp__launch_control control;
    int other; /* end of arcp-sandbox */
    char records[512];
    char refused[512];
    int sockets[ARCP__LAUNCH_LISTENERS_MAX];
    size_t socket_count, calls;
    size_t ends;
    bool was_open_at_end;
    size_t descriptors; /* before the test */
} fixture;

static void on_record(void *user, arcp_span record)
{
    fixture *f = user;
    const size_t size = strlen(f->records);
    (void)snprintf(f->records + size, sizeof f->records - size, "%.*s;", (int)record.size,
                   record.data);
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    fixture *f = user;
    f->calls++;
    memcpy(f->sockets, sockets, count * sizeof *sockets);
    f->socket_count = count;
}

static void on_refused(void *user, const char *reason)
{
    fixture *f = user;
    (void)snprintf(f->refused, sizeof f->refused, "%s", reason);
}

static void on_ended(void *user)
{
    fixture *f = user;
    f->ends++;
    f->was_open_at_end = fcntl(f->control.fd, F_GETFD) >= 0;
}

static int set_up(void **state)
{
    static fixture f;
    int pair[2];
    f = (fixture){.descriptors = open_descriptors()};
    const arcp__launch_control_events events = {on_record, on_listeners, on_refused, on_ended, &f};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    arcp__launch_control_init(&f.control, pair[0], &events);
    f.other = pair[1];
    *state = &f;
    return 0;
}

/* Nothing that came stays open, but what the callback owns. */
static int tear_down(void **state)
{
    fixture *f = *state;
    arcp__launch_control_fini(&f->control);
    for (size_t i = 0; i < f->socket_count; i++) {
        assert_int_equal(fcntl(f->sockets[i], F_GETFD), FD_CLOEXEC);
        assert_int_equal(close(f->sockets[i]), 0);
    }
    if (f->other >= 0) {
        (void)close(f->other);
    }
    assert_int_equal(open_descriptors(), f->descriptors);
    return 0;
}

#define CONTROL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- the other end ---- */

static void send_with(const fixture *f, const char *text, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(count * sizeof *fds)}};
    const union { /* sendmsg changes nothing there */
        const char *from;
        void *to;
    } bytes = {text};
    struct iovec part = {.iov_base = bytes.to, .iov_len = size};
    struct msghdr datagram = {.msg_iov = &part, .msg_iovlen = 1};
    if (count != 0) {
        memcpy(CMSG_DATA(&control.header), fds, count * sizeof *fds);
        datagram.msg_control = &control;
        datagram.msg_controllen = CMSG_SPACE(count * sizeof *fds);
    }
    assert_int_equal(sendmsg(f->other, &datagram, MSG_DONTWAIT), (ssize_t)size);
}

/* Sends the record, and closes the descriptors here. */
static void send_closing(const fixture *f, const char *text, const int *fds, size_t count)
{
    send_with(f, text, strlen(text), fds, count);
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

typedef enum kind {
    TCP_LISTENER,
    TCP6_LISTENER,
    UDP_SOCKET,
    UDP_UNBOUND,
    TCP_BOUND,
    TCP_CONNECTED,
    TCP_UNBOUND,
    UNIX_LISTENER,
    UNIX_PAIR,
    REGULAR_FILE,
    DIRECTORY,
    PATH_ONLY,
    PIPE
} kind;

static int make_bound(int domain, int type, bool listens)
{
    const int fd = socket(domain, type | SOCK_CLOEXEC, 0);
    const struct sockaddr_in v4 = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    assert_int_equal(domain == AF_INET ? bind(fd, (const void *)&v4, sizeof v4)
                                       : bind(fd, (const void *)&v6, sizeof v6),
                     0);
    assert_int_equal(listens ? listen(fd, 1) : 0, 0);
    return fd;
}

static int make_connected(void)
{
    struct sockaddr_in local;
    socklen_t size = sizeof local;
    const int listener = make_bound(AF_INET, SOCK_STREAM, true);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(getsockname(listener, (void *)&local, &size), 0);
    assert_int_equal(connect(fd, (const void *)&local, sizeof local), 0);
    (void)close(listener);
    return fd;
}

static int make_local(void)
{
    const struct sockaddr_un any = {.sun_family =
                                        AF_UNIX}; /* the kernel chooses an abstract name */
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const void *)&any, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static int make(kind what)
{
    int pair[2] = {-1, -1};
    switch (what) {
    case TCP_LISTENER:
        return make_bound(AF_INET, SOCK_STREAM, true);
    case TCP6_LISTENER:
        return make_bound(AF_INET6, SOCK_STREAM, true);
    case UDP_SOCKET:
        return make_bound(AF_INET, SOCK_DGRAM, false);
    case UDP_UNBOUND:
        return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    case TCP_BOUND:
        return make_bound(AF_INET, SOCK_STREAM, false);
    case TCP_CONNECTED:
        return make_connected();
    case TCP_UNBOUND:
        return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    case UNIX_LISTENER:
        return make_local();
    case UNIX_PAIR:
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        break;
    case REGULAR_FILE:
        return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    case DIRECTORY:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case PATH_ONLY:
        return open("/", O_PATH | O_CLOEXEC);
    case PIPE:
        assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
        break;
    }
    (void)close(pair[1]);
    return pair[0];
}

/* ---- what is taken ---- */

static void records_are_passed_on_in_their_order(void **state)
{
    fixture *f = *state;
    send_closing(f, "{\"running\":true}", NULL, 0);
    send_closing(f, "{\"denied\":\"x\"}", NULL, 0);
    assert_true(arcp__launch_control_take(&f->control));
    assert_string_equal(f->records, "{\"running\":true};{\"denied\":\"x\"};");
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(close(f->other), 0);
    f->other = -1;
    assert_false(arcp__launch_control_take(&f->control));
    assert_false(arcp__launch_control_take(&f->control));
    assert_string_equal(f->refused, "");
}

static void listeners_are_passed_on_when_the_last_ones_are_there(void **state)
{
    fixture *f = *state;
    const int first[] = {make(TCP_LISTENER), make(UDP_SOCKET)};
    const int second[] = {make(TCP6_LISTENER)};
    send_closing(f, "{\"listeners\":2,\"more\":true}", first, 2);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->calls, 0);
    send_closing(f, "{\"listeners\":1}", second, 1);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->socket_count, 3);
    assert_string_equal(f->records, "");
    assert_string_equal(f->refused, "");
}

static void the_secret_of_a_proxy_comes_with_its_listener(void **state)
{
    fixture *f = *state;
    const int proxy[] = {make(TCP_LISTENER)};
    send_closing(f, "{\"listeners\":1,\"secret\":\"0123456789abcdef\"}", proxy, 1);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->calls, 1);
    assert_string_equal(f->control.secret, "0123456789abcdef");
    assert_string_equal(f->refused, "");
}

static void as_many_listeners_as_a_datagram_can_carry_are_taken(void **state)
{
    fixture *f = *state;
    int fds[253];
    for (size_t i = 0; i < 253; i++) {
        fds[i] = make(UDP_SOCKET);
    }
    send_closing(f, "{\"listeners\":253}", fds, 253);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->socket_count, 253);
}

static void sockets_before_the_last_ones_are_closed_at_the_end(void **state)
{
    fixture *f = *state;
    const int fds[] = {make(TCP_LISTENER)};
    send_closing(f, "{\"listeners\":1,\"more\":true}", fds, 1);
    assert_int_equal(close(f->other), 0);
    f->other = -1;
    assert_false(arcp__launch_control_take(&f->control));
    assert_int_equal(f->calls, 0);
}

/* The rest is there at the next call. */
static void a_flood_is_read_in_turns(void **state)
{
    fixture *f = *state;
    size_t sent = 0;
    while (send(f->other, "{}", 2, MSG_DONTWAIT) == 2) {
        sent++;
    }
    assert_true(sent > 64);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(strlen(f->records), 64 * strlen("{};"));
}

static void a_record_may_have_64_kib(void **state)
{
    fixture *f = *state;
    static char text[ARCP__LAUNCH_RECORD_MAX + 1];
    memset(text, ' ', sizeof text);
    text[0] = '{';
    text[sizeof text - 2] = '}';
    send_with(f, text, sizeof text - 1, NULL, 0);
    assert_true(arcp__launch_control_take(&f->control));
    assert_string_equal(f->refused, "");
    assert_int_equal(f->records[0], '{');
    send_with(f, text, sizeof text, NULL, 0);
    assert_true(arcp__launch_control_take(&f->control));
    assert_string_equal(f->refused, "a record is longer than 64 KiB, or has too many descriptors");
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *name;
    const char *text;
    kind fds[3];
    size_t fd_count;
    const char *reason;
} refusal;

#define NO_OBJECT "a record is not a JSON object"
#define NO_NUMBER "the number of listeners is not that of the descriptors"
#define NO_SOCKET "a descriptor is not a listening socket"
#define NO_SECRET "the secret of the proxy is malformed"
#define NO_OWNER  "a record has descriptors and announces none"

static const refusal refusals[] = {
    {"text", "hello", {0}, 0, NO_OBJECT},
    {"an array", "[1]", {0}, 0, NO_OBJECT},
    {"two objects", "{}{}", {0}, 0, NO_OBJECT},
    {"half an object", "{\"running\":", {0}, 0, NO_OBJECT},
    {"a NUL", "", {0}, 0, NO_OBJECT},
    {"text with a descriptor", "hello", {TCP_LISTENER}, 1, NO_OBJECT},
    {"another record with a listener", "{\"running\":true}", {TCP_LISTENER}, 1, NO_OWNER},
    {"no descriptor", "{\"listeners\":1}", {0}, 0, NO_NUMBER},
    {"none announced", "{\"listeners\":0}", {0}, 0, NO_NUMBER},
    {"fewer than announced", "{\"listeners\":2}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"more than announced", "{\"listeners\":1}", {TCP_LISTENER, UDP_SOCKET}, 2, NO_NUMBER},
    {"a negative number", "{\"listeners\":-1}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"a number as a text", "{\"listeners\":\"1\"}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"true", "{\"listeners\":true}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"a fraction", "{\"listeners\":1.5}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"a huge number", "{\"listeners\":18446744073709551617}", {TCP_LISTENER}, 1, NO_NUMBER},
    {"a socket that does not listen", "{\"listeners\":1}", {TCP_BOUND}, 1, NO_SOCKET},
    {"a socket without a port", "{\"listeners\":1}", {TCP_UNBOUND}, 1, NO_SOCKET},
    {"a connection", "{\"listeners\":1}", {TCP_CONNECTED}, 1, NO_SOCKET},
    {"a datagram socket without a port", "{\"listeners\":1}", {UDP_UNBOUND}, 1, NO_SOCKET},
    {"a local socket", "{\"listeners\":1}", {UNIX_LISTENER}, 1, NO_SOCKET},
    {"a connected local socket", "{\"listeners\":1}", {UNIX_PAIR}, 1, NO_SOCKET},
    {"a file", "{\"listeners\":1}", {REGULAR_FILE}, 1, NO_SOCKET},
    {"a directory", "{\"listeners\":1}", {DIRECTORY}, 1, NO_SOCKET},
    {"a path", "{\"listeners\":1}", {PATH_ONLY}, 1, NO_SOCKET},
    {"a pipe", "{\"listeners\":1}", {PIPE}, 1, NO_SOCKET},
    {"a secret of nothing", "{\"listeners\":1,\"secret\":\"\"}", {TCP_LISTENER}, 1, NO_SECRET},
    {"a secret with a line", "{\"listeners\":1,\"secret\":\"a\\n\"}", {TCP_LISTENER}, 1, NO_SECRET},
    {"a secret that is a number", "{\"listeners\":1,\"secret\":1}", {TCP_LISTENER}, 1, NO_SECRET},
    {"a secret that is too long",
     "{\"listeners\":1,\"secret\":"
     "\"00000000000000000000000000000000000000000000000000000000000000000\"}",
     {TCP_LISTENER},
     1,
     NO_SECRET},
    {"one of three", "{\"listeners\":3}", {TCP_LISTENER, PIPE, UDP_SOCKET}, 3, NO_SOCKET},
};

/* The tear-down finds descriptors that are still open. */
static void check_refusal(void **state)
{
    const refusal *row = *state;
    void *own = NULL;
    int fds[3];
    assert_int_equal(set_up(&own), 0);
    fixture *f = own;
    for (size_t i = 0; i < row->fd_count; i++) {
        fds[i] = make(row->fds[i]);
        assert_true(fds[i] >= 0);
    }
    /* An empty datagram would be the end. */
    const size_t size = row->text[0] == '\0' ? 1 : strlen(row->text);
    send_with(f, row->text, size, fds, row->fd_count);
    for (size_t i = 0; i < row->fd_count; i++) {
        (void)close(fds[i]);
    }
    assert_true(arcp__launch_control_take(&f->control));
    assert_string_equal(f->refused, row->reason);
    assert_string_equal(f->records, "");
    assert_int_equal(f->calls, 0);
    /* What follows is read. */
    const int good[] = {make(TCP_LISTENER)};
    send_closing(f, "{\"listeners\":1}", good, 1);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->socket_count, 1);
    assert_int_equal(tear_down(&own), 0);
}

static void listeners_are_taken_once(void **state)
{
    fixture *f = *state;
    const int first[] = {make(TCP_LISTENER)};
    const int second[] = {make(TCP_LISTENER)};
    send_closing(f, "{\"listeners\":1}", first, 1);
    send_closing(f, "{\"listeners\":1}", second, 1);
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->socket_count, 1);
    assert_string_equal(f->refused, "listeners were announced before");
}

static void more_listeners_than_the_limit_are_refused(void **state)
{
    fixture *f = *state;
    int fds[128];
    for (size_t round = 0; round < ARCP__LAUNCH_LISTENERS_MAX / 128; round++) {
        for (size_t i = 0; i < 128; i++) {
            fds[i] = make(UDP_SOCKET);
        }
        send_closing(f, "{\"listeners\":128,\"more\":true}", fds, 128);
        assert_true(arcp__launch_control_take(&f->control));
    }
    assert_string_equal(f->refused, "");
    fds[0] = make(UDP_SOCKET);
    send_closing(f, "{\"listeners\":1}", fds, 1);
    assert_true(arcp__launch_control_take(&f->control));
    assert_string_equal(f->refused, "there are too many listeners");
    assert_int_equal(f->calls, 0);
}

/* The kernel closes what does not fit, and says so. */
static void descriptors_beyond_the_limit_of_the_process_are_refused(void **state)
{
    fixture *f = *state;
    const int fds[] = {make(TCP_LISTENER), make(TCP_LISTENER)};
    int held[256];
    size_t count = 0;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {.rlim_cur = 256, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    send_with(f, "{\"listeners\":2}", strlen("{\"listeners\":2}"), fds, 2);
    while (count < 256 && (held[count] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0)) >= 0) {
        count++;
    }
    assert_true(count > 0 && errno == EMFILE);
    assert_int_equal(close(held[--count]), 0); /* room for one of two */
    const bool goes_on = arcp__launch_control_take(&f->control);
    while (count > 0) {
        (void)close(held[--count]);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(goes_on);
    assert_string_equal(f->refused, "a record is longer than 64 KiB, or has too many descriptors");
    assert_int_equal(f->calls, 0);
}

static void an_empty_datagram_ends_it_and_closes_what_came_with_it(void **state)
{
    fixture *f = *state;
    const int fds[] = {make(TCP_LISTENER)};
    send_closing(f, "", fds, 1);
    assert_false(arcp__launch_control_take(&f->control));
    assert_int_equal(f->control.fd, -1);
}

static void the_end_is_reported_once_while_the_descriptor_is_open(void **state)
{
    fixture *f = *state;
    assert_true(arcp__launch_control_take(&f->control));
    assert_int_equal(f->ends, 0);
    assert_int_equal(close(f->other), 0);
    f->other = -1;
    assert_false(arcp__launch_control_take(&f->control));
    assert_false(arcp__launch_control_take(&f->control));
    assert_int_equal(f->ends, 1);
    assert_true(f->was_open_at_end);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CONTROL_TEST(records_are_passed_on_in_their_order),
        CONTROL_TEST(listeners_are_passed_on_when_the_last_ones_are_there),
        CONTROL_TEST(the_secret_of_a_proxy_comes_with_its_listener),
        CONTROL_TEST(as_many_listeners_as_a_datagram_can_carry_are_taken),
        CONTROL_TEST(sockets_before_the_last_ones_are_closed_at_the_end),
        CONTROL_TEST(a_flood_is_read_in_turns),
        CONTROL_TEST(a_record_may_have_64_kib),
        CONTROL_TEST(listeners_are_taken_once),
        CONTROL_TEST(more_listeners_than_the_limit_are_refused),
        CONTROL_TEST(descriptors_beyond_the_limit_of_the_process_are_refused),
        CONTROL_TEST(an_empty_datagram_ends_it_and_closes_what_came_with_it),
        CONTROL_TEST(the_end_is_reported_once_while_the_descriptor_is_open),
    };
    const int failed =
        run_rows(refusals, sizeof refusals / sizeof *refusals, sizeof *refusals, check_refusal);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
