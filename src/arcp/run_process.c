/* The process of `arcp run`: arcp-sandbox is started, what it reports is read, signals and stops
 * are passed on, and the time is watched.
 *
 * A command that has the terminal leads its foreground group, so what is typed there (Ctrl-C, ^Z)
 * reaches the command and not us. arcp-sandbox stops itself when the command stops; we see that as
 * its parent, take the terminal back and stop our own group, as the shell expects of a job. When
 * the shell continues us, we give the terminal to the command and continue it. */
#include "arcp/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory.h"
#include "launch/proc_stat.h"

#define RECORD_MAX 65536
/* Between SIGTERM and SIGKILL when --max-runtime is reached. */
#define TERM_GRACE_NS (5 * ARCP_NS_PER_SEC)
/* For arcp-sandbox to end the processes that are left. */
#define KILL_GRACE_NS ARCP_NS_PER_SEC
/* The wall clock may be set while we wait. */
#define POLL_MS_MAX 1000

/* Output of the command that goes through us, with --no-tty. */
typedef struct relay {
    int from; /* -1: none, or ended */
    int to;
    arcp_buf held; /* the beginning of a character */
} relay;

enum { RELAYS = 2 };

typedef struct running {
    arcp__run *run;
    arcp__run_report *report;
    arcp_process *process;
    int control; /* records; -1: ended */
    int signals; /* a signalfd */
    arcp__run_terminal terminal;
    relay relays[RELAYS];
    arcp_time begun;
    int64_t max_runtime_ns, kill_mono_ns;
    bool is_expired, is_timed_out, is_killed;
} running;

/* ---- signals and stops ---- */

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGCHLD};

static void watched_set(sigset_t *set)
{
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        (void)sigaddset(set, watched[i]);
    }
}

static void send_signal(const running *r, int number)
{
    r->process->ops->signal(r->process, number);
}

/* Continues the command, in the foreground if we are. */
static void proceed(running *r)
{
    arcp__run_terminal_give(&r->terminal, r->process->pid);
    send_signal(r, SIGCONT);
}

/* Stops our process group as ^Z would, and returns when it is continued: at once if no shell could
 * continue it (the kernel does not stop an orphaned group). */
static void stop(running *r)
{
    sigset_t stops;
    sigset_t before;
    arcp__run_terminal_take(&r->terminal);
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTSTP);
    (void)kill(0, SIGTSTP);
    (void)pthread_sigmask(SIG_UNBLOCK, &stops, &before); /* here we stop */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    proceed(r);
}

/* When the command has stopped, so do we; but when it could not have the terminal, it gets it. */
static void take_stop(running *r)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)r->process->pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) {
        return;
    }
    if (!r->terminal.is_wanted && arcp__run_terminal_is_ours(&r->terminal)) {
        r->terminal.is_wanted = true;
        proceed(r);
    } else {
        stop(r);
    }
}

static void take_signal(running *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGCHLD:
            take_stop(r);
            break;
        case SIGCONT:
            proceed(r);
            break;
        case SIGTSTP: /* of our own group: the command does not have the terminal */
            send_signal(r, SIGTSTP);
            stop(r);
            break;
        default:
            send_signal(r, (int)info.ssi_signo);
            break;
        }
    }
}

/* ---- records and output ---- */

static void take_records(running *r)
{
    char record[RECORD_MAX];
    ssize_t size;
    do {
        size = recv(r->control, record, sizeof record, MSG_DONTWAIT | MSG_TRUNC);
        if (size > 0 && (size_t)size <= sizeof record) {
            arcp__run_report_record(r->report, arcp_span_make(record, (size_t)size));
        }
    } while (size > 0 || (size < 0 && errno == EINTR));
    if (size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        arcp__close(r->control);
        r->control = -1;
    }
}

/* Reads once from a pipe; false when nothing was there. */
static bool take_output(relay *at)
{
    char bytes[16384];
    arcp_buf shown = arcp_buf_init();
    const ssize_t size = at->from < 0 ? -1 : read(at->from, bytes, sizeof bytes);
    if (size < 0) {
        return size < 0 && at->from >= 0 && errno == EINTR;
    }
    arcp__append_shown(&shown, arcp_span_make(bytes, (size_t)size), &at->held, size == 0);
    (void)arcp__write_all(at->to,
                          arcp_buf_span(&shown)); /* a reader that has closed it is no error */
    arcp_buf_fini(&shown);
    if (size == 0) {
        arcp__close(at->from);
        at->from = -1;
    }
    return size > 0;
}

/* ---- time ---- */

static void kill_child(void *user, const arcp__proc_stat *process)
{
    const running *r = user;
    arcp__proc_stat now;
    if (process->parent != r->process->pid) {
        return;
    }
    const int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    /* The descriptor is of this process only if it is still there. */
    if (fd >= 0 && arcp__proc_stat_read(process->pid, &now) && now.started == process->started) {
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    arcp__close(fd);
}

/* Kills the command with all that it has started. Without a process table of its own, what has left
 * the process group is found and killed by arcp-sandbox when the command has ended: so that one
 * must live a little longer. */
static void kill_all(running *r, int64_t now_mono_ns)
{
    if (r->run->plan->level == ARCP__SANDBOX_LEVEL_FULL || r->is_killed) {
        send_signal(r, SIGKILL);
    } else {
        arcp__proc_each(kill_child, r);
    }
    r->is_killed = true;
    r->kill_mono_ns = now_mono_ns + KILL_GRACE_NS;
}

/* The smaller of a timeout and the time until then, in milliseconds, rounded up. */
static int until(int timeout_ms, int64_t left_ns)
{
    const int64_t left_ms = left_ns <= 0 ? 0 : (left_ns - 1) / ARCP_NS_PER_MS + 1;
    return left_ms < timeout_ms ? (int)left_ms : timeout_ms;
}

/* Ends the command when its time is over; returns how long poll may wait. */
static int watch_time(running *r)
{
    const arcp_time now = arcp__clock_now();
    const int64_t expires_wall_ns = arcp_lease_expires_wall_ns(r->run->lease);
    const int64_t passed_ns = now.mono_ns - r->begun.mono_ns;
    int timeout_ms = POLL_MS_MAX;
    if (expires_wall_ns == ARCP_TIME_NEVER && r->run->max_runtime_sec == 0) {
        return -1;
    }
    if (expires_wall_ns != ARCP_TIME_NEVER && !r->is_expired) {
        const int64_t left_wall_ns = expires_wall_ns - now.wall_ns;
        const int64_t left_mono_ns = expires_wall_ns - r->begun.wall_ns - passed_ns;
        const int64_t left_ns = left_wall_ns < left_mono_ns ? left_wall_ns : left_mono_ns;
        timeout_ms = until(timeout_ms, left_ns);
        if (left_ns <= 0) {
            r->is_expired = true;
            kill_all(r, now.mono_ns);
        }
    }
    if (r->run->max_runtime_sec != 0 && !r->is_timed_out) {
        const int64_t left_ns = r->max_runtime_ns - passed_ns;
        timeout_ms = until(timeout_ms, left_ns);
        if (left_ns <= 0) {
            r->is_timed_out = true;
            r->kill_mono_ns = now.mono_ns + TERM_GRACE_NS;
            send_signal(r, SIGTERM);
            send_signal(r, SIGCONT);
        }
    }
    if ((r->is_timed_out || r->is_expired) && now.mono_ns >= r->kill_mono_ns) {
        kill_all(r, now.mono_ns);
    }
    return r->is_expired || r->is_timed_out ? POLL_MS_MAX : timeout_ms;
}

/* ---- the loop ---- */

static void wait_for_end(running *r, arcp_process_exit *end)
{
    while (!r->process->ops->take_exit(r->process, end)) {
        struct pollfd waited[] = {
            {.fd = r->signals, .events = POLLIN},
            {.fd = r->process->exit_fd, .events = POLLIN},
            {.fd = r->control, .events = POLLIN},
            {.fd = r->relays[0].from, .events = POLLIN},
            {.fd = r->relays[1].from, .events = POLLIN},
        };
        const int timeout_ms = watch_time(r);
        if (poll(waited, sizeof waited / sizeof waited[0], timeout_ms) <= 0) {
            continue;
        }
        if (waited[0].revents != 0) {
            take_signal(r);
        }
        if (waited[2].revents != 0) {
            take_records(r);
        }
        for (size_t i = 0; i < RELAYS; i++) {
            if (waited[3 + i].revents != 0) {
                (void)take_output(&r->relays[i]);
            }
        }
    }
    if (r->control >= 0) {
        take_records(r);
    }
    for (size_t i = 0; i < RELAYS; i++) {
        /* At level landlock a process that the command left behind may still hold the pipe. */
        const int flags = r->relays[i].from < 0 ? 0 : fcntl(r->relays[i].from, F_GETFL);
        if (r->relays[i].from >= 0) {
            (void)fcntl(r->relays[i].from, F_SETFL, flags | O_NONBLOCK);
        }
        while (take_output(&r->relays[i])) {
        }
    }
}

/* ---- the start ---- */

/* The descriptors of the command; descriptors that were made for it are closed by `fini`. */
typedef struct descriptors {
    int fds[3];
    bool is_ours[3];
} descriptors;

static void descriptors_fini(descriptors *d)
{
    for (size_t i = 0; i < 3; i++) {
        if (d->is_ours[i]) {
            arcp__close(d->fds[i]);
        }
    }
}

/* Ours, but without a terminal when --no-tty says so. */
static arcp_status descriptors_init(descriptors *d, running *r, arcp_error *err)
{
    *d = (descriptors){.fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}};
    if (!arcp__has(&r->run->program->arguments, ARCP__OPTION_RUN_NO_TTY)) {
        return ARCP_OK;
    }
    if (isatty(STDIN_FILENO)) {
        d->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        d->is_ours[0] = true;
    }
    for (size_t i = 0; i < RELAYS; i++) {
        int ends[2];
        if (!isatty((int)i + 1)) {
            continue;
        }
        if (pipe2(ends, O_CLOEXEC) != 0) {
            return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", strerror(errno));
        }
        r->relays[i] = (relay){.from = ends[0], .to = (int)i + 1};
        d->fds[i + 1] = ends[1];
        d->is_ours[i + 1] = true;
    }
    return d->fds[0] >= 0 ? ARCP_OK
                          : arcp_error_set(err, ARCP_E_IO, "/dev/null: %s", strerror(errno));
}

static arcp_status start(running *r, const descriptors *d, int control, arcp_error *err)
{
    const arcp__run *run = r->run;
    arcp_launcher *launcher = NULL;
    arcp_buf plan = arcp_buf_init();
    arcp_confinement confinement = arcp_confinement_init();
    arcp_launch_spec spec = arcp_launch_spec_init();
    arcp__sandbox_plan_encode(run->plan, &plan);
    confinement.plan = arcp_buf_span(&plan);
    confinement.etc = run->etc.size == 0 ? NULL : run->etc.data;
    confinement.control_fd = control;
    confinement.has_terminal = run->plan->has_terminal;
    spec.argv = run->program->arguments.words;
    spec.env = run->env;
    spec.stdin_fd = d->fds[0];
    spec.stdout_fd = d->fds[1];
    spec.stderr_fd = d->fds[2];
    spec.confinement = &confinement;
    arcp_status status = plan.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                     : arcp_launcher_new_sandbox(NULL, &launcher, err);
    if (status == ARCP_OK && launcher != NULL) {
        status = launcher->ops->start(launcher, &spec, &r->process, err);
    }
    arcp_launcher_free(launcher);
    arcp_buf_fini(&plan);
    return status;
}

static void set_end(const running *r, const arcp_process_exit *end, arcp__run_result *out)
{
    out->code = end->is_known ? end->code : ARCP__EXIT_NOT_CONFINED;
    out->runtime_ms = (arcp__clock_now().mono_ns - r->begun.mono_ns) / ARCP_NS_PER_MS;
    out->end = r->is_expired                  ? ARCP__RUN_EXPIRED
               : r->is_timed_out              ? ARCP__RUN_TIMED_OUT
               : r->report->failure.size != 0 ? ARCP__RUN_NOT_STARTED
               : end->by_signal               ? ARCP__RUN_SIGNALLED
                                              : ARCP__RUN_EXITED;
}

arcp_status arcp__run_process(arcp__run *run, arcp__run_report *report, arcp__run_result *out,
                              arcp_error *err)
{
    running r = {
        .run = run, .report = report, .control = -1, .relays = {{.from = -1}, {.from = -1}}};
    int ends[2];
    sigset_t set;
    sigset_t before;
    descriptors d;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a socket: %s", strerror(errno));
    }
    r.control = ends[0];
    watched_set(&set);
    (void)sigaddset(&set, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &set, &before);
    watched_set(&set);
    r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    arcp__run_terminal_init(&r.terminal, run->plan->has_terminal ? STDIN_FILENO : -1);
    arcp_status status = descriptors_init(&d, &r, err);
    if (status == ARCP_OK) {
        r.begun = arcp__clock_now();
        if (__builtin_mul_overflow(run->max_runtime_sec, ARCP_NS_PER_SEC, &r.max_runtime_ns)) {
            r.max_runtime_ns = INT64_MAX;
        }
        status = start(&r, &d, ends[1], err);
    }
    arcp__close(ends[1]);
    descriptors_fini(&d);
    if (status == ARCP_OK) {
        arcp_process_exit end = arcp_process_exit_init();
        proceed(&r);
        wait_for_end(&r, &end);
        set_end(&r, &end, out);
        r.process->ops->free(r.process);
        arcp__run_terminal_take(&r.terminal);
    }
    for (size_t i = 0; i < RELAYS; i++) {
        arcp__close(r.relays[i].from);
        arcp_buf_fini(&r.relays[i].held);
    }
    arcp__close(r.control);
    arcp__close(r.signals);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
