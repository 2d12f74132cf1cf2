/* A lease that changes while the program runs: it comes late, or it is revoked.
 *
 * A thread of the monitor takes messages from the control socket: the program has no descriptor of
 * that socket. {"lease":true} has the plan in a sealed file, as that of a start; a sandbox whose
 * plan is late takes it once. It must be a plan that differs from the one of the start in its lease
 * alone. {"revoke":true} is the last message. Anything else ends the sandbox: the process that
 * starts us does not send it. */
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

typedef enum message_type {
    MESSAGE_NONE, /* the other end was closed, and nothing comes any more */
    MESSAGE_LEASE,
    MESSAGE_REVOKE,
} message_type;

static bool is_text(const char *text, ssize_t size, const char *wanted)
{
    return size == (ssize_t)strlen(wanted) && memcmp(text, wanted, (size_t)size) == 0;
}

/* Waits for the next message; *fd is the descriptor that came with a lease. */
static message_type receive(int *fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra;
    char text[64];
    struct iovec part = {.iov_base = text, .iov_len = sizeof text};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    ssize_t size;
    do {
        size = recvmsg(ARCP__LAUNCH_CONTROL_FD, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size <= 0) {
        return MESSAGE_NONE;
    }
    *fd = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof *fd)) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
    const bool is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (is_whole && *fd >= 0 && is_text(text, size, ARCP__LAUNCH_LEASE_TEXT)) {
        return MESSAGE_LEASE;
    }
    if (is_whole && header == NULL && is_text(text, size, ARCP__LAUNCH_REVOKE_TEXT)) {
        return MESSAGE_REVOKE;
    }
    errno = EPROTO;
    arcp__helper_fail(NULL);
}

/* Carries out a change of the broker, unless it is over: that is no error. */
static void change(const arcp__sandbox_plan *plan)
{
    int number = 0;
    (void)pthread_mutex_lock(&lease.lock);
    if (!lease.is_over) {
        number = plan != NULL ? arcp__broker_set_lease(lease.broker, plan)
                              : arcp__broker_revoke(lease.broker);
    }
    (void)pthread_mutex_unlock(&lease.lock);
    if (number != 0) {
        errno = number;
        arcp__helper_fail(NULL);
    }
}

static void take_lease(int fd)
{
    arcp__sandbox_plan *plan = NULL;
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
    change(plan);
    arcp__helper_report_leased();
}

static void *take(void *unused)
{
    int fd = -1;
    (void)unused;
    arcp__helper_begin(ARCP__HELPER_LEASE);
    message_type type = receive(&fd);
    if (type == MESSAGE_LEASE && lease.waiting->is_late) {
        take_lease(fd);
        while ((type = receive(&fd)) == MESSAGE_LEASE) { /* once */
            (void)close(fd);
        }
    }
    if (type == MESSAGE_REVOKE) {
        change(NULL);
    } else if (type == MESSAGE_LEASE) {
        errno = EPERM;
        arcp__helper_fail(NULL);
    }
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
    (void)pthread_detach(thread); /* it may wait for a message until the process ends */
}

void arcp__helper_lease_end(void)
{
    (void)pthread_mutex_lock(&lease.lock);
    lease.is_over = true;
    (void)pthread_mutex_unlock(&lease.lock);
}
