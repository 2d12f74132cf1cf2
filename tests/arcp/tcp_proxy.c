#include "arcp/tcp_proxy.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in loopback(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void tcp_proxy_start(tcp_proxy *proxy, unsigned short target, void *(*run)(void *user), void *user)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int stop[2];
    *proxy = (tcp_proxy){.target = target};
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->listener >= 0);
    assert_int_equal(bind(proxy->listener, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(proxy->listener, 16), 0);
    assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(proxy->url, sizeof proxy->url, "ws://127.0.0.1:%u/arcp",
                   (unsigned)ntohs(address.sin_port));
    assert_int_equal(pipe(stop), 0);
    proxy->stop = stop[0];
    proxy->stopper = stop[1];
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, user), 0);
}

void tcp_proxy_stop(tcp_proxy *proxy)
{
    assert_int_equal(write(proxy->stopper, "x", 1), 1);
    assert_int_equal(pthread_join(proxy->thread, NULL), 0);
    close(proxy->stop);
    close(proxy->stopper);
    close(proxy->listener);
}

int tcp_proxy_dial(const tcp_proxy *proxy)
{
    const struct sockaddr_in address = loopback(proxy->target);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool tcp_proxy_send(int fd, const char *bytes, size_t size)
{
    while (size != 0) {
        const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool tcp_proxy_forward(int from, int to)
{
    char bytes[65536];
    const ssize_t got = recv(from, bytes, sizeof bytes, 0);
    return got > 0 && tcp_proxy_send(to, bytes, (size_t)got);
}
