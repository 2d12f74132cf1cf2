/* Records of a control socket, a line each: the first byte of a line says which descriptors come
 * with the rest. Listeners are passed on at most once and are sockets that listen, records are JSON
 * objects, and no other descriptor stays open. */
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/launcher_control.h"
#include "json/json.h"

enum { LISTENER, DATAGRAMS, PIPE, KINDS, FDS_MAX = 3 * KINDS };

static int made[KINDS];

static void make_all(void)
{
    const struct sockaddr_in local = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int ends[2];
    made[LISTENER] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    made[DATAGRAMS] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (int i = LISTENER; i <= DATAGRAMS; i++) {
        require(bind(made[i], (const struct sockaddr *)&local, sizeof local) == 0);
    }
    require(listen(made[LISTENER], 1) == 0);
    require(pipe2(ends, O_CLOEXEC) == 0);
    made[PIPE] = ends[0];
}

typedef struct heard {
    size_t calls;
} heard;

static void on_record(void *user, arcp_span record)
{
    (void)user;
    arcp_json json = ARCP__JSON_INIT;
    require(record.size <= ARCP__LAUNCH_RECORD_MAX);
    require(arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK);
    require(arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT));
    arcp__json_fini(&json);
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    heard *h = user;
    require(h->calls++ == 0);
    require(count > 0 && count <= ARCP__LAUNCH_LISTENERS_MAX);
    for (size_t i = 0; i < count; i++) {
        int type = 0;
        socklen_t size = sizeof type;
        require(getsockopt(sockets[i], SOL_SOCKET, SO_TYPE, &type, &size) == 0);
        require(type == SOCK_STREAM || type == SOCK_DGRAM);
        require(close(sockets[i]) == 0);
    }
}

static void on_refused(void *user, const char *reason)
{
    (void)user;
    require(reason != NULL && *reason != '\0');
}

/* Two bits for each kind: how many of them. */
static void send_line(int to, uint8_t which, arcp_span text)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char bytes[4096];
    int fds[FDS_MAX];
    size_t count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned i = (which >> (2 * kind)) & 3; i > 0; i--) {
            fds[count++] = made[kind];
        }
    }
    if (text.size > sizeof bytes) {
        return;
    }
    memcpy(bytes, text.data, text.size);
    memcpy(CMSG_DATA(&control.header), fds, count * sizeof *fds);
    control.header.cmsg_len = CMSG_LEN(count * sizeof *fds);
    struct iovec part = {.iov_base = bytes, .iov_len = text.size};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = count == 0 ? NULL : &control,
                                   .msg_controllen =
                                       count == 0 ? 0 : CMSG_SPACE(count * sizeof *fds)};
    (void)sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arcp__launch_control control;
    heard h = {0};
    const arcp__launch_control_events events = {on_record, on_listeners, on_refused, NULL, &h};
    int pair[2];
    if (made[LISTENER] == 0) {
        make_all();
    }
    const int free_fd = dup(made[PIPE]);
    require(free_fd >= 0 && close(free_fd) == 0);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    arcp__launch_control_init(&control, pair[0], &events);
    arcp_span rest = arcp_span_make((const char *)data, size);
    bool is_open = true;
    while (rest.size > 1 && is_open) {
        const char *end = memchr(rest.data + 1, '\n', rest.size - 1);
        const size_t length = end == NULL ? rest.size - 1 : (size_t)(end - rest.data - 1);
        send_line(pair[1], (uint8_t)rest.data[0], arcp_span_make(rest.data + 1, length));
        rest = arcp_span_from(rest, length + 1 < rest.size ? length + 2 : rest.size);
        is_open = arcp__launch_control_take(&control);
    }
    (void)close(pair[1]);
    (void)arcp__launch_control_take(&control);
    arcp__launch_control_fini(&control);
    const int after = dup(made[PIPE]);
    require(after == free_fd && close(after) == 0);
    return 0;
}
