/* Inside: makes the sandbox, then starts the program. The order matters: what a step needs, a later
 * one takes away.
 *
 *   death signal - maps - network - view of files - name - limits - privileges - directory -
 *   Landlock - filter - the program
 *
 * From the filter on init is confined as the program is. It is pid 1, of the same user, and the
 * program could look into it: it keeps no descriptor but that to the monitor, and cannot be
 * dumped. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/broker.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_filter.h"
#include "launch/sandbox_helper/helper_landlock.h"
#include "launch/sandbox_helper/helper_submounts.h"

/* Also what the prepared /etc calls this host. */
#define HOST_NAME "arcp"

/* ---- steps ---- */

/* A change of credentials undoes it, so it is done again behind each. */
static void die_with_monitor(const arcp__helper *helper)
{
    struct pollfd monitor = {.fd = helper->channel, .events = 0};
    arcp__helper_begin(ARCP__HELPER_PARENT);
    /* getppid says nothing across namespaces; when the monitor has ended, so has its socket. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || poll(&monitor, 1, 0) != 0) {
        arcp__helper_fail(NULL);
    }
}

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0) {
        arcp__helper_fail(path);
    }
}

/* The user and group are those of outside, and there is no other. */
static void map_user(uid_t uid, gid_t gid)
{
    char text[64];
    arcp__helper_begin(ARCP__HELPER_MAPS);
    write_file("/proc/self/setgroups", "deny");
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)gid, (unsigned)gid);
    write_file("/proc/self/gid_map", text);
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)uid, (unsigned)uid);
    write_file("/proc/self/uid_map", text);
}

static void limit(int resource, uint64_t soft, uint64_t hard)
{
    const struct rlimit value = {
        .rlim_cur = soft == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)soft,
        .rlim_max = hard == ARCP_LAUNCH_NO_LIMIT ? RLIM_INFINITY : (rlim_t)hard,
    };
    if (setrlimit((__rlimit_resource_t)resource, &value) != 0) {
        arcp__helper_fail(NULL);
    }
}

/* Without a cgroup: of each process. A lower limit that the operator gave stays. */
static void limit_data(const arcp__sandbox_limits *limits)
{
    struct rlimit now;
    if (limits->memory_bytes == 0 || (limits->by_cgroup & ARCP__SANDBOX_LIMIT_MEMORY) != 0) {
        return;
    }
    if (getrlimit(RLIMIT_DATA, &now) != 0) {
        arcp__helper_fail(NULL);
    }
    const uint64_t hard =
        (uint64_t)now.rlim_max < limits->memory_bytes ? now.rlim_max : limits->memory_bytes;
    limit(RLIMIT_DATA, (uint64_t)now.rlim_cur < hard ? now.rlim_cur : hard, hard);
}

static void set_limits(const arcp__helper *helper)
{
    arcp__helper_begin(ARCP__HELPER_LIMITS);
    /* In a user namespace the count is the sandbox's own; it has init, too. Outside it would be
     * that of all processes of the user. */
    if (helper->plan->level == ARCP__SANDBOX_LEVEL_FULL && helper->plan->limits.pids != 0) {
        limit(RLIMIT_NPROC, (uint64_t)helper->plan->limits.pids + 1,
              (uint64_t)helper->plan->limits.pids + 1);
    }
    for (size_t i = 0; i < helper->child.limit_count; i++) {
        const arcp_launch_limit *given = &helper->child.limits[i];
        if (given->resource != RLIMIT_CORE) {
            limit(given->resource, given->soft, given->hard);
        }
    }
    limit_data(&helper->plan->limits);
    /* No file is written. With 0 the kernel would still start a program of the host that its
     * core_pattern names, as root. */
    limit(RLIMIT_CORE, 1, 1);
}

/* Without a view, a rule is also of what is mounted below its path, and no cover is there to hide
 * what the kernel has in its files. */
static void refuse_kernel_files(const arcp__sandbox_plan *plan)
{
    char *mounts = arcp__helper_read_mountinfo();
    if (mounts == NULL) {
        arcp__helper_fail("/proc/self/mountinfo");
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp_span path = plan->rules[i].path;
        char name[4096];
        char point[4096];
        char type[ARCP__HELPER_TYPE_MAX];
        if (plan->rules[i].class != ARCP__SANDBOX_CLASS_LEASE || path.size >= sizeof name) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)path.size, path.data);
        arcp__helper_submounts below = arcp__helper_submounts_of(mounts, name);
        if (arcp__helper_is_in_kernel_mount(mounts, name) ||
            arcp__helper_submounts_next(&below, point, type)) {
            errno = EPERM;
            arcp__helper_fail(name);
        }
    }
    arcp__free(mounts);
}

/* Confines this process, and returns the filter's listener, or -1. */
static int confine(const arcp__helper *helper)
{
    const char *path = NULL;
    int listener = -1;
    const arcp__sandbox_plan *plan = helper->plan;
    const uint32_t *abilities = plan->abilities.values;
    const bool is_learning = plan->origin == ARCP__SANDBOX_ORIGIN_LEARN;
    const arcp__helper_filter filter = {
        .level = plan->level,
        .landlock = abilities[ARCP__SANDBOX_ABILITY_LANDLOCK],
        .has_broker = plan->has_broker,
        .traps_files = arcp__broker_traps_files(plan),
        .traps_names = arcp__broker_traps_names(plan),
        .traps_connect = plan->has_broker && abilities[ARCP__SANDBOX_ABILITY_PIDFD_GETFD] != 0,
        .has_proxy = plan->has_proxy,
        .is_learning = is_learning,
    };
    arcp__helper_begin(ARCP__HELPER_CAPABILITIES);
    errno = arcp__helper_capabilities_drop();
    if (errno != 0) {
        arcp__helper_fail(NULL);
    }
    die_with_monitor(helper);
    arcp__helper_begin(ARCP__HELPER_CWD);
    char directory[4096];
    if (snprintf(directory, sizeof directory, "%.*s", (int)plan->cwd.size, plan->cwd.data) >=
            (int)sizeof directory ||
        chdir(directory) != 0) {
        arcp__helper_fail_at(plan->cwd);
    }
    arcp__helper_begin(ARCP__HELPER_LANDLOCK);
    if (!is_learning) { /* a command that is only watched may use all files */
        if (plan->level == ARCP__SANDBOX_LEVEL_LANDLOCK) {
            refuse_kernel_files(plan);
        }
        errno = arcp__helper_landlock(plan, &plan->abilities, helper->proxy.port, &path);
        if (errno != 0) {
            arcp__helper_fail(path);
        }
    }
    arcp__helper_begin(ARCP__HELPER_FILTER);
    errno = arcp__helper_filter_install(&filter, &listener);
    if (errno != 0) {
        arcp__helper_fail(NULL);
    }
    return listener;
}

/* ---- the program ---- */

static _Noreturn void execute(const arcp__helper *helper, mode_t mask)
{
    sigset_t none;
    arcp__helper_begin(ARCP__HELPER_EXEC);
    (void)sigemptyset(&none);
    (void)umask(mask);
    /* The control socket stays until exec, for its failure. */
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        (void)execve(helper->child.program, helper->child.argv, helper->child.env);
    }
    arcp__helper_fail(helper->child.program);
}

/* A signal that waits and would end a program; 0: none. */
static int pending_end(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t pending;
    (void)sigpending(&pending);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (sigismember(&pending, numbers[i]) == 1) {
            return numbers[i];
        }
    }
    return 0;
}

static void tell(const arcp__helper *helper, arcp__helper_word word, int code, bool by_signal)
{
    const arcp__helper_message message = {.word = word, .code = code, .by_signal = by_signal};
    (void)arcp__helper_tell(helper->channel, &message, -1); /* without it we are being killed */
}

/* Waits for all that ends here, the orphans of the program too, until the program has ended. */
static _Noreturn void reap(const arcp__helper *helper, pid_t program)
{
    for (;;) {
        siginfo_t info;
        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED) != 0 || info.si_pid != program) {
            continue;
        }
        if (info.si_code == CLD_STOPPED) {
            tell(helper, ARCP__HELPER_WORD_STOPPED, info.si_status, true);
            continue;
        }
        tell(helper, ARCP__HELPER_WORD_EXITED, info.si_status, info.si_code != CLD_EXITED);
        _exit(0); /* and the kernel kills all others of the namespace */
    }
}

static _Noreturn void run_program(const arcp__helper *helper, mode_t mask)
{
    arcp__helper_begin(ARCP__HELPER_FORK);
    /* Signals to our group are blocked here, so that one that came during the set-up waits. */
    const int early = pending_end();
    if (early != 0) {
        tell(helper, ARCP__HELPER_WORD_EXITED, early, true);
        _exit(0);
    }
    const pid_t program = fork();
    if (program == 0) {
        execute(helper, mask);
    }
    if (program < 0) {
        arcp__helper_fail(NULL);
    }
    const int late = pending_end();
    if (late != 0) {
        (void)kill(program, late);
    }
    const unsigned channel = (unsigned)helper->channel;
    if (close_range(0, channel - 1, 0) != 0 || close_range(channel + 1, ~0U, 0) != 0) {
        _exit(ARCP__HELPER_FAILED);
    }
    arcp__helper_drop_stack();
    reap(helper, program);
}

/* ---- init ---- */

/* Nothing runs before the monitor has confined itself and has started the broker. */
static void await_monitor(const arcp__helper *helper, int listener)
{
    const arcp__helper_message ready = {.word = ARCP__HELPER_WORD_READY};
    char byte;
    ssize_t got;
    arcp__helper_begin(ARCP__HELPER_PARENT);
    if (!arcp__helper_tell(helper->channel, &ready, listener)) {
        arcp__helper_fail(NULL);
    }
    if (listener >= 0) {
        (void)close(listener);
    }
    do {
        got = recv(helper->channel, &byte, 1, 0);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        _exit(ARCP__HELPER_FAILED); /* the monitor has said why */
    }
}

void arcp__helper_init(arcp__helper *helper)
{
    const bool is_full = helper->plan->level == ARCP__SANDBOX_LEVEL_FULL;
    const mode_t mask = umask(022);
    bool proc_is_outer = false;
    die_with_monitor(helper);
    if (is_full) {
        map_user(helper->uid, helper->gid);
    }
    /* Before anything of value is in here: programs of this user outside could look, too. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0) {
        arcp__helper_fail(NULL);
    }
    if (is_full) {
        arcp__helper_net(helper);
        proc_is_outer = arcp__helper_mount(helper);
        arcp__helper_begin(ARCP__HELPER_HOSTNAME);
        if (sethostname(HOST_NAME, sizeof HOST_NAME - 1) != 0) {
            arcp__helper_fail(NULL);
        }
    }
    set_limits(helper);
    await_monitor(helper, confine(helper));
    arcp__helper_report_running(proc_is_outer);
    if (is_full) {
        run_program(helper, mask);
    }
    execute(helper, mask);
}
