#include "enforce/world.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/world_parts.h"

static void check(int number, const char *what)
{
    if (number != 0) {
        errno = number;
        err(1, "%s", what);
    }
}

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0) {
        err(1, "%s", path);
    }
}

/* The file is seen at the path, whatever links lead there. */
static void bind_file(const char *directory, const char *name, const char *text)
{
    char from[512];
    char path[512];
    char real[4096];
    (void)snprintf(from, sizeof from, "%s/%s", directory, name);
    (void)snprintf(path, sizeof path, "/etc/%s", name);
    write_file(from, text);
    if (realpath(path, real) != NULL && mount(from, real, NULL, MS_BIND, NULL) != 0) {
        err(1, "mount %s", real);
    }
}

static void prepare_resolver(const char *directory)
{
    bind_file(directory, "resolv.conf",
              "nameserver " WORLD_NAMESERVER "\nsearch corp.example\n"
              "options timeout:2 attempts:1\n");
    bind_file(directory, "hosts", "127.0.0.1 localhost\n::1 localhost\n");
    bind_file(directory, "nsswitch.conf",
              "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n");
}

/* What a user may do in this network, and the way to the world. */
static void prepare_host(void)
{
    struct in_addr address;
    (void)inet_pton(AF_INET, WORLD_HOST_ADDRESS, &address);
    check(world_link_address(WORLD_HOST_LINK, AF_INET, &address), "the host's address");
    check(world_link_up(WORLD_HOST_LINK), "the host's interface");
    check(world_link_default(WORLD_HOST_LINK, AF_INET), "the host's route");
    if (access("/proc/net/if_inet6", F_OK) == 0) {
        struct in6_addr six;
        (void)inet_pton(AF_INET6, "2606:2800:220:1::2", &six);
        check(world_link_address(WORLD_HOST_LINK, AF_INET6, &six), "the host's address (IPv6)");
        check(world_link_default(WORLD_HOST_LINK, AF_INET6), "the host's route (IPv6)");
    }
    write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    write_file("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
    write_file("/proc/sys/net/ipv4/tcp_fastopen", "3");
}

static void prepare_world(void)
{
    const bool has_six = access("/proc/net/if_inet6", F_OK) == 0;
    for (size_t i = 0; i < world_address_count; i++) {
        unsigned char bytes[16];
        const int family = strchr(world_addresses[i], ':') == NULL ? AF_INET : AF_INET6;
        if (family == AF_INET || has_six) {
            (void)inet_pton(family, world_addresses[i], bytes);
            check(world_link_address(WORLD_LINK, family, bytes), world_addresses[i]);
        }
    }
    check(world_link_up(WORLD_LINK), "the world's interface");
    check(world_link_default(WORLD_LINK, AF_INET), "the world's route");
    if (has_six) {
        check(world_link_default(WORLD_LINK, AF_INET6), "the world's route (IPv6)");
    }
    write_file("/proc/sys/net/ipv4/tcp_fastopen", "3");
}

static void run_command(const char *command)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    check(child < 0 ? errno : 0, "fork");
}

/* The process that serves. `steps`: a byte is written when its namespace is there, then when it
 * serves; in between it waits for a byte from `go`. */
static void serve(const network_world *world, const world_options *options, int steps, int go)
{
    char byte = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    world_server_open(false, options->command == NULL);
    if (unshare(CLONE_NEWNET) != 0 || write(steps, "1", 1) != 1 || read(go, &byte, 1) != 1) {
        _exit(1);
    }
    check(world_link_up("lo"), "the world's loopback");
    prepare_world();
    world_server_open(true, options->command == NULL);
    world_server_watch();
    if (options->command != NULL) {
        run_command(options->command);
    }
    if (write(steps, "2", 1) != 1) {
        _exit(1);
    }
    (void)close(steps);
    world_server_run(options->token, world->heard);
}

bool world_start(network_world *world, const world_options *options)
{
    int steps[2];
    int go[2];
    char byte = 0;
    world->pid = 0;
    world->heard = mmap(NULL, (size_t)WORLD_MARKS_MAX * 2, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world->heard == MAP_FAILED || pipe2(steps, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0 ||
        unshare(CLONE_NEWNET) != 0) {
        err(1, "a network namespace");
    }
    check(world_link_up("lo"), "the loopback");
    const pid_t pid = fork();
    if (pid == 0) {
        serve(world, options, steps[1], go[0]);
        _exit(1);
    }
    (void)close(steps[1]);
    (void)close(go[0]);
    if (pid < 0 || read(steps[0], &byte, 1) != 1) {
        errx(1, "the network world did not start");
    }
    const int number = world_link_pair(WORLD_HOST_LINK, WORLD_LINK, pid);
    if (number == EOPNOTSUPP || number == ENODEV) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return false;
    }
    check(number, "a pair of interfaces");
    prepare_host();
    prepare_resolver(options->directory);
    if (write(go[1], "1", 1) != 1 || read(steps[0], &byte, 1) != 1) {
        errx(1, "the network world does not serve");
    }
    (void)close(go[1]);
    (void)close(steps[0]);
    world->pid = pid;
    return true;
}

void world_stop(network_world *world)
{
    if (world->pid > 0) {
        (void)kill(world->pid, SIGKILL);
        (void)waitpid(world->pid, NULL, 0);
    }
    world->pid = 0;
}

void world_mark(size_t number, bool confined, char out[WORLD_MARK_SIZE])
{
    (void)snprintf(out, WORLD_MARK_SIZE, "mark-%zu%c", number, confined ? 'c' : 'b');
}

/* Waits until the server has dealt with everything: it closes this connection then. */
static void settle(void)
{
    char byte = 0;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9)};
    (void)inet_pton(AF_INET, WORLD_NAMESERVER, &at.sin_addr);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        err(1, "the network world is gone");
    }
    while (read(fd, &byte, 1) > 0) {
    }
    (void)close(fd);
}

bool world_has_heard(const network_world *world, size_t number, bool confined)
{
    if (world->pid == 0 || number >= WORLD_MARKS_MAX) {
        return false;
    }
    settle();
    return ((const volatile unsigned char *)world->heard)[number * 2 + (confined ? 1 : 0)] != 0;
}
