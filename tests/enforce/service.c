/* Services and processes of the host, which a confined program must not reach. */
#include "enforce/fixture.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOCKETS_MAX = 16 };

static struct {
    int fd;
    bool listens; /* else it receives datagrams */
} sockets[SOCKETS_MAX];
static size_t socket_count;

static void add_socket(int fd, bool listens)
{
    if (fd < 0 || socket_count == SOCKETS_MAX || (listens && listen(fd, 256) != 0)) {
        err(1, "a socket of the service");
    }
    sockets[socket_count].fd = fd;
    sockets[socket_count].listens = listens;
    socket_count++;
}

static int bound(int family, int type, const void *address, socklen_t size)
{
    const int on = 1;
    const int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && family != AF_UNIX) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    return fd < 0 || bind(fd, address, size) != 0 ? -1 : fd;
}

static void add_local(const char *name, bool is_abstract, int type)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const size_t size = strlen(name);
    if (size + 2 > sizeof at.sun_path) {
        errx(1, "the path of a socket is too long: %s", name);
    }
    (void)memcpy(at.sun_path + (is_abstract ? 1 : 0), name, size);
    add_socket(
        bound(AF_UNIX, type, &at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1)),
        type != SOCK_DGRAM);
}

/* A TCP and a UDP socket with the same number; 0 where the family is missing. */
static unsigned add_internet(int family)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const bool is_v4 = family == AF_INET;
    void *address = is_v4 ? (void *)&v4 : &v6;
    const socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
    const int backlog = 16;
    for (int i = 0; i < 16; i++) {
        socklen_t got = size;
        v4.sin_port = v6.sin6_port = 0;
        const int tcp = bound(family, SOCK_STREAM, address, size);
        if (tcp < 0 || getsockname(tcp, address, &got) != 0) {
            return 0;
        }
        const int udp = bound(family, SOCK_DGRAM, address, size);
        if (udp < 0) {
            (void)close(tcp);
            continue;
        }
        (void)setsockopt(tcp, IPPROTO_TCP, TCP_FASTOPEN, &backlog, sizeof backlog);
        add_socket(tcp, true);
        add_socket(udp, false);
        return ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
    }
    return 0;
}

static void drain(void)
{
    for (size_t i = 0; i < socket_count; i++) {
        char path[1024];
        ssize_t got = 0;
        while (!sockets[i].listens && (got = recv(sockets[i].fd, path, sizeof path - 1, 0)) >= 0) {
            path[got] = '\0';
            const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
            (void)(fd < 0 ? 0 : close(fd));
        }
    }
}

static void on_end(int number)
{
    (void)number; /* ppoll returns */
}

/* Until the runner says so, or has ended. Datagrams that were sent before a connection was made are
 * dealt with before it is greeted. */
static void serve(const char *token)
{
    const struct sigaction action = {.sa_handler = on_end};
    sigset_t blocked;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    struct pollfd polls[SOCKETS_MAX];
    for (size_t i = 0; i < socket_count; i++) {
        polls[i] = (struct pollfd){.fd = sockets[i].fd, .events = POLLIN};
    }
    while (ppoll(polls, socket_count, NULL, &none) > 0) {
        for (size_t i = 0; i < socket_count; i++) {
            const int fd =
                sockets[i].listens ? accept4(sockets[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
            drain();
            if (fd >= 0) {
                (void)send(fd, token, strlen(token), MSG_NOSIGNAL);
                (void)close(fd);
            }
        }
    }
}

static void make_objects(fixture_service *service, const char *token)
{
    const key_t key = (key_t)getpid();
    service->shared_memory = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
    service->semaphores = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    service->queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    char *bytes = service->shared_memory < 0 ? NULL : shmat(service->shared_memory, NULL, 0);
    if (bytes == NULL || (intptr_t)bytes == -1 || service->semaphores < 0 || service->queue < 0) {
        err(1, "System V objects");
    }
    (void)snprintf(bytes, 4096, "%s", token);
    (void)shmdt(bytes);
    (void)snprintf(service->message_queue, sizeof service->message_queue, "/arcp-escape-%d",
                   (int)getpid());
    const mqd_t queue = mq_open(service->message_queue, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
    if (queue == (mqd_t)-1) {
        err(1, "mq_open");
    }
    (void)mq_close(queue);
}

static void remove_objects(const fixture_service *service)
{
    char path[128];
    (void)shmctl(service->shared_memory, IPC_RMID, NULL);
    (void)semctl(service->semaphores, 0, IPC_RMID);
    (void)msgctl(service->queue, IPC_RMID, NULL);
    (void)mq_unlink(service->message_queue);
    (void)snprintf(path, sizeof path, "%s/stream", service->beside);
    (void)unlink(path);
    (void)rmdir(service->beside);
}

static void add_all(fixture_service *service)
{
    static const char *const places[] = {"read", "write", "outside"};
    static const struct {
        const char *name;
        int type;
    } types[] = {{"stream", SOCK_STREAM}, {"seqpacket", SOCK_SEQPACKET}, {"datagram", SOCK_DGRAM}};
    char path[512];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", service->directory, places[i]);
        if (mkdir(path, 0755) != 0) {
            err(1, "mkdir %s", path);
        }
        for (size_t j = 0; j < 3; j++) {
            (void)snprintf(path, sizeof path, "%s/%s/%s", service->directory, places[i],
                           types[j].name);
            add_local(path, false, types[j].type);
        }
    }
    /* Private directories are on this file system where there are no namespaces. */
    (void)snprintf(path, sizeof path, "%s/stream", service->beside);
    if (mkdir(service->beside, 0755) != 0) {
        err(1, "mkdir %s", service->beside);
    }
    add_local(path, false, SOCK_STREAM);
    add_local(service->abstract, true, SOCK_STREAM);
    service->port = add_internet(AF_INET);
    service->port6 = add_internet(AF_INET6);
}

void fixture_service_start(fixture_service *service, const char *root, uid_t user,
                           const char *token)
{
    int ready[2];
    int end[2];
    (void)snprintf(service->directory, sizeof service->directory, "%s/host", root);
    (void)snprintf(service->beside, sizeof service->beside, "/tmp/arcp-escape-%d.d", (int)getpid());
    (void)snprintf(service->abstract, sizeof service->abstract, "arcp-escape-%d", (int)getpid());
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(end, O_CLOEXEC) != 0 ||
        mkdir(service->directory, 0755) != 0 ||
        (geteuid() == 0 && chown(service->directory, user, user) != 0)) {
        err(1, "start of the service");
    }
    service->pid = fork();
    if (service->pid == 0) {
        fixture_become(user);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)prctl(PR_SET_DUMPABLE, 1);
        service->pid = getpid();
        add_all(service);
        make_objects(service, token);
        if (write(ready[1], service, sizeof *service) != (ssize_t)sizeof *service) {
            _exit(1);
        }
        serve(token);
        remove_objects(service); /* System V objects have no owner that ends */
        _exit(0);
    }
    (void)close(ready[1]);
    if (service->pid < 0 || read(ready[0], service, sizeof *service) != (ssize_t)sizeof *service) {
        errx(1, "the service did not start");
    }
    (void)close(ready[0]);
    (void)close(end[0]);
    (void)close(end[1]);
}

void fixture_service_settle(const fixture_service *service)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char bytes[64];
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%.90s/outside/stream", service->directory);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        err(1, "the service is gone");
    }
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
    (void)close(fd);
}

void fixture_service_stop(fixture_service *service)
{
    (void)kill(service->pid, SIGTERM);
    (void)waitpid(service->pid, NULL, 0);
}

void fixture_victim_start(fixture_victim *victim, const char *bin, const char *dir, uid_t user,
                          const char *token)
{
    int ready[2];
    char program[512];
    char variable[128];
    (void)snprintf(program, sizeof program, "%s/arcp-escape", bin);
    (void)snprintf(variable, sizeof variable, "SECRET=%s", token);
    if (pipe2(ready, O_CLOEXEC) != 0) {
        err(1, "pipe2");
    }
    victim->pid = fork();
    if (victim->pid == 0) {
        char *const environment[] = {variable, NULL};
        fixture_become(user);
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ready[1], STDOUT_FILENO);
        (void)execle(program, program, "victim", dir, token, (char *)NULL, environment);
        _exit(1);
    }
    (void)close(ready[1]);
    const ssize_t got = read(ready[0], victim->address, sizeof victim->address - 1);
    if (victim->pid < 0 || got <= 1) {
        errx(1, "the victim did not start");
    }
    victim->address[got - 1] = '\0'; /* the end of the line */
    (void)close(ready[0]);
}

bool fixture_victim_stop(const fixture_victim *victim)
{
    int status = 0;
    /* The first signal that ends a process decides how it ended. */
    (void)kill(victim->pid, SIGKILL);
    (void)waitpid(victim->pid, &status, 0);
    return !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
}
