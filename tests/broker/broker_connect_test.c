/* connect on behalf of a confined program: own sockets, the host's, and races between them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker_fixture.h"
#include "support/check.h"

static const char *seconds = "0.4"; /* of each race */

static socklen_t local_address(struct sockaddr_un *out, const char *path)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(out->sun_path, sizeof out->sun_path, "%s", path);
    return sizeof *out;
}

/* A listening socket; -1 and errno. */
static int listen_at(const char *path, int backlog)
{
    struct sockaddr_un address;
    const socklen_t size = local_address(&address, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, backlog) != 0) {
        return -1;
    }
    return fd;
}

/* 0 or an errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un address;
    const socklen_t size = local_address(&address, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int error = connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
    (void)close(fd);
    return error;
}

/* How many connections wait. */
static int count_connections(int listener)
{
    int count = 0;
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    while (poll(&ready, 1, 0) > 0) {
        const int fd = accept(listener, NULL, NULL);
        if (fd >= 0) {
            (void)close(fd);
            count++;
        }
    }
    return count;
}

#define ON_DISK "/var/tmp" /* own sockets are connected to; /tmp may be a tmpfs */

/* ---- own sockets and the host's ---- */

static void connect_to_own(fixture *f, void *user)
{
    (void)user;
    int *values = f->results->values;
    (void)listen_at(fixture_path(f, "private/own"), 8);
    (void)listen_at(fixture_path(f, "work/own"), 8);
    fixture_must(symlink(fixture_path(f, "work/own"), fixture_path(f, "private/link_own")) == 0);
    fixture_must(symlink(fixture_path(f, "work/host"), fixture_path(f, "private/link_host")) == 0);
    values[0] = connect_to(fixture_path(f, "private/own"));
    values[1] = connect_to(fixture_path(f, "work/own"));
    values[2] = connect_to(fixture_path(f, "private/link_own"));
    values[3] = connect_to("private/own"); /* relative */
    values[4] = connect_to(fixture_path(f, "work/host"));
    values[5] = connect_to(fixture_path(f, "private/link_host"));
    values[6] = connect_to(fixture_path(f, "tree/host"));
    values[7] = connect_to(fixture_path(f, "outside/host"));
    values[8] = connect_to(fixture_path(f, "named.sock"));
    values[9] = connect_to(fixture_path(f, "work/none"));
    values[10] = connect_to(fixture_path(f, "work/file.txt"));
}

static void own_sockets_are_connected_and_the_hosts_are_not(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.has_own_net = true;
    fixture_allow(&f, true, "named.sock");
    const int hosts[] = {listen_at("work/host", 8), listen_at("tree/host", 8),
                         listen_at("outside/host", 8)};
    const int named = listen_at("named.sock", 8);
    fixture_run(&f, connect_to_own, NULL);
    const int *values = f.results->values;
    static const int wanted[] = {0,      0,      0, 0,      EACCES,      EACCES,
                                 EACCES, EACCES, 0, ENOENT, ECONNREFUSED};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (values[i] != wanted[i]) {
            fail_msg("connect %zu: %s, wanted %s", i, strerror(values[i]), strerror(wanted[i]));
        }
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(count_connections(hosts[i]), 0);
        (void)close(hosts[i]);
    }
    assert_int_equal(count_connections(named), 1);
    (void)close(named);
    assert_true(fixture_was_denied(&f, "connect", "work/host", 2));
    assert_true(fixture_was_denied(&f, "connect", "tree/host", 1));
    assert_true(fixture_was_denied(&f, "connect", "outside/host", 1));
    fixture_fini(&f);
}

static void connect_to_listening(fixture *f, void *user)
{
    (void)user;
    const int own = listen_at(fixture_path(f, "work/own"), 8);
    fixture_must(own >= 0);
    f->results->values[0] = connect_to(fixture_path(f, "work/own"));
    (void)close(own);
}

/* The tree is the host's: no listings say that the file system is the sandbox's. */
static void sockets_in_a_tmpfs_of_the_host_are_not_connected(void **state)
{
    (void)state;
    fixture f;
    struct statfs about;
    if (statfs("/dev/shm", &about) != 0 || about.f_type != TMPFS_MAGIC) {
        print_message("/dev/shm is not a tmpfs here\n");
        skip();
    }
    fixture_place = "/dev/shm";
    fixture_init(&f);
    fixture_place = ON_DISK;
    f.has_own_net = true;
    fixture_run(&f, connect_to_listening, NULL);
    assert_int_equal(f.results->values[0], EACCES);
    assert_true(fixture_was_denied(&f, "connect", "work/own", 1));
    fixture_fini(&f);
}

/* A socket of the host could have been linked or moved into a private directory. */
static void
without_a_list_of_own_sockets_only_those_that_the_lease_names_are_connected(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_allow(&f, true, "named.sock");
    const int named = listen_at("named.sock", 8);
    fixture_run(&f, connect_to_own, NULL);
    assert_int_equal(f.results->values[0], EACCES);
    assert_int_equal(f.results->values[1], EACCES);
    assert_int_equal(f.results->values[8], 0);
    assert_int_equal(count_connections(named), 1);
    (void)close(named);
    fixture_fini(&f);
}

static void *connect_in_thread(void *user)
{
    fixture *f = user;
    f->results->values[0] = connect_to(fixture_path(f, "private/own"));
    return NULL;
}

static void connect_from_thread(fixture *f, void *user)
{
    (void)user;
    pthread_t thread;
    (void)listen_at(fixture_path(f, "private/own"), 8);
    (void)pthread_create(&thread, NULL, connect_in_thread, f);
    (void)pthread_join(thread, NULL);
}

static void any_thread_of_the_program_connects(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.has_own_net = true;
    f.results->values[0] = -1;
    fixture_run(&f, connect_from_thread, NULL);
    assert_int_equal(f.results->values[0], 0);
    fixture_fini(&f);
}

static void connect_to_internet(fixture *f, void *user)
{
    (void)user;
    int *values = f->results->values;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)bind(server, (struct sockaddr *)&address, size);
    (void)listen(server, 8);
    (void)getsockname(server, (struct sockaddr *)&address, &size);
    values[0] = connect(client, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
    values[1] = connect(client, (struct sockaddr *)&address, 200) == 0 ? 0 : errno;
    values[2] = connect(client, (struct sockaddr *)16, size) == 0 ? 0 : errno;
    values[3] = connect(999, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
    values[4] = connect(0, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
    struct sockaddr_un local;
    const socklen_t local_size = local_address(&local, fixture_path(f, "private/own"));
    const int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    values[5] = connect(stream, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
    const int third = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    values[6] = connect(third, (struct sockaddr *)&local, local_size) == 0 ? 0 : errno;
    values[7] = connect(stream, (struct sockaddr *)&local, 2) == 0 ? 0 : errno;
    /* A name without a file, of the network namespace. */
    const struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0arcp-broker-test"};
    const int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)bind(other, (const struct sockaddr *)&abstract, sizeof abstract);
    (void)listen(other, 8);
    values[8] =
        connect(stream, (const struct sockaddr *)&abstract, sizeof abstract) == 0 ? 0 : errno;
}

static void other_families_are_connected_in_the_namespace(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_run(&f, connect_to_internet, NULL);
    const int *values = f.results->values;
    static const int wanted[] = {0,      EINVAL,       EACCES, EBADF, ENOTSOCK,
                                 EINVAL, EAFNOSUPPORT, EINVAL, 0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (values[i] != wanted[i]) {
            fail_msg("connect %zu: %s, wanted %s", i, strerror(values[i]), strerror(wanted[i]));
        }
    }
    fixture_fini(&f);
}

/* ---- the proxy of level landlock ---- */

/* Listens at an address of the loopback; *port 0: any. */
static int listen_loopback(uint32_t host, uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = {htonl(host)}};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* 0 or an errno. */
static int connect_port(int fd, int family, const char *host, uint16_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    fixture_must(inet_pton(family, host,
                           family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr) ==
                 1);
    const int result = family == AF_INET ? connect(fd, (struct sockaddr *)&four, sizeof four)
                                         : connect(fd, (struct sockaddr *)&six, sizeof six);
    return result == 0 ? 0 : errno;
}

static int connect_new(int family, int flags, const char *host, uint16_t port)
{
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    const int error = fd < 0 ? errno : connect_port(fd, family, host, port);
    (void)close(fd);
    return error;
}

/* The ports of listeners: on 127.0.0.1 the proxy's and another one; 127.0.0.2 has the proxy's. */
typedef struct loopback {
    uint16_t proxy, other;
} loopback;

static void use_proxy(fixture *f, void *user)
{
    const loopback *ports = user;
    int *values = f->results->values;
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(ports->proxy),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const char route[] = {(char)131, 7, 4, 127, 0, 0, 2, 0}; /* loose source route */
    const int one = 1;
    size_t i = 0;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    values[i++] = connect_new(AF_INET, 0, "127.0.0.1", ports->proxy);
    values[i++] = connect_new(AF_INET6, 0, "::ffff:127.0.0.1", ports->proxy);
    values[i++] = connect_new(AF_INET, 0, "127.0.0.1", ports->other);
    values[i++] = connect_new(AF_INET, 0, "127.0.0.2", ports->proxy);
    values[i++] = connect_new(AF_INET, SOCK_NONBLOCK, "127.0.0.2", ports->proxy);
    values[i++] = connect_new(AF_INET, 0, "0.0.0.0", ports->proxy);
    values[i++] = connect_new(AF_INET6, 0, "::ffff:127.0.0.2", ports->proxy);
    values[i++] = connect_new(AF_INET6, 0, "::1", ports->proxy);
    /* A connection is not undone, to be made to another host. */
    values[i++] = connect_port(fd, AF_INET, "127.0.0.1", ports->proxy);
    values[i++] = connect(fd, &none, sizeof none) == 0 ? 0 : errno;
    values[i++] = connect_port(fd, AF_INET, "127.0.0.2", ports->proxy) == 0 ? 0 : EACCES;
    const int next = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    values[i++] = listen(next, 8) == 0 ? 0 : errno;
    values[i++] = bind(next, (const struct sockaddr *)&to, sizeof to) == 0 ? 0 : errno;
    values[i++] =
        sendto(next, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
    values[i++] = setsockopt(next, IPPROTO_IP, IP_OPTIONS, route, sizeof route) == 0 ? 0 : errno;
    values[i++] =
        setsockopt(next, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one) == 0 ? 0 : errno;
    values[i++] = setsockopt(next, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 ? 0 : errno;
    values[i++] = setsockopt(next, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one) == 0 ? 0 : errno;
    values[i++] = socket(AF_INET, SOCK_DGRAM, 0) < 0 ? errno : 0;
    values[i++] = socket(AF_INET, SOCK_STREAM, 262) < 0 ? errno : 0; /* MPTCP */
    /* Local sockets listen as before. */
    values[i++] = listen_at(fixture_path(f, "private/own"), 8) < 0 ? errno : 0;
    values[i++] = listen(0, 8) == 0 ? 0 : errno;
}

static void internet_sockets_are_connected_to_the_proxy_and_nowhere_else(void **state)
{
    (void)state;
    fixture f;
    loopback ports = {0, 0};
    const int proxy = listen_loopback(INADDR_LOOPBACK, &ports.proxy);
    const int other = listen_loopback(INADDR_LOOPBACK, &ports.other);
    const int second = listen_loopback(INADDR_LOOPBACK + 1, &ports.proxy);
    fixture_init(&f);
    f.plan.level = ARCP__SANDBOX_LEVEL_LANDLOCK;
    f.proxy_port = ports.proxy;
    fixture_run(&f, use_proxy, &ports);
    assert_int_equal(f.status, 0);
    static const int wanted[] = {0,       0,     EACCES, EACCES, EACCES, EACCES,          EACCES,
                                 EACCES,  0,     EACCES, EACCES, EACCES, EACCES,          EPERM,
                                 EPERM,   EPERM, 0,      0,      EACCES, EPROTONOSUPPORT, 0,
                                 ENOTSOCK};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (f.results->values[i] != wanted[i]) {
            fail_msg("try %zu: %s, wanted %s", i, strerror(f.results->values[i]),
                     strerror(wanted[i]));
        }
    }
    assert_int_equal(count_connections(proxy), 3);
    assert_int_equal(count_connections(other), 0);
    assert_int_equal(count_connections(second), 0);
    char target[64];
    (void)snprintf(target, sizeof target, "\"target\":\"127.0.0.1:%u\"", (unsigned)ports.other);
    assert_non_null(strstr(f.denials, target));
    assert_int_equal(close(proxy) + close(other) + close(second), 0);
    fixture_fini(&f);
}

/* ---- races ---- */

static bool is_over(const struct timespec *begin)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9 >
           strtod(seconds, NULL);
}

static union {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in internet;
} flipped;
static atomic_bool is_flipping;
static int flipped_fd, sockets[2];

static void *flip_family(void *user)
{
    (void)user;
    while (atomic_load(&is_flipping)) {
        *(volatile sa_family_t *)&flipped.any.sa_family = AF_INET;
        *(volatile sa_family_t *)&flipped.any.sa_family = AF_UNIX;
    }
    return NULL;
}

static void *flip_number(void *user)
{
    (void)user;
    while (atomic_load(&is_flipping)) {
        (void)dup2(sockets[0], flipped_fd);
        (void)dup2(sockets[1], flipped_fd);
    }
    return NULL;
}

/* Connects to the host's socket as long as the race lasts; counts what succeeded. */
static int race(fixture *f, void *(*flip)(void *user))
{
    struct timespec begin;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    (void)local_address(&flipped.local, fixture_path(f, "work/host"));
    atomic_store(&is_flipping, true);
    pthread_t thread;
    (void)pthread_create(&thread, NULL, flip, NULL);
    int tries = 0;
    while (!is_over(&begin)) {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockets[1] = fd;
        (void)connect(flip == flip_number ? flipped_fd : fd, &flipped.any, sizeof flipped.local);
        (void)close(fd);
        tries++;
    }
    atomic_store(&is_flipping, false);
    (void)pthread_join(thread, NULL);
    return tries;
}

static void run_races(fixture *f, void *user)
{
    (void)user;
    sockets[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    flipped_fd = dup(sockets[0]);
    f->results->values[0] = race(f, flip_family);
    f->results->values[1] = race(f, flip_number);
}

static void a_connect_that_changes_meanwhile_reaches_nothing_of_the_host(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    const int host = listen_at("work/host", 4096);
    /* Without the broker the same race reaches it. */
    run_races(&f, NULL);
    assert_true(count_connections(host) > 0);
    fixture_run(&f, run_races, NULL);
    assert_true(f.results->values[0] > 100);
    assert_true(f.results->values[1] > 100);
    assert_int_equal(count_connections(host), 0);
    (void)close(host);
    fixture_fini(&f);
}

/* ---- connects that block ---- */

enum { BLOCKED = 64, WAITING = 72 };

static void block(fixture *f, void *user)
{
    (void)user;
    int *values = f->results->values;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", fixture_path(f, "private/own"));
    const int server = listen_at(path, 0); /* one connection fits */
    int done[2];
    fixture_must(pipe(done) == 0);
    values[0] = connect_to(path);
    pid_t children[WAITING];
    for (int i = 0; i < WAITING; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            const unsigned char error = (unsigned char)connect_to(path);
            fixture_must(write(done[1], &error, 1) == 1);
            _exit(0);
        }
    }
    /* Those beyond the limit are answered, with EAGAIN; all others block. */
    unsigned char error = 0;
    for (int i = 0; i < WAITING - BLOCKED; i++) {
        fixture_must(read(done[0], &error, 1) == 1);
        values[1] += error == EAGAIN;
    }
    values[2] = open(fixture_path(f, "data/a.csv"), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
    for (int i = 0; i < WAITING; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    /* The next connects notice the killed ones, and wake their threads: then one of them blocks
     * instead of getting EAGAIN. Only after that there is a place in the server's queue. */
    struct pollfd ready = {.fd = done[0], .events = POLLIN};
    error = EAGAIN;
    while (error == EAGAIN) {
        const pid_t child = fork();
        if (child == 0) {
            const unsigned char result = (unsigned char)connect_to(path);
            fixture_must(write(done[1], &result, 1) == 1);
            _exit(0);
        }
        if (poll(&ready, 1, 300) == 0) {
            values[3]++; /* it blocks */
            (void)fcntl(server, F_SETFL, O_NONBLOCK);
            while (poll(&ready, 1, 1) == 0) {
                (void)close(accept(server, NULL, NULL));
            }
        }
        fixture_must(read(done[0], &error, 1) == 1);
        (void)waitpid(child, NULL, 0);
    }
    values[4] = error;
}

static void connects_that_block_delay_no_other_call(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.has_own_net = true;
    fixture_run(&f, block, NULL);
    assert_int_equal(f.status, 0);
    assert_int_equal(f.results->values[0], 0);
    assert_int_equal(f.results->values[1], WAITING - BLOCKED);
    assert_int_equal(f.results->values[2], 0);
    assert_int_equal(f.results->values[3], 1);
    assert_int_equal(f.results->values[4], 0);
    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    if (!fixture_is_possible()) {
        (void)puts("skipped: no user namespace, notifications or Landlock here");
        return 0;
    }
    seconds = argc > 1 ? argv[1] : seconds;
    fixture_place = ON_DISK;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_sockets_are_connected_and_the_hosts_are_not),
        cmocka_unit_test(sockets_in_a_tmpfs_of_the_host_are_not_connected),
        cmocka_unit_test(
            without_a_list_of_own_sockets_only_those_that_the_lease_names_are_connected),
        cmocka_unit_test(any_thread_of_the_program_connects),
        cmocka_unit_test(other_families_are_connected_in_the_namespace),
        cmocka_unit_test(internet_sockets_are_connected_to_the_proxy_and_nowhere_else),
        cmocka_unit_test(a_connect_that_changes_meanwhile_reaches_nothing_of_the_host),
        cmocka_unit_test(connects_that_block_delay_no_other_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
