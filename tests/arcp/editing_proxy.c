#include "arcp/editing_proxy.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS      8
#define BYTES_MAX  65536
#define TEXT_MAX   64
#define FDS_BEFORE 2 /* the pipe and the listener */

/* A client and its way to the server. */
typedef struct pair {
    int client, server; /* -1: free */
    char held[TEXT_MAX];
    size_t held_size; /* bytes that may be the beginning of `from` */
} pair;

static struct sockaddr_in loopback(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
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

static void hang_up(pair *p)
{
    (void)close(p->client);
    (void)close(p->server);
    *p = (pair){.client = -1, .server = -1};
}

static bool forward(int from, int to)
{
    char bytes[BYTES_MAX];
    ssize_t got = recv(from, bytes, sizeof(bytes), 0);
    return got > 0 && send_all(to, bytes, (size_t)got);
}

/* How many bytes at the end may be the beginning of what is looked for. */
static size_t may_go_on(const editing_proxy *proxy, const char *bytes, size_t size)
{
    size_t most = size < proxy->size - 1 ? size : proxy->size - 1;
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
    ssize_t got = recv(p->server, bytes + p->held_size, BYTES_MAX, 0);
    if (got <= 0) {
        return false;
    }
    size_t size = p->held_size + (size_t)got;
    for (size_t at = 0; at + proxy->size <= size; at++) {
        if (memcmp(bytes + at, proxy->from, proxy->size) == 0) {
            memcpy(bytes + at, proxy->to, proxy->size);
        }
    }
    p->held_size = may_go_on(proxy, bytes, size);
    memcpy(p->held, bytes + size - p->held_size, p->held_size);
    return send_all(p->client, bytes, size - p->held_size);
}

static void take_in(const editing_proxy *proxy, pair *pairs)
{
    const struct sockaddr_in address = loopback(proxy->target);
    int client = accept(proxy->listener, NULL, NULL);
    for (size_t at = 0; at < PAIRS; at++) {
        if (pairs[at].client < 0) {
            pairs[at] =
                (pair){.client = client, .server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
            if (connect(pairs[at].server, (const struct sockaddr *)&address, sizeof(address)) !=
                0) {
                hang_up(&pairs[at]);
            }
            return;
        }
    }
    (void)close(client);
}

static void *run(void *user)
{
    editing_proxy *proxy = user;
    pair pairs[PAIRS];
    struct pollfd fds[FDS_BEFORE + 2 * PAIRS];
    for (size_t at = 0; at < PAIRS; at++) {
        pairs[at] = (pair){.client = -1, .server = -1};
    }
    for (;;) {
        fds[0] = (struct pollfd){.fd = proxy->stop[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (size_t at = 0; at < PAIRS; at++) {
            fds[FDS_BEFORE + 2 * at] = (struct pollfd){.fd = pairs[at].client, .events = POLLIN};
            fds[FDS_BEFORE + 2 * at + 1] =
                (struct pollfd){.fd = pairs[at].server, .events = POLLIN};
        }
        if (poll(fds, FDS_BEFORE + 2 * PAIRS, -1) <= 0 || fds[0].revents != 0) {
            break;
        }
        for (size_t at = 0; at < PAIRS; at++) {
            pair *p = &pairs[at];
            if ((fds[FDS_BEFORE + 2 * at].revents != 0 && !forward(p->client, p->server)) ||
                (fds[FDS_BEFORE + 2 * at + 1].revents != 0 && !forward_edited(proxy, p))) {
                hang_up(p);
            }
        }
        if (fds[1].revents != 0) {
            take_in(proxy, pairs);
        }
    }
    for (size_t at = 0; at < PAIRS; at++) {
        if (pairs[at].client >= 0) {
            hang_up(&pairs[at]);
        }
    }
    return NULL;
}

void editing_proxy_start(editing_proxy *proxy, unsigned short target, const char *from,
                         const char *to)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    *proxy = (editing_proxy){.target = target, .from = from, .to = to, .size = strlen(from)};
    assert_int_equal(strlen(to), proxy->size);
    assert_true(proxy->size <= TEXT_MAX);
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->listener >= 0);
    assert_int_equal(bind(proxy->listener, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(proxy->listener, 16), 0);
    assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &size), 0);
    proxy->port = ntohs(address.sin_port);
    assert_int_equal(pipe(proxy->stop), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
}

void editing_proxy_stop(editing_proxy *proxy)
{
    assert_int_equal(write(proxy->stop[1], "x", 1), 1);
    assert_int_equal(pthread_join(proxy->thread, NULL), 0);
    close(proxy->stop[0]);
    close(proxy->stop[1]);
    close(proxy->listener);
}
