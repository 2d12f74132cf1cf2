#include "arcp/cutting_proxy.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in loopback(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Closes with a reset, so that what is on the way is lost. */
static void cut(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    (void)close(fd);
}

static bool send_all(int fd, const char *bytes, size_t size)
{
    while (size != 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Forwards both ways until the budget is used up or somebody closes. True: go on. */
static bool forward(cutting_proxy *proxy, int client, int server, unsigned long budget)
{
    char bytes[2048];
    for (;;) {
        struct pollfd fds[3] = {{.fd = client, .events = POLLIN},
                                {.fd = server, .events = POLLIN},
                                {.fd = proxy->stop[0], .events = POLLIN}};
        if (poll(fds, 3, -1) <= 0 || fds[2].revents != 0) {
            return false;
        }
        if (fds[0].revents != 0) {
            ssize_t got = recv(client, bytes, sizeof(bytes), 0);
            if (got <= 0 || !send_all(server, bytes, (size_t)got)) {
                return true;
            }
        }
        if (fds[1].revents != 0) {
            ssize_t got = recv(server, bytes, sizeof(bytes), 0);
            if (got <= 0 || !send_all(client, bytes, (size_t)got)) {
                return true;
            }
            if ((unsigned long)got >= budget) {
                atomic_fetch_add(&proxy->cuts, 1);
                return true;
            }
            budget -= (unsigned long)got;
        }
    }
}

static unsigned long next_budget(cutting_proxy *proxy)
{
    proxy->random = proxy->random * 6364136223846793005UL + 1442695040888963407UL;
    return proxy->bytes_min + (proxy->random >> 33) % (proxy->bytes_max - proxy->bytes_min + 1);
}

static void *run(void *user)
{
    cutting_proxy *proxy = user;
    bool goes_on = true;
    while (goes_on) {
        struct pollfd fds[2] = {{.fd = proxy->listener, .events = POLLIN},
                                {.fd = proxy->stop[0], .events = POLLIN}};
        if (poll(fds, 2, -1) <= 0 || fds[1].revents != 0) {
            break;
        }
        int client = accept(proxy->listener, NULL, NULL);
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const struct sockaddr_in address = loopback(proxy->target);
        if (client >= 0 && server >= 0 &&
            connect(server, (const struct sockaddr *)&address, sizeof(address)) == 0) {
            goes_on = forward(proxy, client, server, next_budget(proxy));
        }
        cut(client);
        cut(server);
    }
    return NULL;
}

void cutting_proxy_start(cutting_proxy *proxy, unsigned short target, unsigned long bytes_min,
                         unsigned long bytes_max)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    *proxy = (cutting_proxy){
        .target = target, .bytes_min = bytes_min, .bytes_max = bytes_max, .random = 7};
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->listener >= 0);
    assert_int_equal(bind(proxy->listener, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(proxy->listener, 16), 0);
    assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &size), 0);
    proxy->port = ntohs(address.sin_port);
    assert_int_equal(pipe(proxy->stop), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
}

void cutting_proxy_stop(cutting_proxy *proxy)
{
    assert_int_equal(write(proxy->stop[1], "x", 1), 1);
    assert_int_equal(pthread_join(proxy->thread, NULL), 0);
    close(proxy->stop[0]);
    close(proxy->stop[1]);
    close(proxy->listener);
}
