#include "arcpd/link_proxy.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/daemon.h"

static volatile sig_atomic_t is_to_be_cut;

static void on_cut(int number)
{
    (void)number;
    is_to_be_cut = 1;
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        daemon_fail("%s is too long for a socket", path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

static int open_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        daemon_fail("socket: %s", strerror(errno));
    }
    return fd;
}

/* False: one side has closed, or the connection is cut. The mask lets the signal in. */
static bool pass_on(const int ends[2], const sigset_t *mask)
{
    static char bytes[65536];
    struct pollfd both[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLIN}};
    if (ppoll(both, 2, NULL, mask) < 0) {
        return !is_to_be_cut;
    }
    for (int i = 0; i < 2; i++) {
        const ssize_t size = both[i].revents == 0 ? -1 : read(ends[i], bytes, sizeof bytes);
        if (both[i].revents == 0) {
            continue;
        }
        for (ssize_t sent = 0, part = 0; sent < size; sent += part) {
            part = send(ends[1 - i], bytes + sent, (size_t)(size - sent), MSG_NOSIGNAL);
            if (part <= 0) {
                return false;
            }
        }
        if (size <= 0) {
            return false;
        }
    }
    return !is_to_be_cut;
}

static _Noreturn void serve(int listener, const char *real, const sigset_t *mask)
{
    const struct sockaddr_un address = address_of(real);
    for (;;) {
        int ends[2] = {accept4(listener, NULL, NULL, SOCK_CLOEXEC), open_socket()};
        if (ends[0] >= 0 &&
            connect(ends[1], (const struct sockaddr *)&address, sizeof address) == 0) {
            is_to_be_cut = 0;
            while (pass_on(ends, mask)) {
            }
        }
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

pid_t link_proxy_start(const char *path)
{
    char real[128];
    const struct sockaddr_un address = address_of(path);
    sigset_t blocked;
    sigset_t mask;
    (void)snprintf(real, sizeof real, "%s.real", path);
    const int listener = open_socket();
    if (rename(path, real) != 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 8) != 0) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
    const struct sigaction cut = {.sa_handler = on_cut}; /* in the process to be */
    (void)sigaction(SIGUSR1, &cut, NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        daemon_fail("fork: %s", strerror(errno));
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGUSR1);
        (void)sigprocmask(SIG_BLOCK, &blocked, &mask);
        serve(listener, real, &mask);
    }
    (void)close(listener);
    return pid;
}

void link_proxy_cut(pid_t proxy)
{
    (void)kill(proxy, SIGUSR1);
}

void link_proxy_end(pid_t proxy)
{
    (void)kill(proxy, SIGKILL);
    (void)waitpid(proxy, NULL, 0);
}
