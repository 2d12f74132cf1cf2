#include "enforce/input.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "enforce/fixture.h"

long syscall_pidfd_open(pid_t pid)
{
    return syscall(__NR_pidfd_open, pid, 0);
}

typedef int input_open(const char *dir, const fixture_service *service);

static int open_below(const char *dir, const char *name, int flags)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return open(path, flags | O_CLOEXEC);
}

static int directory(const char *dir, const fixture_service *service)
{
    (void)service;
    return open_below(dir, "outside", O_RDONLY | O_DIRECTORY);
}

static int path(const char *dir, const fixture_service *service)
{
    (void)service;
    return open_below(dir, "outside", O_PATH | O_DIRECTORY);
}

static int file(const char *dir, const fixture_service *service)
{
    (void)service;
    return open_below(dir, "read/file", O_RDONLY);
}

static int root(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int device(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

static int network_namespace(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* Connected to the service, or bound here. */
static int internet(const fixture_service *service, int type, bool connects)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr *address = (const struct sockaddr *)&at;
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    at.sin_port = htons(connects ? (uint16_t)service->port : 0);
    const int done = connects ? connect(fd, address, sizeof at) : bind(fd, address, sizeof at);
    return done == 0 ? fd : -1;
}

static int tcp(const char *dir, const fixture_service *service)
{
    (void)dir;
    return internet(service, SOCK_STREAM, true);
}

static int udp(const char *dir, const fixture_service *service)
{
    (void)dir;
    return internet(service, SOCK_DGRAM, true);
}

static int tcp_listener(const char *dir, const fixture_service *service)
{
    (void)dir;
    const int fd = internet(service, SOCK_STREAM, false);
    return fd < 0 || listen(fd, 1) != 0 ? -1 : fd;
}

static int netlink(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int unconnected(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* The kernel gives it a name. */
static int local_listener(const char *dir, const fixture_service *service)
{
    const sa_family_t none = AF_UNIX;
    const int fd = unconnected(dir, service);
    return bind(fd, (const struct sockaddr *)&none, sizeof none) != 0 || listen(fd, 1) != 0 ? -1
                                                                                            : fd;
}

static int one_of_pair(int type)
{
    int ends[2];
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0 ? -1 : ends[0];
}

static int local_stream(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return one_of_pair(SOCK_STREAM);
}

static int local_seqpacket(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return one_of_pair(SOCK_SEQPACKET);
}

static int local_datagram(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return one_of_pair(SOCK_DGRAM);
}

static int event(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return eventfd(0, EFD_CLOEXEC);
}

static int epoll(const char *dir, const fixture_service *service)
{
    (void)service;
    (void)dir;
    return epoll_create1(EPOLL_CLOEXEC);
}

static int process(const char *dir, const fixture_service *service)
{
    (void)dir;
    return (int)syscall_pidfd_open(service->pid);
}

static int pipe_end(const char *dir, const fixture_service *service)
{
    int ends[2];
    (void)service;
    (void)dir;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    (void)close(ends[1]);
    return ends[0];
}

static const struct {
    const char *name;
    input_open *open;
} inputs[] = {
    {"directory", directory},
    {"path", path},
    {"file", file},
    {"root", root},
    {"device", device},
    {"network_namespace", network_namespace},
    {"tcp", tcp},
    {"udp", udp},
    {"tcp_listener", tcp_listener},
    {"netlink", netlink},
    {"unconnected", unconnected},
    {"local_listener", local_listener},
    {"local_stream", local_stream},
    {"local_seqpacket", local_seqpacket},
    {"local_datagram", local_datagram},
    {"event", event},
    {"epoll", epoll},
    {"process", process},
    {"pipe", pipe_end},
};

int escape_input_open(const char *kind, const char *dir, const fixture_service *service)
{
    int fd = kind == NULL ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    for (size_t i = 0; kind != NULL && i < sizeof inputs / sizeof inputs[0]; i++) {
        fd = strcmp(inputs[i].name, kind) == 0 ? inputs[i].open(dir, service) : fd;
    }
    if (fd < 0) {
        err(1, "standard input \"%s\"", kind == NULL ? "null" : kind);
    }
    return fd;
}
