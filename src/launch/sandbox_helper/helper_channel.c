#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper.h"

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

bool arcp__helper_tell(int channel, const arcp__helper_message *message, int fd)
{
    const union { /* sendmsg changes nothing there, whatever the type of iov_base says */
        const arcp__helper_message *from;
        void *to;
    } bytes = {message};
    struct iovec part = {.iov_base = bytes.to,
                         .iov_len = offsetof(arcp__helper_message, path) +
                                    strnlen(message->path, sizeof message->path - 1) + 1};
    struct msghdr datagram = {.msg_iov = &part, .msg_iovlen = 1};
    control extra = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS}};
    if (fd >= 0) {
        memcpy(CMSG_DATA(&extra.header), &fd, sizeof fd);
        datagram.msg_control = &extra;
        datagram.msg_controllen = sizeof extra;
    }
    ssize_t sent;
    do {
        sent = sendmsg(channel, &datagram, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)part.iov_len;
}

bool arcp__helper_hear(int channel, arcp__helper_message *message, int *fd)
{
    struct iovec part = {.iov_base = message, .iov_len = sizeof *message};
    control extra;
    struct msghdr datagram = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    ssize_t got;
    do {
        got = recvmsg(channel, &datagram, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= (ssize_t)offsetof(arcp__helper_message, path)) {
        return false;
    }
    message->path[sizeof message->path - 1] = '\0';
    *fd = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&datagram);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
    return true;
}

void arcp__helper_give(const arcp__helper *helper, arcp__helper_word word, arcp_span path, int fd)
{
    arcp__helper_message message = {.word = word};
    arcp__helper_begin(ARCP__HELPER_BROKER);
    if (fd < 0) {
        arcp__helper_fail_at(path);
    }
    if (path.size >= sizeof message.path) {
        errno = ENAMETOOLONG;
        arcp__helper_fail_at(path);
    }
    memcpy(message.path, path.data, path.size);
    if (!arcp__helper_tell(helper->channel, &message, fd)) {
        arcp__helper_fail_at(path);
    }
    (void)close(fd);
}
