/* The direct launcher: vfork, a few system calls, exec.
 *
 * Between vfork and exec the child shares our memory: it calls only what is
 * async-signal-safe, changes nothing but its own locals, and everything that needs memory
 * (look-up in PATH, the user's ids) is prepared before. What fails in the child comes back
 * through a pipe that closes by itself when exec succeeds. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/process_launch.h"

typedef enum stage {
    STAGE_GROUP,
    STAGE_PARENT,
    STAGE_FILES,
    STAGE_CWD,
    STAGE_USER,
    STAGE_EXEC
} stage;

typedef struct child_error {
    int stage;
    int number;
} child_error;

typedef struct plan {
    const arcp__launch_spec *spec;
    char *program; /* owned: what exec gets */
    bool switch_user;
    uid_t uid;
    gid_t gid;
    pid_t parent;
    int error_fd;
} plan;

/* ---- before ---- */

/* As execvp would, but with the child's PATH and before it exists. */
static arcp_status find_program(const arcp__launch_spec *spec, char **out, arcp_error *err)
{
    const char *name = spec->argv[0];
    if (strchr(name, '/') != NULL) {
        *out = arcp__copy_cstr(name, strlen(name));
        return *out == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    const char *path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *const *at = spec->env; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, "PATH=", 5) == 0) {
            path = *at + 5;
        }
    }
    while (*path != '\0') {
        size_t size = strcspn(path, ":");
        char whole[4096];
        int written = snprintf(whole, sizeof(whole), "%.*s/%s", (int)size, path, name);
        if (size != 0 && written > 0 && written < (int)sizeof(whole) && access(whole, X_OK) == 0) {
            *out = arcp__copy_cstr(whole, (size_t)written);
            return *out == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
        }
        path += size + (path[size] == ':');
    }
    return arcp_error_set(err, ARCP_E_USAGE, "the program %s is not in PATH", name);
}

static arcp_status find_user(const arcp__launch_spec *spec, plan *out, arcp_error *err)
{
    if (spec->user == NULL) {
        return ARCP_OK;
    }
    char buffer[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwnam_r(spec->user, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no user \"%s\"", spec->user);
    }
    out->switch_user = true;
    out->uid = found->pw_uid;
    out->gid = found->pw_gid;
    return ARCP_OK;
}

/* ---- the child ---- */

static void give_up(const plan *p, stage at) __attribute__((noreturn));
static void give_up(const plan *p, stage at)
{
    child_error error = {(int)at, errno};
    ssize_t written = write(p->error_fd, &error, sizeof(error));
    (void)written;
    _exit(127);
}

/* 0, 1 and 2 become the pipes whatever numbers those have; everything else goes. The error
 * pipe is moved to 3, close-on-exec. */
static bool place_files(plan *p)
{
    int from[3] = {p->spec->stdin_fd, p->spec->stdout_fd, p->spec->stderr_fd};
    int safe[4];
    for (int at = 0; at < 3; at++) {
        safe[at] = fcntl(from[at], F_DUPFD, 10);
        if (safe[at] < 0) {
            return false;
        }
    }
    safe[3] = fcntl(p->error_fd, F_DUPFD_CLOEXEC, 10);
    if (safe[3] < 0) {
        return false;
    }
    for (int at = 0; at < 3; at++) {
        if (dup2(safe[at], at) < 0) {
            return false;
        }
    }
    if (dup3(safe[3], 3, O_CLOEXEC) < 0) {
        return false;
    }
    p->error_fd = 3;
    return syscall(SYS_close_range, 4U, ~0U, 0U) == 0;
}

static bool become_user(const plan *p)
{
    if (!p->switch_user) {
        return true;
    }
    if (setgroups(0, NULL) != 0 || setresgid(p->gid, p->gid, p->gid) != 0 ||
        setresuid(p->uid, p->uid, p->uid) != 0) {
        return false;
    }
    /* That the way back is closed is checked, not assumed. */
    if (p->uid != 0 && setuid(0) == 0) {
        errno = EPERM;
        return false;
    }
    return true;
}

static void run_child(plan *p) __attribute__((noreturn));
static void run_child(plan *p)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t none;
    if (setpgid(0, 0) != 0) {
        give_up(p, STAGE_GROUP);
    }
    /* We die with our parent; when it died before that was arranged, now. The switch of
     * user below clears the arrangement, so it is made again after it. */
    if (!place_files(p)) {
        give_up(p, STAGE_FILES);
    }
    if (p->spec->cwd != NULL && chdir(p->spec->cwd) != 0) {
        give_up(p, STAGE_CWD);
    }
    if (!become_user(p)) {
        give_up(p, STAGE_USER);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != p->parent) {
        give_up(p, STAGE_PARENT);
    }
    for (int number = 1; number < NSIG; number++) {
        (void)sigaction(number, &normal, NULL);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* execve takes arrays that it does not change. */
    union {
        const char *const *from;
        char *const *to;
    } argv = {p->spec->argv}, env = {p->spec->env};
    (void)execve(p->program, argv.to, env.to);
    give_up(p, STAGE_EXEC);
}

/* ---- the parent ---- */

static arcp_status describe(const plan *p, const child_error *error, arcp_error *err)
{
    static const char *const what[] = {
        [STAGE_GROUP] = "no process group of its own",
        [STAGE_PARENT] = "the parent is gone",
        [STAGE_FILES] = "its descriptors",
        [STAGE_CWD] = "its directory",
        [STAGE_USER] = "its user",
        [STAGE_EXEC] = "exec",
    };
    return arcp_error_set(err, ARCP_E_IO, "%s cannot be started (%s): %s", p->program,
                          what[error->stage], strerror(error->number));
}

static pid_t start_child(plan *p)
{
    sigset_t all;
    sigset_t before;
    /* No handler of ours may run in the child while it shares our memory. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0) {
        run_child(p);
    }
    int number = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return pid;
}

static arcp_status launch_planned(plan *p, arcp__launched *out, arcp_error *err)
{
    int pipe_fds[2];
    child_error error = {0, 0};
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "no pipe can be had: %s", strerror(errno));
    }
    p->error_fd = pipe_fds[1];
    p->parent = getpid();
    pid_t pid = start_child(p);
    int fork_error = errno;
    (void)close(pipe_fds[1]);
    if (pid < 0) {
        (void)close(pipe_fds[0]);
        return arcp_error_set(err, ARCP_E_IO, "no process can be had: %s", strerror(fork_error));
    }
    ssize_t got = read(pipe_fds[0], &error, sizeof(error));
    (void)close(pipe_fds[0]);
    if (got == (ssize_t)sizeof(error)) {
        (void)waitpid(pid, NULL, 0);
        return describe(p, &error, err);
    }
    int process_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process_fd < 0) {
        int number = errno;
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return arcp_error_set(err, ARCP_E_IO, "no pidfd can be had: %s", strerror(number));
    }
    (void)fcntl(process_fd, F_SETFD, FD_CLOEXEC);
    *out = (arcp__launched){pid, process_fd};
    return ARCP_OK;
}

arcp_status arcp__process_launch(const arcp__launch_spec *spec, arcp__launched *out,
                                 arcp_error *err)
{
    plan p = {.spec = spec};
    arcp_status status = find_program(spec, &p.program, err);
    if (status == ARCP_OK) {
        status = find_user(spec, &p, err);
    }
    if (status == ARCP_OK) {
        status = launch_planned(&p, out, err);
    }
    arcp__free(p.program);
    return status;
}
