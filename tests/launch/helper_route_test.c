/* Routes and listeners in networks of children's own: with IPv6, where the interface has none, and
 * where the kernel has none. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include "launch/confined_child.h"

#include "launch/sandbox_helper/helper_listener.h"
#include "launch/sandbox_helper/helper_route.h"

enum { NOT_RUN = 200 };

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return fd >= 0 && close(fd) == 0 && done;
}

/* A network of this process's own, with the privileges that arcp-sandbox has in it. */
static bool make_network(void)
{
    char uids[64];
    char gids[64];
    (void)snprintf(uids, sizeof uids, "%u %u 1", geteuid(), geteuid());
    (void)snprintf(gids, sizeof gids, "%u %u 1", getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 &&
           write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", uids) &&
           write_file("/proc/self/gid_map", gids);
}

/* From now on there are no sockets of IPv6, as on a kernel without it. */
static bool forget_ipv6(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool route_all(void)
{
    const int fd = arcp__helper_route_open();
    return fd >= 0 && arcp__helper_route_start(fd) == 0 && arcp__helper_route_all(fd) == 0 &&
           close(fd) == 0;
}

/* Whether a connection to an address arrives, and at which one. */
static bool reaches(int listener, const char *address, const char *seen)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
    struct sockaddr_storage local;
    socklen_t size = sizeof local;
    char text[INET6_ADDRSTRLEN] = "";
    const bool is_v6 = strchr(address, ':') != NULL;
    const int client = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_there = is_v6 ? inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 &&
                                      connect(client, (const void *)&v6, sizeof v6) == 0
                                : inet_pton(AF_INET, address, &v4.sin_addr) == 1 &&
                                      connect(client, (const void *)&v4, sizeof v4) == 0;
    const int taken = is_there ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (taken >= 0 && getsockname(taken, (void *)&local, &size) == 0) {
        (void)inet_ntop(local.ss_family,
                        local.ss_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)&local)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)&local)->sin_addr,
                        text, sizeof text);
    }
    (void)close(client);
    (void)close(taken);
    return strcmp(text, seen) == 0;
}

/* Whether a datagram to an address comes with it, as the control message of this level and type. */
static bool reports(int fd, const char *address, int level, int type)
{
    char byte;
    union {
        struct cmsghdr header;
        char bytes[256];
    } extra;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
    const int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool is_sent = inet_pton(AF_INET, address, &to.sin_addr) == 1 &&
                         sendto(client, "q", 1, 0, (const void *)&to, sizeof to) == 1;
    const bool is_there = is_sent && recvmsg(fd, &message, 0) == 1;
    const struct cmsghdr *header = is_there ? CMSG_FIRSTHDR(&message) : NULL;
    (void)close(client);
    return header != NULL && header->cmsg_level == level && header->cmsg_type == type;
}

static int try_both_families(void *unused)
{
    (void)unused;
    if (!make_network()) {
        return NOT_RUN;
    }
    const bool is_made = route_all();
    const int tcp = arcp__helper_listener_tcp(80);
    const int udp = arcp__helper_listener_udp(53);
    return is_made && reaches(tcp, "198.51.100.1", "::ffff:198.51.100.1") &&
                   reaches(tcp, "2001:db8::1", "2001:db8::1") &&
                   reports(udp, "9.9.9.9", IPPROTO_IPV6, IPV6_PKTINFO)
               ? 0
               : 1;
}

static int try_interface_without_ipv6(void *unused)
{
    (void)unused;
    if (!make_network() || !write_file("/proc/sys/net/ipv6/conf/lo/disable_ipv6", "1")) {
        return NOT_RUN;
    }
    const bool is_made = route_all();
    const int tcp = arcp__helper_listener_tcp(80);
    return is_made && reaches(tcp, "198.51.100.1", "::ffff:198.51.100.1") &&
                   reaches(tcp, "2001:db8::1", "")
               ? 0
               : 1;
}

static int try_kernel_without_ipv6(void *unused)
{
    (void)unused;
    if (!make_network() || !forget_ipv6()) {
        return NOT_RUN;
    }
    const bool is_made = route_all();
    const int tcp = arcp__helper_listener_tcp(80);
    const int udp = arcp__helper_listener_udp(53);
    return is_made && reaches(tcp, "198.51.100.1", "198.51.100.1") &&
                   reports(udp, "9.9.9.9", IPPROTO_IP, IP_PKTINFO)
               ? 0
               : 1;
}

static int try_errors(void *unused)
{
    (void)unused;
    if (!make_network()) {
        return NOT_RUN;
    }
    const int fd = arcp__helper_route_open();
    /* Nothing can be routed to an interface that is down; what is there is not made again. */
    if (arcp__helper_route_all(fd) != ENETDOWN || arcp__helper_route_start(fd) != 0 ||
        arcp__helper_route_all(fd) != EEXIST) {
        return 1;
    }
    const int first = arcp__helper_listener_tcp(80);
    const int second = arcp__helper_listener_tcp(80);
    if (first < 0 || second >= 0 || errno != EADDRINUSE) {
        return 2;
    }
    const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    return arcp__helper_route_start(none) == ENOTSOCK ? 0 : 3;
}

/* In the network of the host, for a user that has no right to change it. */
static int try_without_privilege(void *unused)
{
    (void)unused;
    const int fd = arcp__helper_route_open();
    return arcp__helper_route_start(fd) == EPERM && arcp__helper_route_all(fd) == EPERM ? 0 : 1;
}

/* With TCP_DEFER_ACCEPT the kernel ignores the end of the client's handshake until it has sent its
 * own part once more, after a second: to the listener the connection comes later than to the
 * client, as on a busy host. */
static int try_late_connection(void *unused)
{
    (void)unused;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int defers = 1;
    uint16_t port;
    const int listener = arcp__helper_listener_loopback(&port);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_port = htons(port);
    if (setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defers, sizeof defers) != 0 ||
        connect(client, (const void *)&to, sizeof to) != 0) {
        return 1;
    }
    if (accept4(listener, NULL, NULL, SOCK_CLOEXEC) >= 0 || errno != EAGAIN) {
        return 2; /* it is not late */
    }
    return arcp__helper_listener_accept(listener) >= 0 ? 0 : 3;
}

static void check(int (*trial)(void *))
{
    const int results[] = {child_result(trial, NULL, false),
                           child_result(trial, NULL, geteuid() == 0)};
    if (results[0] == NOT_RUN || results[1] == NOT_RUN) {
        (void)fprintf(stderr, "NOT RUN: this host gives no network of one's own\n");
        skip();
    }
    assert_int_equal(results[0], 0);
    assert_int_equal(results[1], 0);
}

static void every_address_of_both_families_is_served(void **state)
{
    (void)state;
    check(try_both_families);
}

static void an_interface_without_ipv6_serves_ipv4(void **state)
{
    (void)state;
    check(try_interface_without_ipv6);
}

static void a_kernel_without_ipv6_serves_ipv4(void **state)
{
    (void)state;
    check(try_kernel_without_ipv6);
}

static void what_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    check(try_errors);
}

static void a_connection_that_comes_late_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(child_result(try_late_connection, NULL, false), 0);
}

static void nothing_is_changed_without_privilege(void **state)
{
    (void)state;
    assert_int_equal(child_result(try_without_privilege, NULL, geteuid() == 0), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_of_both_families_is_served),
        cmocka_unit_test(an_interface_without_ipv6_serves_ipv4),
        cmocka_unit_test(a_kernel_without_ipv6_serves_ipv4),
        cmocka_unit_test(what_cannot_be_made_is_an_error),
        cmocka_unit_test(a_connection_that_comes_late_is_waited_for),
        cmocka_unit_test(nothing_is_changed_without_privilege),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
