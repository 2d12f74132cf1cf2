#include "launch/launcher_control.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/directory.h"
#include "launch/launcher_plan.h"
#include "json/json.h"

#define RECORDS_PER_TURN 64
#define DESCRIPTORS_MAX  253 /* of a datagram: SCM_MAX_FD of the kernel */

/* What was received: the bytes, and descriptors that are closed unless they are kept. */
typedef struct datagram {
    arcp_span text;
    bool is_cut;
    int fds[DESCRIPTORS_MAX];
    size_t fd_count;
} datagram;

void arcp__launch_control_init(arcp__launch_control *control, int fd,
                               const arcp__launch_control_events *events)
{
    *control = (arcp__launch_control){.fd = fd, .events = *events};
}

static void close_all(int *fds, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        (void)close(fds[i]);
    }
    *count = 0;
}

void arcp__launch_control_fini(arcp__launch_control *control)
{
    close_all(control->sockets, &control->socket_count);
    arcp__close(control->fd);
    control->fd = -1;
}

/* ---- sockets ---- */

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

static bool has_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } local = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof local;
    return getsockname(fd, &local.any, &size) == 0 &&
           (local.any.sa_family == AF_INET6 ? local.v6.sin6_port : local.v4.sin_port) != 0;
}

static bool is_listener(int fd)
{
    const int domain = option(fd, SOL_SOCKET, SO_DOMAIN);
    const int type = option(fd, SOL_SOCKET, SO_TYPE);
    const int protocol = option(fd, SOL_SOCKET, SO_PROTOCOL);
    if ((domain != AF_INET && domain != AF_INET6) || !has_port(fd)) {
        return false;
    }
    return (type == SOCK_STREAM && protocol == IPPROTO_TCP &&
            option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1) ||
           (type == SOCK_DGRAM && protocol == IPPROTO_UDP);
}

/* ---- records ---- */

static bool is_hex(arcp_span text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < text.size; i++) {
        if (memchr(digits, text.data[i], sizeof digits - 1) == NULL) {
            return false;
        }
    }
    return true;
}

/* Whether the record has no secret, or one in hexadecimal digits, which is kept. */
static bool take_secret(arcp__launch_control *control, const arcp_json *json)
{
    const arcp_json_ref member =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("secret"));
    arcp_buf unescaped = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, member, &unescaped);
    const bool is_valid = member == ARCP_JSON_ABSENT ||
                          (text.size > 0 && text.size <= ARCP__LAUNCH_SECRET_MAX && is_hex(text));
    if (is_valid && text.size > 0) {
        memcpy(control->secret, text.data, text.size);
        control->secret[text.size] = '\0';
    }
    arcp_buf_fini(&unescaped);
    return is_valid;
}

/* NULL, or why the record is refused. */
static const char *take_listeners(arcp__launch_control *control, const arcp_json *json,
                                  datagram *from)
{
    const arcp_json_ref more = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("more"));
    uint64_t count = 0;
    if (control->has_listeners) {
        return "listeners were announced before";
    }
    if (!arcp_json_u64(json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("listeners")),
                       &count) ||
        count == 0 || count != from->fd_count) {
        return "the number of listeners is not that of the descriptors";
    }
    if (count > ARCP__LAUNCH_LISTENERS_MAX - control->socket_count) {
        return "there are too many listeners";
    }
    for (size_t i = 0; i < from->fd_count; i++) {
        if (!is_listener(from->fds[i])) {
            return "a descriptor is not a listening socket";
        }
    }
    if (!take_secret(control, json)) {
        return "the secret of the proxy is malformed";
    }
    memcpy(control->sockets + control->socket_count, from->fds, from->fd_count * sizeof *from->fds);
    control->socket_count += from->fd_count;
    from->fd_count = 0;
    if (!arcp_json_is(json, more, ARCP_JSON_TRUE)) {
        const size_t given = control->socket_count;
        control->has_listeners = true;
        control->socket_count = 0;
        control->events.listeners(control->events.user, control->sockets, given);
    }
    return NULL;
}

static const char *take_text(arcp__launch_control *control, const arcp_json *json, datagram *from)
{
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return "a record is not a JSON object";
    }
    if (arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("listeners")) !=
        ARCP_JSON_ABSENT) {
        return take_listeners(control, json, from);
    }
    if (from->fd_count != 0) {
        return "a record has descriptors and announces none";
    }
    control->events.record(control->events.user, from->text);
    return NULL;
}

static const char *take_record(arcp__launch_control *control, datagram *from)
{
    arcp_json json = ARCP__JSON_INIT;
    const char *fault = "a record is not a JSON object";
    if (from->is_cut) {
        fault = "a record is longer than 64 KiB, or has too many descriptors";
    } else if (arcp_json_scan(&json, from->text, NULL, NULL) == ARCP_OK) {
        fault = take_text(control, &json, from);
    }
    arcp__json_fini(&json);
    return fault;
}

/* ---- receiving ---- */

/* Keeps the descriptors of all control messages: each that is not closed would stay open. */
static void take_descriptors(struct msghdr *message, datagram *out)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof *out->fds;
        memcpy(out->fds + out->fd_count, CMSG_DATA(header), count * sizeof *out->fds);
        out->fd_count += count;
    }
}

/* Receives one; false when there is none now, or the other end is closed: *has_ended. */
static bool receive(int fd, char *bytes, datagram *out, bool *has_ended)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof out->fds)];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = ARCP__LAUNCH_RECORD_MAX};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t size;
    do {
        size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    *has_ended = size == 0 || (size < 0 && errno != EAGAIN);
    out->fd_count = 0;
    if (size < 0) {
        return false;
    }
    out->text = arcp_span_make(bytes, (size_t)size);
    out->is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    take_descriptors(&message, out);
    return true;
}

bool arcp__launch_control_take(arcp__launch_control *control)
{
    char bytes[ARCP__LAUNCH_RECORD_MAX];
    datagram from;
    bool has_ended = control->fd < 0;
    for (size_t i = 0; i < RECORDS_PER_TURN && !has_ended; i++) {
        if (!receive(control->fd, bytes, &from, &has_ended)) {
            break;
        }
        const char *fault = has_ended ? NULL : take_record(control, &from);
        close_all(from.fds, &from.fd_count);
        if (fault != NULL && control->events.refused != NULL) {
            control->events.refused(control->events.user, fault);
        }
    }
    if (has_ended) {
        if (control->fd >= 0 && control->events.ended != NULL) {
            control->events.ended(control->events.user);
        }
        arcp__launch_control_fini(control);
    }
    return !has_ended;
}

/* ---- sending ---- */

arcp_status arcp__launch_control_lease(const arcp__launch_control *control, arcp_span plan,
                                       arcp_error *err)
{
    char text[] = ARCP__LAUNCH_LEASE_TEXT;
    const int fd = control->fd < 0 ? -1 : arcp__launch_seal(plan);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } extra = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = text, .iov_len = sizeof text - 1};
    const struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    memcpy(CMSG_DATA(&extra.header), &fd, sizeof fd);
    if (control->fd < 0 || fd < 0 ||
        sendmsg(control->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)part.iov_len) {
        const char *why = control->fd < 0 ? "the sandbox has ended" : strerror(errno);
        arcp__close(fd);
        return arcp_error_set(err, ARCP_E_IO, "the lease cannot be sent to its sandbox: %s", why);
    }
    arcp__close(fd);
    return ARCP_OK;
}

arcp_status arcp__launch_control_revoke(const arcp__launch_control *control, arcp_error *err)
{
    static const char text[] = ARCP__LAUNCH_REVOKE_TEXT;
    if (control->fd < 0 ||
        send(control->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL) ==
            (ssize_t)sizeof text - 1 ||
        errno == EPIPE || errno == ECONNRESET) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_IO, "the end of the lease cannot be sent to its sandbox: %s",
                          strerror(errno));
}
