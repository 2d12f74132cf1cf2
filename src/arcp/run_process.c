/* The process of `arcp run`: arcp-sandbox is started, and what it reports is read until it ends. */
#include "arcp/run_process.h"
#include "arcp/run_gateways.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/clock.h"
#include "base/directory.h"

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
static arcp_status descriptors_init(descriptors *d, arcp__running *running, arcp_error *err)
{
    /* The lease that is learnt goes to standard output, alone. */
    const int output =
        running->run->program->arguments.is_lease_learn ? STDERR_FILENO : STDOUT_FILENO;
    *d = (descriptors){.fds = {STDIN_FILENO, output, STDERR_FILENO}};
    if (!arcp__has(&running->run->program->arguments, ARCP__OPTION_RUN_NO_TTY)) {
        return ARCP_OK;
    }
    if (isatty(STDIN_FILENO)) {
        d->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        d->is_ours[0] = true;
    }
    for (size_t i = 0; i < ARCP__RUN_RELAYS; i++) {
        if (!isatty(d->fds[i + 1])) {
            continue;
        }
        d->fds[i + 1] = arcp__run_relay_open(&running->relays[i], d->fds[i + 1]);
        if (d->fds[i + 1] < 0) {
            return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", strerror(errno));
        }
        d->is_ours[i + 1] = true;
    }
    return d->fds[0] >= 0 ? ARCP_OK
                          : arcp_error_set(err, ARCP_E_IO, "/dev/null: %s", strerror(errno));
}

static arcp_status start(arcp__running *running, const descriptors *d, int control, arcp_error *err)
{
    const arcp__run *run = running->run;
    int cgroups[ARCP__CGROUP_LIMITS];
    arcp_launcher *launcher = NULL;
    arcp_buf plan = arcp_buf_init();
    arcp_confinement confinement = arcp_confinement_init();
    arcp_launch_spec spec = arcp_launch_spec_init();
    arcp__sandbox_plan_encode(run->plan, &plan);
    confinement.plan = arcp_buf_span(&plan);
    confinement.etc = run->etc.size == 0 ? NULL : run->etc.data;
    confinement.control_fd = control;
    confinement.ca_certificate = running->ca == NULL ? NULL : arcp__tls_ca_certificate(running->ca);
    confinement.has_terminal = run->plan->has_terminal;
    spec.argv = run->program->arguments.words;
    spec.env = run->env;
    spec.stdin_fd = d->fds[0];
    spec.stdout_fd = d->fds[1];
    spec.stderr_fd = d->fds[2];
    spec.confinement = &confinement;
    spec.cgroup_fd = running->cgroup.directory_fd;
    spec.cgroup_fds = cgroups;
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        if (running->cgroup.fds[i] >= 0) {
            cgroups[spec.cgroup_fd_count++] = running->cgroup.fds[i];
        }
    }
    arcp_status status = plan.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                     : arcp_launcher_new_sandbox(NULL, &launcher, err);
    if (status == ARCP_OK && launcher != NULL) {
        status = launcher->ops->start(launcher, &spec, &running->process, err);
    }
    arcp_launcher_free(launcher);
    arcp_buf_fini(&plan);
    return status;
}

static void set_end(const arcp__running *running, arcp__run_result *out)
{
    const arcp_process_exit *end = &running->end;
    out->code = end->is_known && !running->is_without_network ? end->code : ARCP__EXIT_NOT_CONFINED;
    out->runtime_ms = (arcp__clock_now().mono_ns - running->begun.mono_ns) / ARCP_NS_PER_MS;
    out->has_run_out = arcp__cgroups_has_run_out(running->run->cgroups, running->cgroup.number);
    out->end = running->is_expired                  ? ARCP__RUN_EXPIRED
               : running->is_timed_out              ? ARCP__RUN_TIMED_OUT
               : running->report->failure.size != 0 ? ARCP__RUN_NOT_STARTED
               : end->by_signal                     ? ARCP__RUN_SIGNALLED
                                                    : ARCP__RUN_EXITED;
}

/* ---- flags ---- */

enum { STANDARD = 3 };

/* The command shares our standard descriptors with us and with the program that started us: flags
 * that it sets, O_NONBLOCK above all, would stay. -1: the descriptor is closed. */
static void read_flags(int flags[STANDARD])
{
    for (int fd = 0; fd < STANDARD; fd++) {
        flags[fd] = fcntl(fd, F_GETFL);
    }
}

static void set_flags(const int flags[STANDARD])
{
    for (int fd = 0; fd < STANDARD; fd++) {
        if (flags[fd] >= 0 && fcntl(fd, F_GETFL) != flags[fd]) {
            (void)fcntl(fd, F_SETFL, flags[fd]);
        }
    }
}

/* ---- the whole run ---- */

/* Signals are blocked: they are read from a descriptor, on the loop. */
static arcp_status block_signals(arcp__running *running, sigset_t *before, arcp_error *err)
{
    sigset_t set;
    arcp__run_signals(&set);
    running->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)sigaddset(&set, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
    return running->signals >= 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_IO, "signals cannot be read: %s", strerror(errno));
}

/* For as long as the lease, in which the command may trust it. */
static arcp_status make_ca(arcp__running *running, arcp_error *err)
{
    const int64_t end_wall_ns = arcp_lease_expires_wall_ns(running->run->lease);
    return arcp__sandbox_terminates(running->run->plan)
               ? arcp__tls_ca_new(running->begun.wall_ns / ARCP_NS_PER_SEC,
                                  end_wall_ns / ARCP_NS_PER_SEC, &running->ca, err)
               : ARCP_OK;
}

/* What the network and the gateways ask: both draw on one budget. */
static arcp_status make_authority(arcp__running *running, arcp_error *err)
{
    arcp_authority_options options = arcp_authority_options_init();
    options.now = running->begun;
    options.cwd = arcp_span_cstr(running->run->cwd);
    return arcp_authority_new(running->run->lease, &options, &running->authority, err);
}

static arcp_status begin(arcp__running *running, arcp_error *err)
{
    const arcp__run *run = running->run;
    int ends[2];
    descriptors d;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a socket: %s", strerror(errno));
    }
    arcp__run_control_init(running, ends[0]);
    arcp__run_terminal_init(&running->terminal, run->plan->has_terminal ? STDIN_FILENO : -1);
    arcp_status status = descriptors_init(&d, running, err);
    if (status == ARCP_OK) {
        running->begun = arcp__clock_now();
        if (__builtin_mul_overflow(run->max_runtime_sec, ARCP_NS_PER_SEC,
                                   &running->max_runtime_ns)) {
            running->max_runtime_ns = INT64_MAX;
        }
        status = make_ca(running, err);
    }
    if (status == ARCP_OK) {
        status = make_authority(running, err);
    }
    if (status == ARCP_OK) {
        status = arcp__run_gateways_open(running, err);
    }
    if (status == ARCP_OK) {
        status = arcp__run_cgroup_take(run, &running->cgroup, err);
        if (status == ARCP_OK) {
            status = start(running, &d, ends[1], err);
        }
        arcp__run_cgroup_close(&running->cgroup);
    }
    arcp__close(ends[1]);
    descriptors_fini(&d);
    return status;
}

arcp_status arcp__run_process(arcp__run *run, arcp__run_report *report, arcp__run_result *out,
                              arcp_error *err)
{
    arcp__running running = {.run = run,
                             .report = report,
                             .end = arcp_process_exit_init(),
                             .control = {.fd = -1},
                             .relays = {{.from = -1}, {.from = -1}}};
    sigset_t before;
    int flags[STANDARD];
    const int result = uv_loop_init(&running.loop);
    if (result != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a loop: %s", uv_strerror(result));
    }
    read_flags(flags);
    arcp_status status = block_signals(&running, &before, err);
    if (status == ARCP_OK) {
        status = begin(&running, err);
    }
    if (status == ARCP_OK) {
        arcp__run_proceed(&running);
        status = arcp__run_loop(&running, err);
        set_end(&running, out);
        arcp__run_unwatch(&running.exit_poll);
        running.process->ops->free(running.process);
        arcp__run_terminal_take(&running.terminal);
        set_flags(flags);
    }
    for (size_t i = 0; i < ARCP__RUN_RELAYS; i++) {
        arcp__run_relay_fini(&running.relays[i]);
    }
    arcp__run_gateways_end(&running);
    arcp__run_loop_fini(&running);
    arcp_authority_unref(running.authority);
    arcp__tls_ca_free(running.ca);
    out->is_busy = running.is_busy;
    arcp__launch_control_fini(&running.control);
    arcp__close(running.signals);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
