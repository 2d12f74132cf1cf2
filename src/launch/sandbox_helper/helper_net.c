/* The sandbox's own network. Without ports in the plan it has the loopback interface and nothing
 * else. With ports every address leads to listeners, which are handed to the process that started
 * us; nothing in here keeps them, and no other way leads outside. */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_listener.h"
#include "launch/sandbox_helper/helper_route.h"
#include "json/json_put.h"

enum {
    SEND_SEC = 10, /* for the reader of the control socket */
    PAUSE_MS = 2,
};

/* ---- handing over ---- */

typedef struct batch {
    int fds[ARCP__HELPER_BATCH];
    size_t count;
} batch;

/* Sends when the reader has room. A record that is lost would leave a network that nothing serves,
 * so this one is waited for, but not for ever. */
static bool send_in_time(const struct msghdr *datagram)
{
    const int64_t until_ns = arcp__clock_ns(CLOCK_MONOTONIC) + SEND_SEC * ARCP_NS_PER_SEC;
    for (;;) {
        if (sendmsg(ARCP__LAUNCH_CONTROL_FD, datagram, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            return true;
        }
        const int number = errno;
        const int64_t left_ns = until_ns - arcp__clock_ns(CLOCK_MONOTONIC);
        struct pollfd control = {.fd = ARCP__LAUNCH_CONTROL_FD, .events = POLLOUT};
        if ((number != EAGAIN && number != ETOOMANYREFS) || left_ns <= 0) {
            errno = number;
            return false;
        }
        if (number == EAGAIN) {
            (void)poll(&control, 1, (int)(left_ns / ARCP_NS_PER_MS) + 1);
        } else { /* the sandboxes of this user together have too many descriptors on their way */
            (void)poll(NULL, 0, PAUSE_MS);
        }
    }
}

void arcp__helper_hand_over(const int *fds, size_t count, const char *secret, bool has_more)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(ARCP__HELPER_BATCH * sizeof *fds)];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(count * sizeof *fds)}};
    arcp_buf record = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&record);
    arcp__put_u64(&writer, "listeners", count);
    if (secret != NULL) {
        arcp__put_cstr(&writer, "secret", secret);
    }
    if (has_more) {
        arcp__put_bool(&writer, "more", true);
    }
    arcp_json_end_object(&writer);
    memcpy(CMSG_DATA(&control.header), fds, count * sizeof *fds);
    struct iovec part = {.iov_base = record.data, .iov_len = record.size};
    const struct msghdr datagram = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(count * sizeof *fds),
    };
    if (record.failed) {
        errno = ENOMEM;
        arcp__helper_fail(NULL);
    }
    if (!send_in_time(&datagram)) {
        arcp__helper_fail("control socket");
    }
    arcp_buf_fini(&record);
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

static void send_batch(batch *listeners, bool has_more)
{
    arcp__helper_hand_over(listeners->fds, listeners->count, NULL, has_more);
    listeners->count = 0;
}

static void add(batch *listeners, int fd, const char *what)
{
    if (fd < 0) {
        arcp__helper_fail(what);
    }
    if (listeners->count == ARCP__HELPER_BATCH) {
        send_batch(listeners, true);
    }
    listeners->fds[listeners->count++] = fd;
}

static void make_listeners(const arcp__sandbox_plan *plan)
{
    static batch listeners;
    arcp__helper_begin(ARCP__HELPER_LISTENERS);
    add(&listeners, arcp__helper_listener_udp(ARCP__SANDBOX_PORT_DNS), "udp 53");
    add(&listeners, arcp__helper_listener_tcp(ARCP__SANDBOX_PORT_DNS), "tcp 53");
    add(&listeners, arcp__helper_listener_tcp(ARCP__SANDBOX_PORT_PROXY), "tcp 3128");
    for (size_t i = 0; i < plan->port_count; i++) {
        char what[32];
        (void)snprintf(what, sizeof what, "tcp %u", (unsigned)plan->ports[i]);
        add(&listeners, arcp__helper_listener_tcp(plan->ports[i]), what);
    }
    send_batch(&listeners, false);
}

/* ---- the network ---- */

static void make_network(const arcp__sandbox_plan *plan)
{
    arcp__helper_begin(ARCP__HELPER_NET);
    const int fd = arcp__helper_route_open();
    errno = fd < 0 ? errno : arcp__helper_route_start(fd);
    if (errno != 0) {
        arcp__helper_fail("lo");
    }
    if (plan->port_count != 0) {
        arcp__helper_begin(ARCP__HELPER_ROUTES);
        errno = arcp__helper_route_all(fd);
        if (errno != 0) {
            arcp__helper_fail("lo");
        }
    }
    (void)close(fd);
}

void arcp__helper_net(const arcp__helper *helper)
{
    make_network(helper->plan);
    if (helper->plan->has_broker) {
        /* It knows the sockets of this network only: all that were bound inside. */
        const struct sockaddr_nl local = {.nl_family = AF_NETLINK};
        arcp__helper_begin(ARCP__HELPER_BROKER);
        const int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        if (sockets < 0 || bind(sockets, (const struct sockaddr *)&local, sizeof local) != 0) {
            arcp__helper_fail("sockets");
        }
        arcp__helper_give(helper, ARCP__HELPER_WORD_SOCKETS, ARCP_SPAN_LITERAL(""), sockets);
    }
    if (helper->plan->port_count != 0) {
        make_listeners(helper->plan);
    }
}
