#include "transport/raw_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

const char raw_upgrade[] = "GET /arcp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                           "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static void start(raw_peer *peer, test_loop *test, int fd)
{
    memset(peer, 0, sizeof *peer);
    peer->test = test;
    peer->fd = fd;
    assert_true(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

void raw_peer_connect(raw_peer *peer, test_loop *test, const char *url)
{
    const bool six = strstr(url, "://[") != NULL;
    const char *colon = strrchr(url, ':');
    assert_non_null(colon);
    const uint16_t port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
    struct sockaddr_in6 other = {.sin6_family = AF_INET6, .sin6_port = port};
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    other.sin6_addr = in6addr_loopback;
    const int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    /* Loopback: the kernel completes it without the other side's loop. */
    const int result = six ? connect(fd, (const struct sockaddr *)&other, sizeof other)
                           : connect(fd, (const struct sockaddr *)&four, sizeof four);
    assert_int_equal(result, 0);
    start(peer, test, fd);
}

int raw_listen(char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    snprintf(url, 64, "ws://127.0.0.1:%u/arcp", ntohs(address.sin_port));
    return fd;
}

/* Runs the loop, or waits for the descriptor, whichever is ready first. */
static void wait_for(test_loop *test, int fd, short events)
{
    uv_run(&test->loop, UV_RUN_NOWAIT);
    int timeout = uv_backend_timeout(&test->loop);
    struct pollfd fds[2] = {
        {.fd = uv_backend_fd(&test->loop), .events = POLLIN},
        {.fd = fd, .events = events},
    };
    if (timeout < 0 || timeout > TEST_PATIENCE_MS) {
        timeout = TEST_PATIENCE_MS;
    }
    const int ready = poll(fds, 2, timeout);
    assert_true(ready >= 0);
    if (ready == 0 && timeout == TEST_PATIENCE_MS) {
        fail_msg("nothing was received");
    }
    uv_run(&test->loop, UV_RUN_NOWAIT);
}

void raw_peer_accept(raw_peer *peer, test_loop *test, int listener)
{
    assert_true(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
    int fd = -1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) {
        assert_int_equal(errno, EAGAIN);
        wait_for(test, listener, POLLIN);
    }
    start(peer, test, fd);
}

void raw_peer_send(raw_peer *peer, arcp_span bytes)
{
    while (bytes.size > 0) {
        const ssize_t sent = send(peer->fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) {
            peer->ended = true; /* the other side has closed */
            return;
        }
        if (sent < 0) {
            wait_for(peer->test, peer->fd, POLLOUT);
            raw_peer_poll(peer);
            continue;
        }
        bytes = arcp_span_from(bytes, (size_t)sent);
    }
}

void raw_peer_send_text(raw_peer *peer, const char *text)
{
    raw_peer_send(peer, arcp_span_cstr(text));
}

void raw_peer_poll(raw_peer *peer)
{
    while (!peer->ended) {
        char bytes[65536];
        const ssize_t size = recv(peer->fd, bytes, sizeof bytes, 0);
        if (size < 0 && errno == EAGAIN) {
            return;
        }
        if (size <= 0) {
            peer->ended = true;
            return;
        }
        arcp_buf_append(&peer->received, arcp_span_make(bytes, (size_t)size));
    }
}

void raw_peer_receive(raw_peer *peer, size_t size)
{
    raw_peer_poll(peer);
    while (peer->received.size < size && !peer->ended) {
        wait_for(peer->test, peer->fd, POLLIN);
        raw_peer_poll(peer);
    }
}

void raw_peer_expect(raw_peer *peer, const char *text)
{
    for (;;) {
        raw_peer_poll(peer);
        if (peer->received.size > 0 &&
            memmem(peer->received.data, peer->received.size, text, strlen(text)) != NULL) {
            return;
        }
        if (peer->ended) {
            fail_msg("no \"%s\" in \"%.*s\"", text, (int)peer->received.size,
                     peer->received.size == 0 ? "" : peer->received.data);
        }
        wait_for(peer->test, peer->fd, POLLIN);
    }
}

void raw_peer_expect_end(raw_peer *peer)
{
    raw_peer_receive(peer, SIZE_MAX);
}

void raw_peer_forget(raw_peer *peer)
{
    arcp_buf_clear(&peer->received);
}

void raw_peer_half_close(raw_peer *peer)
{
    shutdown(peer->fd, SHUT_WR);
}

void raw_peer_reset(raw_peer *peer)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(peer->fd);
    peer->fd = -1;
    peer->ended = true;
}

void raw_peer_fini(raw_peer *peer)
{
    if (peer->fd >= 0) {
        close(peer->fd);
    }
    arcp_buf_fini(&peer->received);
}

void raw_peer_upgrade(raw_peer *peer)
{
    raw_peer_send_text(peer, raw_upgrade);
    raw_peer_expect(peer, "\r\n\r\n");
    assert_memory_equal(peer->received.data, "HTTP/1.1 101 ", 13);
    raw_peer_forget(peer);
}
