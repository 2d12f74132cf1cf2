#include "arcp/editing_proxy.h"

#include "support/check.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS      8
#define BYTES_MAX  65536
#define TEXT_MAX   64
#define FDS_BEFORE 2 /* the pipe and the listener */

/* A connection pair. */
typedef struct pair {
    int client, server; /* -1: free */
    char held[TEXT_MAX];
    size_t held_size; /* bytes that may be the beginning of `from` */
} pair;

static void hang_up(pair *p)
{
    (void)close(p->client);
    (void)close(p->server);
    *p = (pair){.client = -1, .server = -1};
}

/* The number of bytes at the end that may be the beginning of `from`. */
static size_t may_go_on(const editing_proxy *proxy, const char *bytes, size_t size)
{
    const size_t most = size < proxy->size - 1 ? size : proxy->size - 1;
    for (size_t count = most; count != 0; count--) {
        if (memcmp(bytes + size - count, proxy->from, count) == 0) {
            return count;
        }
    }
    return 0;
}

static bool forward_edited(const editing_proxy *proxy, pair *p)
{
    char bytes[TEXT_MAX + BYTES_MAX];
    memcpy(bytes, p->held, p->held_size);
    const ssize_t got = recv(p->server, bytes + p->held_size, BYTES_MAX, 0);
    if (got <= 0) {
        return false;
    }
    const size_t size = p->held_size + (size_t)got;
    for (size_t i = 0; i + proxy->size <= size; i++) {
        if (memcmp(bytes + i, proxy->from, proxy->size) == 0) {
            memcpy(bytes + i, proxy->to, proxy->size);
        }
    }
    p->held_size = may_go_on(proxy, bytes, size);
    memcpy(p->held, bytes + size - p->held_size, p->held_size);
    return tcp_proxy_send(p->client, bytes, size - p->held_size);
}

static void take_in(const editing_proxy *proxy, pair *pairs)
{
    const int client = accept(proxy->tcp.listener, NULL, NULL);
    for (size_t i = 0; i < PAIRS; i++) {
        if (pairs[i].client < 0) {
            const int server = tcp_proxy_dial(&proxy->tcp);
            if (server < 0) {
                break;
            }
            pairs[i] = (pair){.client = client, .server = server};
            return;
        }
    }
    (void)close(client);
}

static void *run(void *user)
{
    const editing_proxy *proxy = user;
    pair pairs[PAIRS];
    struct pollfd fds[FDS_BEFORE + 2 * PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        pairs[i] = (pair){.client = -1, .server = -1};
    }
    for (;;) {
        fds[0] = (struct pollfd){.fd = proxy->tcp.stop, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = proxy->tcp.listener, .events = POLLIN};
        for (size_t i = 0; i < PAIRS; i++) {
            fds[FDS_BEFORE + 2 * i] = (struct pollfd){.fd = pairs[i].client, .events = POLLIN};
            fds[FDS_BEFORE + 2 * i + 1] = (struct pollfd){.fd = pairs[i].server, .events = POLLIN};
        }
        if (poll(fds, FDS_BEFORE + 2 * PAIRS, -1) <= 0 || fds[0].revents != 0) {
            break;
        }
        for (size_t i = 0; i < PAIRS; i++) {
            pair *p = &pairs[i];
            if ((fds[FDS_BEFORE + 2 * i].revents != 0 &&
                 !tcp_proxy_forward(p->client, p->server)) ||
                (fds[FDS_BEFORE + 2 * i + 1].revents != 0 && !forward_edited(proxy, p))) {
                hang_up(p);
            }
        }
        if (fds[1].revents != 0) {
            take_in(proxy, pairs);
        }
    }
    for (size_t i = 0; i < PAIRS; i++) {
        if (pairs[i].client >= 0) {
            hang_up(&pairs[i]);
        }
    }
    return NULL;
}

void editing_proxy_start(editing_proxy *proxy, unsigned short target, const char *from,
                         const char *to)
{
    *proxy = (editing_proxy){.from = from, .to = to, .size = strlen(from)};
    assert_int_equal(strlen(to), proxy->size);
    assert_true(proxy->size <= TEXT_MAX);
    tcp_proxy_start(&proxy->tcp, target, run, proxy);
}

void editing_proxy_stop(editing_proxy *proxy)
{
    tcp_proxy_stop(&proxy->tcp);
}
