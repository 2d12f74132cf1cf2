/* A lease that comes when the program runs.
 *
 * A thread of the monitor takes it from the control socket, once: the program has no descriptor of
 * that socket. The message is {"lease":true} with the plan in a sealed file, as that of a start. It
 * must be a plan that differs from the one of the start in its lease alone. Anything else ends the
 * sandbox: the process that starts us does not send it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "launch/launcher_control.h"
#include "launch/sandbox_helper/helper.h"

static struct {
    pthread_mutex_t lock; /* of the two: a broker is either given a lease or freed */
    arcp__broker *broker;
    bool is_over;
    const arcp__sandbox_plan *waiting;
} lease = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Waits for the message, and returns its descriptor; -1: the other end was closed, and nothing
 * comes any more. */
static int receive(void)
{
    static const char wanted[] = ARCP__LAUNCH_LEASE_TEXT;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra;
    char text[sizeof wanted];
    struct iovec part = {.iov_base = text, .iov_len = sizeof text};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    int fd = -1;
    ssize_t size;
    do {
        size = recvmsg(ARCP__LAUNCH_CONTROL_FD, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size <= 0) {
        return -1;
    }
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    }
    if (fd < 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
        size != (ssize_t)sizeof wanted - 1 || memcmp(text, wanted, sizeof wanted - 1) != 0) {
        errno = EPROTO;
        arcp__helper_fail(NULL);
    }
    return fd;
}

static void *take(void *unused)
{
    arcp__sandbox_plan *plan = NULL;
    (void)unused;
    arcp__helper_begin(ARCP__HELPER_LEASE);
    const int fd = receive();
    if (fd < 0) {
        return NULL;
    }
    const arcp__sandbox_plan *given = arcp__helper_read_plan(fd);
    if (!arcp__sandbox_plan_takes(lease.waiting, given)) {
        errno = EPERM;
        arcp__helper_fail(NULL);
    }
    /* Both stay as long as the broker does, which is until the end. */
    if (arcp__sandbox_plan_with_lease(lease.waiting, given, &plan, NULL) != ARCP_OK) {
        errno = ENOMEM;
        arcp__helper_fail(NULL);
    }
    (void)pthread_mutex_lock(&lease.lock);
    const int number = lease.is_over ? 0 : arcp__broker_set_lease(lease.broker, plan);
    (void)pthread_mutex_unlock(&lease.lock);
    if (number != 0) {
        errno = number;
        arcp__helper_fail(NULL);
    }
    arcp__helper_report_leased();
    return NULL;
}

void arcp__helper_lease_await(const arcp__helper *helper, arcp__broker *broker)
{
    arcp__helper_begin(ARCP__HELPER_LEASE);
    lease.waiting = helper->plan;
    lease.broker = broker;
    pthread_t thread;
    const int error =
        broker == NULL ? EINVAL : arcp__thread_start(&thread, "arcp-lease", take, NULL);
    if (error != 0) {
        errno = error;
        arcp__helper_fail(NULL);
    }
    (void)pthread_detach(thread); /* it may wait for the message until the process ends */
}

void arcp__helper_lease_end(void)
{
    (void)pthread_mutex_lock(&lease.lock);
    lease.is_over = true;
    (void)pthread_mutex_unlock(&lease.lock);
}
