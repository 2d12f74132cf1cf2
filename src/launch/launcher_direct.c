/* The direct launcher: vfork (into a cgroup if one is given), a few system calls, exec.
 *
 * The cost of vfork does not depend on the size of our memory. Until exec the child runs in our
 * memory while we are suspended; launcher_child.h says what it may do there. It reports a failure
 * through a pipe, which exec closes. Programs of another user are started through a helper
 * (exec_helper). docs/decisions/0003-launching-agents.md has the measurements. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/options.h"
#include "launch/launcher_plan.h"
#include "launch/launcher_watch.h"

#if defined(__x86_64__)
#include "launch/vfork_into_x86_64.h"
#else
#include "launch/vfork_into_generic.h"
#endif

/* The helper takes about a millisecond. If it takes this long, something has stopped it. */
#define HELPER_TIMEOUT_MS 10000

typedef struct direct_launcher {
    arcp_launcher base;
    char *agent_exec, *sandbox; /* owned or NULL */
    bool confines;
    bool no_pidfd;
} direct_launcher;

typedef struct direct_process {
    arcp_process base;
    arcp__launch_watch watch;
    bool is_reaped;
    arcp_process_exit end;
} direct_process;

/* ---- a process ---- */

static void process_signal(arcp_process *process, int number)
{
    const direct_process *direct = (direct_process *)process;
    /* The program may have left its process group; then only the program itself gets the signal. */
    if (!direct->is_reaped && kill(-process->pid, number) != 0) {
        (void)kill(process->pid, number);
    }
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

/* Waits for the process without blocking. False: it still runs, or the call was interrupted, in
 * which case the descriptor stays readable. */
static bool reap(direct_process *direct)
{
    siginfo_t info;
    struct rusage used = {0};
    arcp_process_exit *end = &direct->end;
    if (direct->is_reaped) {
        return true;
    }
    if (arcp__launch_watch_wait(&direct->watch, WEXITED | WNOWAIT | WNOHANG, &info, NULL) == 0) {
        if (info.si_pid == 0) {
            return false;
        }
        /* Before the exit status is fetched the pid cannot be reused, so this cannot kill the group
         * of another process. */
        (void)kill(-direct->base.pid, SIGKILL);
        end->is_known =
            arcp__launch_watch_wait(&direct->watch, WEXITED | WNOHANG, &info, &used) == 0;
    } else if (errno != ECHILD) {
        return false;
    }
    direct->is_reaped = true;
    if (end->is_known) {
        end->by_signal = info.si_code != CLD_EXITED;
        end->code = info.si_status;
        end->user_us = microseconds(used.ru_utime);
        end->system_us = microseconds(used.ru_stime);
        end->memory_bytes = (uint64_t)used.ru_maxrss * 1024u;
    }
    return true;
}

static bool process_take_exit(arcp_process *process, arcp_process_exit *out)
{
    direct_process *direct = (direct_process *)process;
    if (!reap(direct)) {
        return false;
    }
    arcp__options_give(out, &direct->end, sizeof direct->end);
    return true;
}

static void process_free(arcp_process *process)
{
    direct_process *direct = (direct_process *)process;
    process_signal(process, SIGKILL);
    struct pollfd waited = {.fd = process->exit_fd, .events = POLLIN};
    while (!reap(direct)) {
        (void)poll(&waited, 1, -1);
    }
    arcp__launch_watch_fini(&direct->watch);
    arcp__free(direct);
}

static const arcp_process_ops process_ops = {
    .struct_size = sizeof(arcp_process_ops),
    .signal = process_signal,
    .take_exit = process_take_exit,
    .free = process_free,
};

/* ---- starting ---- */

static _Noreturn void run_child(void *user)
{
    arcp__launch_plan *plan = user;
    plan->has_begun = true;
    arcp__launch_child_isolate(&plan->child, &plan->files);
    arcp__launch_child_run(&plan->child);
}

static pid_t start_child(arcp__launch_plan *plan)
{
    const int cgroup = plan->files.cgroup;
    sigset_t all;
    sigset_t before;
    pid_t pid = -1;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (cgroup >= 0) {
        /* Create the child in its cgroup. To join it later, the kernel first waits for all
         * processors to pass a quiescent state, which takes tens of milliseconds on a busy machine,
         * during which we would be suspended. */
        plan->files.cgroup = -1; /* nothing to join */
        pid = (pid_t)vfork_into(cgroup, run_child, plan);
        plan->files.cgroup = cgroup;
        if (pid > 0 && !plan->has_begun) {
            /* Linux (6.18 and probably others) compares how often the cgroups of parent and child
             * were killed in the past, and kills the child if the counts differ. Joining works. */
            (void)waitpid(pid, NULL, 0);
            pid = -1;
        }
    }
    if (pid < 0) {
        pid = vfork();
        if (pid == 0) {
            run_child(plan);
        }
    }
    const int number = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return pid;
}

/* True if the child reported a failure; false if the pipe was closed without one, as by exec. */
static bool read_failure(int fd, int timeout_ms, arcp__launch_failure *out)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&waited, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        *out = (arcp__launch_failure){ARCP__LAUNCH_HELPER, ETIMEDOUT};
        return true;
    }
    ssize_t size;
    do {
        size = read(fd, out, sizeof *out);
    } while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof *out && out->stage >= 0 && out->stage < ARCP__LAUNCH_STAGE_COUNT;
}

static arcp_status describe(const arcp__launch_plan *plan, const arcp__launch_failure *failure,
                            arcp_error *err)
{
    static const char *const what[ARCP__LAUNCH_STAGE_COUNT] = {
        [ARCP__LAUNCH_GROUP] = "creating its process group",
        [ARCP__LAUNCH_CGROUP] = "joining its cgroup",
        [ARCP__LAUNCH_FILES] = "passing its descriptors",
        [ARCP__LAUNCH_LIMITS] = "setting its resource limits",
        [ARCP__LAUNCH_USER] = "changing its user",
        [ARCP__LAUNCH_CWD] = "changing its directory",
        [ARCP__LAUNCH_PARENT] = "its parent has exited",
        [ARCP__LAUNCH_EXEC] = "exec",
        [ARCP__LAUNCH_HELPER] = "the helper program",
    };
    const bool is_missing = failure->stage == ARCP__LAUNCH_EXEC && failure->number == ENOENT;
    return arcp_error_set(err, is_missing ? ARCP_E_USAGE : ARCP_E_IO,
                          "%s cannot be started (%s): %s", plan->program, what[failure->stage],
                          strerror(failure->number));
}

static arcp_status start_planned(direct_launcher *launcher, arcp__launch_plan *plan,
                                 direct_process *direct, arcp_error *err)
{
    int errors[2];
    arcp__launch_failure failure = {0, 0};
    if (pipe2(errors, O_CLOEXEC) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", strerror(errno));
    }
    plan->child.error_fd = errors[1];
    plan->files.from[ARCP__LAUNCH_ERRORS_FD] = errors[1];
    const pid_t pid = start_child(plan);
    const int fork_error = errno;
    (void)close(errors[1]);
    if (pid < 0) {
        (void)close(errors[0]);
        return arcp_error_set(err, ARCP_E_IO, "cannot create a process: %s", strerror(fork_error));
    }
    bool failed =
        read_failure(errors[0], plan->files.keeps_errors ? HELPER_TIMEOUT_MS : -1, &failure);
    (void)close(errors[0]);
    const arcp_status status =
        failed ? describe(plan, &failure, err)
               : arcp__launch_watch_init(&direct->watch, pid, &launcher->no_pidfd, err);
    if (status != ARCP_OK) {
        (void)kill(-pid, SIGKILL);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return status;
    }
    direct->base = (arcp_process){&process_ops, pid, direct->watch.fd};
    return ARCP_OK;
}

static arcp_status start(arcp_launcher *launcher, const arcp_launch_spec *spec, arcp_process **out,
                         arcp_error *err)
{
    direct_launcher *direct = (direct_launcher *)launcher;
    arcp__launch_plan plan;
    const bool is_confined = arcp__launch_is_confined(spec);
    if (is_confined && !direct->confines) {
        return arcp_error_set(err, ARCP_E_USAGE, "the direct launcher confines nothing");
    }
    direct_process *process = arcp__alloc(sizeof *process);
    if (process == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = arcp__launch_plan_init(&plan, spec, direct->agent_exec, err);
    if (status == ARCP_OK && is_confined) {
        status = arcp__launch_plan_confine(&plan, spec->confinement, direct->sandbox, err);
    }
    if (status == ARCP_OK) {
        status = start_planned(direct, &plan, process, err);
    }
    arcp__launch_plan_fini(&plan);
    if (status != ARCP_OK) {
        arcp__free(process);
        return status;
    }
    *out = &process->base;
    return ARCP_OK;
}

/* ---- the launcher ---- */

static void launcher_free(arcp_launcher *launcher)
{
    direct_launcher *direct = (direct_launcher *)launcher;
    arcp__free(direct->agent_exec);
    arcp__free(direct->sandbox);
    arcp__free(direct);
}

static const arcp_launcher_ops launcher_ops[] = {
    {.struct_size = sizeof(arcp_launcher_ops),
     .name = "direct",
     .start = start,
     .free = launcher_free},
    {.struct_size = sizeof(arcp_launcher_ops),
     .name = "sandbox",
     .start = start,
     .free = launcher_free},
};

static arcp_status new_launcher(bool confines, const char *agent_exec, const char *sandbox,
                                arcp_launcher **out, arcp_error *err)
{
    direct_launcher *direct = arcp__alloc(sizeof *direct);
    if (direct == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *direct = (direct_launcher){.base.ops = &launcher_ops[confines], .confines = confines};
    direct->agent_exec =
        agent_exec == NULL ? NULL : arcp__copy_cstr(agent_exec, strlen(agent_exec));
    direct->sandbox = sandbox == NULL ? NULL : arcp__copy_cstr(sandbox, strlen(sandbox));
    if ((agent_exec != NULL && direct->agent_exec == NULL) ||
        (sandbox != NULL && direct->sandbox == NULL)) {
        launcher_free(&direct->base);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = &direct->base;
    return ARCP_OK;
}

arcp_status arcp_launcher_new_direct(const arcp_direct_launcher_options *given, arcp_launcher **out,
                                     arcp_error *err)
{
    arcp_direct_launcher_options options = arcp_direct_launcher_options_init();
    const arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_direct_launcher_options", err);
    return status != ARCP_OK ? status : new_launcher(false, options.helper, NULL, out, err);
}

arcp_status arcp_launcher_new_sandbox(const arcp_sandbox_launcher_options *given,
                                      arcp_launcher **out, arcp_error *err)
{
    arcp_sandbox_launcher_options options = arcp_sandbox_launcher_options_init();
    const arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_sandbox_launcher_options", err);
    return status != ARCP_OK ? status
                             : new_launcher(true, options.agent_exec, options.sandbox, out, err);
}

void arcp_launcher_free(arcp_launcher *launcher)
{
    if (launcher != NULL) {
        launcher->ops->free(launcher);
    }
}
