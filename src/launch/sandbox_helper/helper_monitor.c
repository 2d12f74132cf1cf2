/* Outside: what the launcher started, and what ends as the program does. It ignores all signals to
 * the group but KILL, which ends the sandbox: init dies with it, and with init everything inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/broker.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_filter.h"

#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)

static bool is_full(const arcp__helper *helper)
{
    return helper->plan->level == ARCP__SANDBOX_LEVEL_FULL;
}

/* Ends as the program did. */
static _Noreturn void end_by_signal(int number)
{
    const struct rlimit none = {0, 0};
    sigset_t only;
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    _exit(128 + number);
}

static int pending_signal(void)
{
    sigset_t pending;
    (void)sigpending(&pending);
    for (int number = 1; number < SIGRTMIN; number++) {
        if (sigismember(&pending, number) == 1 &&
            (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT)) {
            return number;
        }
    }
    return 0;
}

static pid_t start_init(arcp__helper *helper, const int pair[2])
{
    const unsigned long flags = SIGCHLD | (is_full(helper) ? NAMESPACES : 0);
    arcp__helper_begin(ARCP__HELPER_CLONE);
    /* Not clone3: filters of containers that do not know it answer ENOSYS. The zeros are in the
     * same places on all machines. */
    const pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid < 0) {
        arcp__helper_fail(NULL);
    }
    if (pid == 0) {
        (void)close(pair[0]);
        helper->channel = pair[1];
        arcp__helper_init(helper);
    }
    return pid;
}

/* What parses what the program says must not be worth breaking: from here on, no privilege, no new
 * process or program, no new socket. */
static void confine_monitor(void)
{
    arcp__helper_begin(ARCP__HELPER_MONITOR);
    errno = prctl(PR_SET_DUMPABLE, 0) != 0 ? errno : arcp__helper_capabilities_drop();
    if (errno == 0) {
        errno = arcp__helper_filter_monitor();
    }
    if (errno != 0) {
        arcp__helper_fail(NULL);
    }
}

/* Without a pid namespace, what the program left behind is ours, and is killed one by one. */
static void kill_orphans(void)
{
    for (;;) {
        char text[4096];
        siginfo_t info = {0};
        const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (fd >= 0) {
            (void)close(fd);
        }
        text[size < 0 ? 0 : size] = '\0';
        char *rest = text;
        for (long pid = strtol(rest, &rest, 10); pid > 0; pid = strtol(rest, &rest, 10)) {
            (void)kill((pid_t)pid, SIGKILL);
        }
        if (waitid(P_ALL, 0, &info, WEXITED | (size <= 0 ? WNOHANG : 0)) != 0 || info.si_pid == 0) {
            return;
        }
    }
}

/* What init has told so far. */
typedef struct told_state {
    arcp__sandbox_plan plan; /* the broker's: of the .git that are there */
    arcp__broker *broker;
    arcp__broker_descriptors descriptors;
    arcp__broker_clone clones[ARCP__BROKER_CLONES_MAX];
    arcp__helper_message end; /* when has_ended */
    bool has_ended;
} told_state;

static void keep_clone(told_state *state, const arcp__helper_message *message, int fd)
{
    const size_t count = state->descriptors.clone_count;
    const char *path = arcp__copy_cstr(message->path, strlen(message->path));
    if (path == NULL || count == ARCP__BROKER_CLONES_MAX) {
        errno = ENOMEM;
        arcp__helper_fail(message->path);
    }
    state->clones[count] = (arcp__broker_clone){arcp_span_cstr(path), fd};
    state->descriptors.clone_count++;
}

/* The plan for the broker: it protects no .git that is not there, as no mount does. */
static const arcp__sandbox_plan *plan_of_broker(const arcp__helper *helper, told_state *state)
{
    const arcp__sandbox_plan *plan = helper->plan;
    arcp__sandbox_mount *mounts = arcp__alloc_array(plan->mount_count + 1, sizeof *mounts);
    if (mounts == NULL) {
        errno = ENOMEM;
        arcp__helper_fail(NULL);
    }
    state->plan = *plan;
    state->plan.mounts = mounts;
    state->plan.mount_count = 0;
    for (size_t i = 0; i < plan->mount_count; i++) {
        if (plan->mounts[i].kind != ARCP__SANDBOX_MOUNT_GIT || arcp__helper_has_git(helper, i)) {
            mounts[state->plan.mount_count++] = plan->mounts[i];
        }
    }
    return &state->plan;
}

/* Init is confined: once there is someone to answer its calls, it may start the program. */
static void let_go(const arcp__helper *helper, told_state *state, int listener)
{
    arcp__broker_descriptors *descriptors = &state->descriptors;
    arcp__helper_begin(ARCP__HELPER_BROKER);
    if (helper->plan->has_broker) {
        if (!is_full(helper)) {
            descriptors->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        descriptors->listener = listener;
        descriptors->clones = state->clones;
        descriptors->proxy_port = helper->proxy.port;
        errno = listener < 0 ? EBADF : arcp__broker_start(state->broker, descriptors);
        if (errno != 0) {
            arcp__helper_fail(NULL);
        }
    }
    if (arcp__broker_serves_lease(helper->plan)) {
        arcp__helper_lease_await(helper, state->broker);
    }
    arcp__helper_drop_stack();
    (void)send(helper->channel, "", 1, MSG_NOSIGNAL);
}

/* Waits for what init tells until its socket is closed: by its end, or at level landlock by the
 * exec of the program. */
static void hear_init(const arcp__helper *helper, told_state *state)
{
    arcp__helper_message message;
    int fd;
    while (arcp__helper_hear(helper->channel, &message, &fd)) {
        switch (message.word) {
        case ARCP__HELPER_WORD_CLONE:
            keep_clone(state, &message, fd);
            break;
        case ARCP__HELPER_WORD_ROOT:
            state->descriptors.root = fd;
            break;
        case ARCP__HELPER_WORD_VIEWS:
            state->descriptors.views = fd;
            break;
        case ARCP__HELPER_WORD_VIEWS_READ:
            state->descriptors.views_read = fd;
            break;
        case ARCP__HELPER_WORD_SOCKETS:
            state->descriptors.sockets = fd;
            break;
        case ARCP__HELPER_WORD_READY:
            let_go(helper, state, fd);
            break;
        case ARCP__HELPER_WORD_STOPPED:
            if (helper->plan->has_terminal) {
                (void)raise(SIGSTOP); /* the process that gave us the terminal takes it back */
            }
            break;
        case ARCP__HELPER_WORD_EXITED:
            state->end = message;
            state->has_ended = true;
            break;
        }
    }
}

/* How the process that the monitor started ended; at level landlock it is the program. */
static siginfo_t wait_for(const arcp__helper *helper, pid_t init)
{
    siginfo_t info;
    const int options = WEXITED | (is_full(helper) ? 0 : WSTOPPED);
    for (;;) {
        if (waitid(P_PID, (id_t)init, &info, options) != 0) {
            arcp__helper_fail(NULL); /* with all signals blocked this is no interruption */
        }
        if (info.si_code != CLD_STOPPED) {
            return info;
        }
        if (helper->plan->has_terminal) {
            (void)raise(SIGSTOP);
        }
    }
}

int arcp__helper_monitor(arcp__helper *helper)
{
    static told_state state = {
        .descriptors = {.listener = -1, .root = -1, .views = -1, .views_read = -1, .sockets = -1}};
    int pair[2];
    sigset_t all;
    arcp__helper_begin(ARCP__HELPER_CHANNEL);
    (void)sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
        (!is_full(helper) && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)) {
        arcp__helper_fail(NULL);
    }
    const pid_t init = start_init(helper, pair);
    const int early = pending_signal();
    if (early != 0) { /* init may not have been there yet to get it */
        (void)kill(init, SIGKILL);
        end_by_signal(early);
    }
    (void)close(pair[1]);
    helper->channel = pair[0];
    /* The reader of the program's output must see its end when the program closes it. */
    (void)close_range(0, 2, 0);
    confine_monitor();
    if (helper->plan->has_broker) { /* while init makes the view */
        arcp__helper_begin(ARCP__HELPER_BROKER);
        errno = arcp__broker_new(plan_of_broker(helper, &state), ARCP__LAUNCH_CONTROL_FD,
                                 &state.broker);
        if (errno != 0) {
            arcp__helper_fail(NULL);
        }
    }
    hear_init(helper, &state);
    const siginfo_t info = wait_for(helper, init);
    if (!is_full(helper)) {
        kill_orphans();
    }
    arcp__helper_lease_end();
    arcp__broker_finish(state.broker);
    if (is_full(helper)) {
        arcp__helper_report_planted(helper);
    }
    const bool by_signal = state.has_ended ? state.end.by_signal : info.si_code != CLD_EXITED;
    const int code = state.has_ended ? state.end.code : info.si_status;
    if (by_signal) {
        end_by_signal(code);
    }
    return code;
}
