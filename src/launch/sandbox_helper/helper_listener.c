#include "launch/sandbox_helper/helper_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections that wait to be accepted; a job has at most 256 at once. */
#define BACKLOG 256

/* Linux 4.15; headers may be older. */
#define FREEBIND_OF_IPV6 78

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* Sets *is_ipv6. Not of a family that cannot be had: a protocol that is no part of the kernel. */
static int open_socket(int type, bool *is_ipv6)
{
    const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    int fd = socket(AF_INET6, type | flags, 0);
    *is_ipv6 = fd >= 0;
    if (fd < 0 && errno == EAFNOSUPPORT) {
        fd = socket(AF_INET, type | flags, 0);
    }
    return fd;
}

static bool bind_all(int fd, bool is_ipv6, uint16_t port)
{
    const struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in all_of_ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    return is_ipv6 ? set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) &&
                         bind(fd, (const struct sockaddr *)&all, sizeof all) == 0
                   : bind(fd, (const struct sockaddr *)&all_of_ipv4, sizeof all_of_ipv4) == 0;
}

static int close_failed(int fd)
{
    const int number = errno;
    (void)close(fd);
    errno = number;
    return -1;
}

int arcp__helper_listener_tcp(uint16_t port)
{
    bool is_ipv6;
    const int fd = open_socket(SOCK_STREAM, &is_ipv6);
    if (fd >= 0 && (!bind_all(fd, is_ipv6, port) || listen(fd, BACKLOG) != 0)) {
        return close_failed(fd);
    }
    return fd;
}

int arcp__helper_listener_loopback(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
         listen(fd, BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&address, &size) != 0)) {
        return close_failed(fd);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

int arcp__helper_listener_udp(uint16_t port)
{
    bool is_ipv6;
    const int fd = open_socket(SOCK_DGRAM, &is_ipv6);
    if (fd < 0) {
        return -1;
    }
    const bool reports = is_ipv6 ? set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
                                       set(fd, IPPROTO_IPV6, FREEBIND_OF_IPV6, 1)
                                 : set(fd, IPPROTO_IP, IP_PKTINFO, 1);
    return reports && bind_all(fd, is_ipv6, port) ? fd : close_failed(fd);
}

int arcp__helper_listener_accept(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    return poll(&ready, 1, -1) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}
