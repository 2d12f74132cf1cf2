#include "arcp/cutting_proxy.h"

#include "support/check.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Closes with a reset, so that data in transit is lost. */
static void cut(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    (void)close(fd);
}

/* Forwards in both directions until the budget is used up or a peer closes. True: continue. */
static bool forward(cutting_proxy *proxy, int client, int server, unsigned long budget)
{
    char bytes[2048];
    for (;;) {
        struct pollfd fds[3] = {{.fd = client, .events = POLLIN},
                                {.fd = server, .events = POLLIN},
                                {.fd = proxy->tcp.stop, .events = POLLIN}};
        if (poll(fds, 3, -1) <= 0 || fds[2].revents != 0) {
            return false;
        }
        if (fds[0].revents != 0 && !tcp_proxy_forward(client, server)) {
            return true;
        }
        if (fds[1].revents != 0) {
            const ssize_t got = recv(server, bytes, sizeof bytes, 0);
            if (got <= 0 || !tcp_proxy_send(client, bytes, (size_t)got)) {
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
        struct pollfd fds[2] = {{.fd = proxy->tcp.listener, .events = POLLIN},
                                {.fd = proxy->tcp.stop, .events = POLLIN}};
        if (poll(fds, 2, -1) <= 0 || fds[1].revents != 0) {
            break;
        }
        const int client = accept(proxy->tcp.listener, NULL, NULL);
        const int server = tcp_proxy_dial(&proxy->tcp);
        if (client >= 0 && server >= 0) {
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
    *proxy = (cutting_proxy){.bytes_min = bytes_min, .bytes_max = bytes_max, .random = 7};
    tcp_proxy_start(&proxy->tcp, target, run, proxy);
}

void cutting_proxy_stop(cutting_proxy *proxy)
{
    tcp_proxy_stop(&proxy->tcp);
}
