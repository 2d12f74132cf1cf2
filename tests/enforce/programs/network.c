/* Acts that reach services of the host by a socket. Every service greets with the secret. */
#include "enforce/programs/escape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { MULTIPATH = 262 };

typedef struct place {
    struct sockaddr_storage address;
    socklen_t size;
} place;

static int place_of(const char *host, const char *port, place *out)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return EINVAL;
    }
    (void)memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

/* `abstract`: the name has no place in the file system. */
static int local_place(const char *path, bool abstract, place *out)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const size_t size = strlen(path);
    if (size + 2 > sizeof local.sun_path) {
        return ENAMETOOLONG;
    }
    (void)memcpy(local.sun_path + (abstract ? 1 : 0), path, size);
    (void)memcpy(&out->address, &local, sizeof local);
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    return 0;
}

static int greet(int family, int type, int protocol, const place *to)
{
    const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to->address, to->size) != 0) {
        return errno;
    }
    return escape_show(fd);
}

int escape_tcp(char **argv)
{
    place to = {.size = 0};
    const int number = place_of(argv[0], argv[1], &to);
    return number != 0 ? number : greet(to.address.ss_family, SOCK_STREAM, 0, &to);
}

int escape_multipath(char **argv)
{
    place to = {.size = 0};
    const int number = place_of("127.0.0.1", argv[0], &to);
    return number != 0 ? number : greet(AF_INET, SOCK_STREAM, MULTIPATH, &to);
}

static int send_to(int fd, const place *to, const char *text, int flags)
{
    return escape_result(fd < 0 ? fd
                                : sendto(fd, text, strlen(text), flags,
                                         (const struct sockaddr *)&to->address, to->size));
}

/* The service writes a file at the path that it is sent. */
int escape_udp(char **argv)
{
    place to = {.size = 0};
    const int number = place_of(argv[0], argv[1], &to);
    return number != 0 ? number
                       : send_to(socket(to.address.ss_family, SOCK_DGRAM, 0), &to, argv[2], 0);
}

int escape_fast_open(char **argv)
{
    place to = {.size = 0};
    const int number = place_of("127.0.0.1", argv[0], &to);
    const int fd = number != 0 ? -1 : socket(AF_INET, SOCK_STREAM, 0);
    const int sent = number != 0 ? number : send_to(fd, &to, "x", MSG_FASTOPEN);
    return sent != 0 ? sent : escape_show(fd);
}

int escape_local(char **argv)
{
    place to = {.size = 0};
    const int number = local_place(argv[0], false, &to);
    return number != 0 ? number : greet(AF_UNIX, SOCK_STREAM, 0, &to);
}

/* With memory that only the kernel may read. */
int escape_private_memory_local(char **argv)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return escape_local(argv);
}

int escape_local_seqpacket(char **argv)
{
    place to = {.size = 0};
    const int number = local_place(argv[0], false, &to);
    return number != 0 ? number : greet(AF_UNIX, SOCK_SEQPACKET, 0, &to);
}

int escape_abstract(char **argv)
{
    place to = {.size = 0};
    const int number = local_place(argv[0], true, &to);
    return number != 0 ? number : greet(AF_UNIX, SOCK_STREAM, 0, &to);
}

int escape_datagram(char **argv)
{
    place to = {.size = 0};
    const int number = local_place(argv[0], false, &to);
    return number != 0 ? number : send_to(socket(AF_UNIX, SOCK_DGRAM, 0), &to, argv[1], 0);
}

/* An end of a pair is connected, and sends to any path all the same. */
int escape_datagram_pair(char **argv)
{
    int ends[2] = {-1, -1};
    place to = {.size = 0};
    const int number = local_place(argv[0], false, &to);
    if (number != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) {
        return number != 0 ? number : errno;
    }
    return send_to(ends[0], &to, argv[1], 0);
}

/* The kernel makes a datagram socket of this type. */
int escape_datagram_raw(char **argv)
{
    place to = {.size = 0};
    const int number = local_place(argv[0], false, &to);
    return number != 0 ? number : send_to(socket(AF_UNIX, SOCK_RAW, 0), &to, argv[1], 0);
}

/* The address whose family another thread changes while connect reads it. */
struct flip {
    struct sockaddr_un address;
    atomic_bool ends;
};

static void *flip_family(void *argument)
{
    struct flip *flip = argument;
    volatile sa_family_t *family = &flip->address.sun_family;
    while (!atomic_load(&flip->ends)) {
        *family = AF_INET;
        *family = AF_UNIX;
    }
    return NULL;
}

/* For argv[1] milliseconds: connects a local socket to the path, and the address is at times one of
 * another family. */
int escape_flip_family(char **argv)
{
    static struct flip flip = {.address = {.sun_family = AF_UNIX}};
    pthread_t thread;
    const long begin = escape_now_ms();
    const long ms = escape_number(argv[1]);
    bool reached = false;
    (void)snprintf(flip.address.sun_path, sizeof flip.address.sun_path, "%s", argv[0]);
    if (pthread_create(&thread, NULL, flip_family, &flip) != 0) {
        return escape_unable("no thread can be started");
    }
    while (!reached && escape_now_ms() - begin < ms) {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        reached = fd >= 0 &&
                  connect(fd, (const struct sockaddr *)&flip.address, sizeof flip.address) == 0 &&
                  escape_show(fd) == 0;
        (void)(reached || fd < 0 ? 0 : close(fd));
    }
    atomic_store(&flip.ends, true);
    (void)pthread_join(thread, NULL);
    return reached ? 0 : EACCES;
}

int escape_socket(char **argv)
{
    return escape_result(socket((int)escape_number(argv[0]), (int)escape_number(argv[1]),
                                (int)escape_number(argv[2])));
}

/* The kernel reads 32 bits of each argument: a filter that compares 64 is passed by these. */
int escape_socket_high(char **argv)
{
    const unsigned long high = 1UL << 32;
    return escape_result(syscall(__NR_socket, high | (unsigned long)escape_number(argv[0]),
                                 high | (unsigned long)escape_number(argv[1]),
                                 high | (unsigned long)escape_number(argv[2])));
}

/* Done when an interface other than the loopback has an address. */
int escape_interfaces(char **argv)
{
    (void)argv;
    struct ifaddrs *first = NULL;
    bool found = false;
    if (getifaddrs(&first) != 0) {
        return errno;
    }
    for (const struct ifaddrs *at = first; at != NULL; at = at->ifa_next) {
        found = found || (at->ifa_flags & IFF_LOOPBACK) == 0;
    }
    freeifaddrs(first);
    return found ? 0 : ENODEV;
}

/* In the place of a service that programs of the host look for by a name. */
int escape_listen_abstract(char **argv)
{
    place at = {.size = 0};
    const int number = local_place(argv[0], true, &at);
    const int fd = number != 0 ? -1 : socket(AF_UNIX, (int)escape_number(argv[1]), 0);
    if (number != 0 || fd < 0 || bind(fd, (const struct sockaddr *)&at.address, at.size) != 0) {
        return number != 0 ? number : errno;
    }
    return escape_result(listen(fd, 4));
}

static int serve(int family, place *at)
{
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at->address, at->size) != 0 ||
        listen(fd, 4) != 0) {
        return errno;
    }
    at->size = sizeof at->address;
    if (family != AF_UNIX && getsockname(fd, (struct sockaddr *)&at->address, &at->size) != 0) {
        return errno;
    }
    at->size = family == AF_UNIX ? sizeof(struct sockaddr_un) : at->size;
    const int other = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return escape_result(
        other < 0 ? other : connect(other, (const struct sockaddr *)&at->address, at->size));
}

/* A server of the program's own, on its own loopback. */
int escape_own_server(char **argv)
{
    (void)argv;
    place at = {.size = 0};
    const int number = place_of("127.0.0.1", "0", &at);
    return number != 0 ? number : serve(AF_INET, &at);
}

int escape_own_local_server(char **argv)
{
    place at = {.size = 0};
    const int number = local_place(argv[0], false, &at);
    return number != 0 ? number : serve(AF_UNIX, &at);
}

int escape_pair(char **argv)
{
    (void)argv;
    int ends[2];
    return escape_result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
}
