/* Answers to the program, and the count of the broker's threads. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "broker/broker_task.h"

static void answer(arcp__broker_task *task, const struct seccomp_notif_resp *response)
{
    assert(!task->is_answered);
    task->is_answered = true;
    /* ENOENT: the program was killed meanwhile. */
    const int result = ioctl(task->broker->listener, SECCOMP_IOCTL_NOTIF_SEND, response);
    assert(result == 0 || errno == ENOENT);
    (void)result;
}

void arcp__broker_task_continue(arcp__broker_task *task)
{
    const struct seccomp_notif_resp response = {.id = task->request->id,
                                                .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    answer(task, &response);
}

void arcp__broker_task_fail(arcp__broker_task *task, int error)
{
    const struct seccomp_notif_resp response = {.id = task->request->id,
                                                .error = error > 0 ? -error : -EACCES};
    answer(task, &response);
}

void arcp__broker_task_return(arcp__broker_task *task, int64_t value)
{
    const struct seccomp_notif_resp response = {.id = task->request->id, .val = value};
    answer(task, &response);
}

void arcp__broker_task_give(arcp__broker_task *task, int fd)
{
    struct seccomp_notif_addfd gift = {
        .id = task->request->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)fd,
        .newfd_flags = (uint32_t)(task->open_flags & O_CLOEXEC),
    };
    if (ioctl(task->broker->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift) >= 0) {
        assert(!task->is_answered);
        task->is_answered = true;
        return;
    }
    /* Nothing was answered then. EMFILE is the program's own limit. */
    arcp__broker_task_fail(task, errno == EMFILE ? EMFILE : EACCES);
}

bool arcp__broker_task_is_valid(const arcp__broker_task *task)
{
    return ioctl(task->broker->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &task->request->id) == 0;
}

void arcp__broker_task_report(arcp__broker_task *task, const char *capability, arcp_span target)
{
    arcp__broker_denials_add(task->broker->denials, capability, target, (pid_t)task->request->pid);
}

/* ---- threads ---- */

void arcp__broker_enter(arcp__broker *broker)
{
    (void)pthread_mutex_lock(&broker->lock);
    broker->running++;
    (void)pthread_mutex_unlock(&broker->lock);
}

void arcp__broker_leave(arcp__broker *broker)
{
    (void)pthread_mutex_lock(&broker->lock);
    broker->running--;
    (void)pthread_cond_broadcast(&broker->ended);
    (void)pthread_mutex_unlock(&broker->lock);
}
