/* The threads that take the program's calls from the listener.
 *
 * Every request gets exactly one answer, on each path: a program that gets none waits for ever.
 * Up to four threads, so that a slow file system delays one call at a time: one that takes a call
 * when no other waits for the next one starts another. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/broker_task.h"

enum {
    LOOKS_MAX = 2 * ARCP__BROKER_LOOK_COUNT,
    FINISH_SECONDS = 1,
    STACK_BYTES = 512 << 10, /* the largest frame has an attribute of 64 KiB */
};

/* Since Linux 6.6; Debian 12's headers are older. */
#define NOTIFY_SET_FLAGS    SECCOMP_IOW(4, __u64)
#define NOTIFY_SYNC_WAKE_UP (1UL << 0)

/* ---- one request ---- */

/* The kernel decides; but a name that begins at a listing means another one to it. */
static void continue_call(arcp__broker_task *task)
{
    const arcp__broker_operation operation = task->call.operation;
    const bool is_question = operation == ARCP__BROKER_STAT || operation == ARCP__BROKER_ACCESS ||
                             operation == ARCP__BROKER_READLINK;
    if (!task->begins_at_view || (operation != ARCP__BROKER_OPEN && !is_question)) {
        arcp__broker_task_continue(task);
        return;
    }
    if (operation == ARCP__BROKER_OPEN) {
        arcp__broker_serve_inside(task);
        return;
    }
    if (arcp__broker_classify(task->classes, task->call.path).kernel == 0) {
        arcp__broker_task_continue(
            task); /* nothing of the sandbox: nothing in the listing either */
        return;
    }
    const arcp__broker_fact *inside = &task->facts.looks[ARCP__BROKER_LOOK_INSIDE];
    if (!inside->is_known) {
        arcp__broker_look_at(task, ARCP__BROKER_LOOK_INSIDE);
    }
    if (inside->error != 0) {
        arcp__broker_task_fail(task, inside->error);
    } else if (operation == ARCP__BROKER_READLINK && inside->type != ARCP__BROKER_A_LINK) {
        arcp__broker_task_fail(task, EINVAL);
    } else {
        arcp__broker_serve_stat(task, ARCP__BROKER_LOOK_INSIDE);
    }
}

static void carry_out(arcp__broker_task *task, const arcp__broker_answer *decision)
{
    switch (decision->kind) {
    case ARCP__BROKER_CONTINUE:
        continue_call(task);
        return;
    case ARCP__BROKER_LIST:
        arcp__broker_serve_list(task);
        return;
    case ARCP__BROKER_FAIL:
        if (decision->is_denial) {
            arcp__broker_task_report(task, decision->is_write ? "fs.write" : "fs.read",
                                     decision->target);
        }
        arcp__broker_task_fail(task, decision->error);
        return;
    case ARCP__BROKER_LOOK:
        arcp__broker_task_fail(task, EACCES);
        return;
    case ARCP__BROKER_SERVE:
        break;
    }
    switch (task->call.operation) {
    case ARCP__BROKER_OPEN:
    case ARCP__BROKER_TRUNCATE:
        arcp__broker_serve_open(task);
        return;
    case ARCP__BROKER_UNLINK:
    case ARCP__BROKER_RMDIR:
    case ARCP__BROKER_MKDIR:
    case ARCP__BROKER_RENAME:
        arcp__broker_serve_change(task);
        return;
    case ARCP__BROKER_STAT:
    case ARCP__BROKER_ACCESS:
    case ARCP__BROKER_READLINK:
        arcp__broker_serve_stat(task, ARCP__BROKER_LOOK_HOST);
        return;
    case ARCP__BROKER_LINK:
    case ARCP__BROKER_SYMLINK:
    case ARCP__BROKER_MKNOD:
    case ARCP__BROKER_CHDIR:
    case ARCP__BROKER_XATTR:
    case ARCP__BROKER_OWNER:
    case ARCP__BROKER_CONNECT:
    case ARCP__BROKER_EXECUTE:
    case ARCP__BROKER_OPERATION_COUNT:
        break;
    }
    arcp__broker_task_fail(task, EACCES);
}

static void handle(arcp__broker_task *task)
{
    task->syscall = arcp__sandbox_syscall_find(ARCP__SANDBOX_MACHINE_HERE, task->request->data.nr);
    if (task->broker->plan->origin == ARCP__SANDBOX_ORIGIN_LEARN) {
        arcp__broker_observe(task);
        return;
    }
    if (task->syscall == ARCP__SANDBOX_SYSCALL_CONNECT) {
        arcp__broker_serve_connect(task);
        return;
    }
    if (task->syscall == ARCP__SANDBOX_SYSCALL_LISTEN) {
        arcp__broker_serve_listen(task);
        return;
    }
    if (arcp__broker_changes_owner(task->syscall)) {
        arcp__broker_serve_owner(task);
        return;
    }
    if (!arcp__broker_knows(task->syscall)) {
        arcp__broker_task_fail(task, EPERM); /* never continued: the kernel would not refuse it */
        return;
    }
    if (!arcp__broker_task_read(task)) {
        arcp__broker_task_continue(task);
        return;
    }
    arcp__broker_answer decision = {.kind = ARCP__BROKER_LOOK};
    for (int i = 0; i < LOOKS_MAX && decision.kind == ARCP__BROKER_LOOK; i++) {
        decision = arcp__broker_decide(task->classes, &task->call, &task->facts);
        if (decision.kind == ARCP__BROKER_LOOK) {
            arcp__broker_look_at(task, decision.look);
        }
    }
    carry_out(task, &decision);
}

static void begin_task(arcp__broker_task *task)
{
    task->classes = atomic_load(&task->broker->classes);
    task->is_answered = false;
    task->open_flags = 0;
    task->begins_at_view = false;
    memset(&task->facts, 0, sizeof task->facts);
    for (size_t i = 0; i < ARCP__BROKER_LOOK_COUNT; i++) {
        task->found[i] = -1;
    }
}

static void end_task(arcp__broker_task *task)
{
    assert(task->is_answered);
    for (size_t i = 0; i < ARCP__BROKER_LOOK_COUNT; i++) {
        if (task->found[i] >= 0) {
            (void)close(task->found[i]);
        }
    }
}

/* No process has the filter any more. */
static bool has_ended(const arcp__broker *broker)
{
    struct pollfd listener = {.fd = broker->listener, .events = POLLIN};
    return poll(&listener, 1, 0) > 0 && (listener.revents & POLLIN) == 0 &&
           (listener.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static void *run(void *user);

/* Returns 0 or an errno. */
static int start_thread(arcp__broker *broker)
{
    int error = 0;
    (void)pthread_mutex_lock(&broker->lock);
    if (broker->thread_count < ARCP__BROKER_THREADS) {
        broker->running++;
        error = arcp__thread_start_sized(&broker->threads[broker->thread_count], STACK_BYTES, run,
                                         broker);
        if (error == 0) {
            broker->thread_count++;
        } else {
            broker->running--;
        }
    }
    (void)pthread_mutex_unlock(&broker->lock);
    return error;
}

static void *run(void *user)
{
    arcp__broker *broker = user;
    (void)pthread_setname_np(pthread_self(), "arcp-broker");
    arcp__broker_task *task = arcp__alloc(sizeof *task);
    struct seccomp_notif *request = arcp__alloc(broker->request_bytes);
    if (task == NULL || request == NULL) {
        abort(); /* without its threads the program would wait for ever; so it ends with us */
    }
    for (;;) {
        memset(request, 0, broker->request_bytes);
        (void)atomic_fetch_add(&broker->waiting, 1);
        const bool has_call = ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_RECV, request) == 0;
        const int number = errno;
        const bool was_last = atomic_fetch_sub(&broker->waiting, 1) == 1;
        if (!has_call) {
            /* ENOENT: the program was killed before its call was taken, or all have ended. */
            if (has_ended(broker)) {
                break;
            }
            if (number != EINTR && number != ENOENT && number != ENOMEM) {
                abort();
            }
            continue;
        }
        if (was_last) {
            (void)start_thread(broker); /* fewer serve as well */
        }
        task->broker = broker;
        task->request = request;
        begin_task(task);
        handle(task);
        end_task(task);
    }
    arcp__free(request);
    arcp__free(task);
    arcp__broker_leave(broker);
    return NULL;
}

/* ---- start and end ---- */

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void close_descriptors(const arcp__broker_descriptors *descriptors)
{
    for (size_t i = 0; i < descriptors->clone_count; i++) {
        close_fd(descriptors->clones[i].fd);
    }
    close_fd(descriptors->listener);
    close_fd(descriptors->root);
    close_fd(descriptors->sockets);
    close_fd(descriptors->views);
    close_fd(descriptors->views_read);
}

static void free_broker(arcp__broker *broker)
{
    for (size_t i = 0; i < broker->clone_count; i++) {
        close_fd(broker->clones[i].fd);
    }
    close_fd(broker->listener);
    close_fd(broker->root);
    close_fd(broker->sockets);
    close_fd(broker->host);
    arcp__broker_connects_free(broker->connects);
    arcp__broker_views_free(broker->views);
    arcp__broker_denials_free(broker->denials);
    arcp__broker_classes_free(broker->first_classes);
    arcp__broker_classes_free(broker->lease_classes);
    arcp__broker_classes_free(broker->revoked_classes);
    arcp__sandbox_plan_free(broker->revoked_plan);
    (void)pthread_mutex_destroy(&broker->change);
    (void)pthread_mutex_destroy(&broker->lock);
    (void)pthread_cond_destroy(&broker->ended);
    arcp__free(broker->clones);
    arcp__free(broker);
}

static int init_parts(arcp__broker *broker)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) {
        return errno;
    }
    broker->request_bytes = sizes.seccomp_notif > sizeof(struct seccomp_notif)
                                ? sizes.seccomp_notif
                                : sizeof(struct seccomp_notif);
    broker->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (broker->host < 0) {
        return errno;
    }
    arcp_error error = {0};
    if (arcp__broker_classes_new(broker->plan, &broker->first_classes, &error) != ARCP_OK) {
        return error.status == ARCP_E_NO_MEMORY ? ENOMEM : EINVAL;
    }
    atomic_store(&broker->classes, broker->first_classes);
    broker->denials = arcp__broker_denials_new(broker->control);
    broker->connects = arcp__broker_connects_new();
    return broker->denials == NULL || broker->connects == NULL ? ENOMEM : 0;
}

int arcp__broker_new(const arcp__sandbox_plan *plan, int control, arcp__broker **out)
{
    arcp__broker *broker = arcp__alloc(sizeof *broker);
    if (broker == NULL) {
        return ENOMEM;
    }
    broker->plan = plan;
    broker->control = control;
    broker->host = broker->listener = broker->root = broker->sockets = -1;
    (void)pthread_mutex_init(&broker->change, NULL);
    (void)pthread_mutex_init(&broker->lock, NULL);
    (void)pthread_cond_init(&broker->ended, NULL);
    const int error = init_parts(broker);
    if (error != 0) {
        free_broker(broker);
        return error;
    }
    *out = broker;
    return 0;
}

int arcp__broker_start(arcp__broker *broker, const arcp__broker_descriptors *descriptors)
{
    const bool has_views = descriptors->views >= 0 && descriptors->views_read >= 0;
    arcp__broker_clone *clones = arcp__alloc_array(descriptors->clone_count + 1, sizeof *clones);
    if (clones != NULL && has_views) {
        broker->views = arcp__broker_views_new(descriptors->views, descriptors->views_read);
    }
    if (clones == NULL || (has_views && broker->views == NULL)) {
        arcp__free(clones);
        close_descriptors(descriptors);
        return ENOMEM;
    }
    if (!has_views) {
        close_fd(descriptors->views);
        close_fd(descriptors->views_read);
    }
    memcpy(clones, descriptors->clones, descriptors->clone_count * sizeof *clones);
    broker->clones = clones;
    broker->clone_count = descriptors->clone_count;
    broker->listener = descriptors->listener;
    broker->root = descriptors->root;
    broker->sockets = descriptors->sockets;
    broker->proxy_port = descriptors->proxy_port;
    /* The program sleeps until it has its answer, so the thread that answers may run on its core:
     * calls take about a tenth less. Kernels before 6.6 refuse it, which changes nothing else. */
    (void)ioctl(broker->listener, NOTIFY_SET_FLAGS, NOTIFY_SYNC_WAKE_UP);
    (void)umask(0); /* what is made for the program has the program's own */
    return start_thread(broker);
}

int arcp__broker_set_lease(arcp__broker *broker, const arcp__sandbox_plan *plan)
{
    arcp_error error = {0};
    if (!broker->plan->is_late || broker->lease_classes != NULL) {
        return EPERM;
    }
    if (arcp__broker_classes_new(plan, &broker->lease_classes, &error) != ARCP_OK) {
        return error.status == ARCP_E_NO_MEMORY ? ENOMEM : EINVAL;
    }
    arcp__broker_denials_clear(broker->denials);
    atomic_store(&broker->classes, broker->lease_classes);
    return 0;
}

int arcp__broker_revoke(arcp__broker *broker)
{
    arcp_error error = {0};
    const arcp__sandbox_plan *plan = arcp__broker_classes_plan(atomic_load(&broker->classes));
    if (broker->revoked_plan != NULL) {
        return EPERM;
    }
    if (arcp__sandbox_plan_before_lease(plan, &broker->revoked_plan, &error) != ARCP_OK ||
        arcp__broker_classes_new(broker->revoked_plan, &broker->revoked_classes, &error) !=
            ARCP_OK) {
        return error.status == ARCP_E_NO_MEMORY ? ENOMEM : EINVAL;
    }
    atomic_store(&broker->classes, broker->revoked_classes);
    return 0;
}

void arcp__broker_finish(arcp__broker *broker)
{
    if (broker == NULL) {
        return;
    }
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FINISH_SECONDS;
    (void)pthread_mutex_lock(&broker->lock);
    int waited = 0;
    while (broker->running > 0 && waited == 0) {
        waited = pthread_cond_timedwait(&broker->ended, &broker->lock, &until);
    }
    const bool all_ended = broker->running == 0;
    (void)pthread_mutex_unlock(&broker->lock);
    if (!all_ended) {
        /* A thread hangs in a file system: its memory and descriptors stay. */
        arcp__broker_denials_flush(broker->denials);
        return;
    }
    for (size_t i = 0; i < broker->thread_count; i++) {
        (void)pthread_join(broker->threads[i], NULL);
    }
    free_broker(broker);
}
