/* Starts a command in a sandbox as a daemon does: by the launcher, as another user, and serves its
 * network.
 *
 *   arcp-enforce-start [--late yes] [--user NAME] [--base PATH] --lease JSON -- COMMAND [ARG]...
 *
 * --late: as a warm process. A shell waits in the sandbox, without the lease, and executes the
 * command when the lease has come. A lease that cannot come late is there from the start. The
 * records of the sandbox and of its network go to standard error. Exit status: that of the command,
 * 128+N for a signal, 125 when the plan refuses. */
#include <err.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/lease.h>
#include <arcp/sys/launcher.h>

#include "enforce/start_network.h"
#include "launch/command_base.h"
#include "launch/launcher_control.h"
#include "launch/sandbox_etc.h"
#include "launch/sandbox_host.h"
#include "sandbox/sandbox.h"

enum { NOT_STARTED = 125 };

#define SANDBOX ARCP_BINARY_DIR "/bin/arcp-sandbox"

static void check(arcp_status status, const arcp_error *error)
{
    if (status != ARCP_OK) {
        errx(NOT_STARTED, "%s", error->message);
    }
}

static void find_abilities(arcp__sandbox_abilities *out)
{
    char text[4096];
    arcp_error error = {0};
    FILE *probe = popen(SANDBOX " --probe", "re"); /* NOLINT(cert-env33-c): a path of the build */
    const size_t size = probe == NULL ? 0 : fread(text, 1, sizeof text, probe);
    if (probe == NULL || pclose(probe) != 0) {
        errx(NOT_STARTED, SANDBOX " --probe fails");
    }
    check(arcp__sandbox_abilities_decode(arcp_span_make(text, size), out, &error), &error);
}

/* What the runtime keeps for itself. */
static void add_own(const char *home, arcp__own_paths *own)
{
    static const char *const names[] = {".config/arcp", ".local/state/arcp", ".cache/arcp"};
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", home, names[i]);
        arcp__own_paths_add(own, path, true);
    }
    arcp__own_paths_add(own, getenv("XDG_CACHE_HOME"), true);
}

/* The plan; `given` is a base beside that of the command, or NULL. */
static arcp__sandbox_plan *compile(const arcp_lease *lease, const char *given, char **command,
                                   const char *home, bool may_be_late)
{
    const arcp_span exempt[] = {ARCP_SPAN_LITERAL("x-vendor.")};
    static char cwd[4096];
    arcp__own_paths own = {.failed = false};
    arcp_error error = {0};
    arcp__sandbox_plan *plan = NULL;
    arcp__command_base base;
    const arcp__command_base_query query = {.argv = (const char *const *)command, .home = home};
    check(arcp__command_base_find(&query, &base, &error), &error);
    arcp_span *bases = calloc(base.count + 1, sizeof *bases);
    if (bases == NULL) {
        err(NOT_STARTED, "calloc");
    }
    size_t count = 0;
    for (; count < base.count; count++) {
        bases[count] = arcp_span_cstr(base.paths[count]);
    }
    if (given != NULL) {
        bases[count++] = arcp_span_cstr(given);
    }
    arcp__sandbox_request request = {
        .lease = lease,
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .may_be_late = may_be_late,
        .cwd = arcp_span_cstr(getcwd(cwd, sizeof cwd)),
        .home = arcp_span_cstr(home),
        .bases = bases,
        .base_count = count,
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 16u << 20, .pids = 512},
        .min = ARCP__SANDBOX_VERDICT_UNDER,
        .exempt = exempt,
        .exempt_count = 1,
    };
    find_abilities(&request.abilities);
    add_own(home, &own);
    arcp__own_paths_set(&own, &request);
    check(arcp__sandbox_plan_new(&request, &plan, &error), &error);
    if (plan->refusal != ARCP__SANDBOX_REFUSAL_NONE) {
        errx(NOT_STARTED, "the plan is refused");
    }
    arcp__command_base_fini(&base);
    arcp__own_paths_fini(&own);
    free(bases);
    return plan;
}

/* ---- a lease that comes late ---- */

/* What the program is started with: all that a waiting shell needs to go on. */
typedef struct late {
    char *words[72]; /* the shell, then the command */
    int input;       /* of the shell */
    int leased;      /* written to when the lease has come */
    arcp_buf plan;   /* with the lease */
} late;

/* Copies our standard input to the shell, when the lease has come and it may go on. */
static void feed(int leased, int input)
{
    char bytes[4096];
    ssize_t size = read(leased, bytes, 1);
    for (bytes[0] = '\n'; size > 0; size = read(0, bytes, sizeof bytes)) {
        if (write(input, bytes, (size_t)size) != size) {
            break;
        }
    }
    _exit(0);
}

/* Only what can be copied; rows about other inputs are run without --late, too. */
static bool has_plain_input(void)
{
    struct stat about;
    return fstat(0, &about) == 0 &&
           (S_ISFIFO(about.st_mode) || (S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3)));
}

static void wait_for_lease(late *one, const arcp__sandbox_plan *plan, char **command,
                           arcp_buf *text)
{
    static char shell[] = "/bin/sh";
    static char option[] = "-c";
    static char script[] = "read -r go && exec \"$0\" \"$@\"";
    int input[2];
    int leased[2];
    arcp_error error = {0};
    arcp__sandbox_plan *before = NULL;
    size_t count = 0;
    check(arcp__sandbox_plan_before_lease(plan, &before, &error), &error);
    arcp__sandbox_plan_encode(before, text);
    arcp__sandbox_plan_encode(plan, &one->plan);
    arcp__sandbox_plan_free(before);
    one->words[count++] = shell;
    one->words[count++] = option;
    one->words[count++] = script;
    for (; *command != NULL && count + 1 < sizeof one->words / sizeof one->words[0]; command++) {
        one->words[count++] = *command;
    }
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(leased, O_CLOEXEC) != 0) {
        err(NOT_STARTED, "pipe");
    }
    const pid_t feeder = fork();
    if (feeder == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(leased[1]);
        (void)close(input[0]);
        feed(leased[0], input[1]);
    }
    if (feeder < 0) {
        err(NOT_STARTED, "fork");
    }
    (void)close(leased[0]);
    (void)close(input[1]);
    one->input = input[0];
    one->leased = leased[1];
}

static void prepare_etc(const char *user, const char *home, arcp_buf *path)
{
    arcp_error error = {0};
    const struct passwd *entry = user == NULL ? NULL : getpwnam(user);
    const arcp__sandbox_etc request = {
        .directory = getenv("XDG_CACHE_HOME"),
        .uid = entry == NULL ? getuid() : entry->pw_uid,
        .gid = entry == NULL ? getgid() : entry->pw_gid,
        .home = home,
    };
    check(arcp__sandbox_etc_prepare(&request, path, &error), &error);
    arcp_buf_append_byte(path, '\0');
}

static int run(const char *user, const char *base, const char *json, bool may_be_late,
               char **command)
{
    static const char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    char home_variable[600];
    int pair[2];
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf etc = arcp_buf_init();
    arcp_lease *lease = NULL;
    arcp_launcher *launcher = NULL;
    arcp_process *process = NULL;
    arcp_sandbox_launcher_options options = arcp_sandbox_launcher_options_init();
    arcp_launch_spec spec = arcp_launch_spec_init();
    arcp_confinement confinement = arcp_confinement_init();
    const char *home = getenv("HOME");
    (void)snprintf(home_variable, sizeof home_variable, "HOME=%s", home);
    const char *const environment[] = {path, home_variable, "LC_ALL=C.UTF-8", NULL};
    check(arcp_lease_parse(arcp_span_cstr(json), arcp_span_cstr(""), NULL, &lease, &error), &error);
    late waiting = {.input = 0, .leased = -1, .plan = arcp_buf_init()};
    arcp__sandbox_plan *plan =
        compile(lease, base, command, home, may_be_late && has_plain_input());
    if (plan->is_late) {
        wait_for_lease(&waiting, plan, command, &text);
        command = waiting.words;
    } else {
        arcp__sandbox_plan_encode(plan, &text);
    }
    arcp__sandbox_plan_free(plan);
    prepare_etc(user, home, &etc);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        err(NOT_STARTED, "socketpair");
    }
    options.sandbox = SANDBOX;
    options.agent_exec = ARCP_BINARY_DIR "/bin/arcp-agent-exec";
    confinement.plan = arcp_buf_span(&text);
    confinement.etc = arcp_buf_cstr(&etc);
    confinement.control_fd = pair[1];
    spec.argv = (const char *const *)command;
    spec.env = environment;
    spec.user = user;
    spec.stdin_fd = waiting.input;
    spec.stdout_fd = 1;
    spec.stderr_fd = 2;
    spec.confinement = &confinement;
    check(arcp_launcher_new_sandbox(&options, &launcher, &error), &error);
    check(launcher->ops->start(launcher, &spec, &process, &error), &error);
    (void)close(pair[1]);
    if (waiting.leased >= 0) {
        const arcp__launch_control control = {.fd = pair[0]};
        (void)close(waiting.input);
        /* A sandbox that could not be made has ended; its status says so. */
        if (arcp__launch_control_lease(&control, arcp_buf_span(&waiting.plan), &error) != ARCP_OK) {
            warnx("%s", error.message);
        }
    }
    arcp_process_exit end = arcp_process_exit_init();
    start_network_run(process, pair[0], lease, waiting.leased, &end);
    const int code = end.by_signal ? 128 + end.code : end.code;
    process->ops->free(process);
    arcp_launcher_free(launcher);
    arcp_buf_fini(&waiting.plan);
    arcp_buf_fini(&text);
    arcp_buf_fini(&etc);
    arcp_lease_unref(lease);
    return code;
}

int main(int argc, char **argv)
{
    const char *user = NULL;
    const char *base = NULL;
    const char *lease = "{}";
    bool may_be_late = false;
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        if (strcmp(argv[i], "--user") == 0) {
            user = argv[i + 1];
        } else if (strcmp(argv[i], "--base") == 0) {
            base = argv[i + 1];
        } else if (strcmp(argv[i], "--late") == 0) {
            may_be_late = true;
        } else if (strcmp(argv[i], "--lease") == 0) {
            lease = argv[i + 1];
        } else {
            errx(2, "unknown option \"%s\"", argv[i]);
        }
    }
    if (i + 1 >= argc || getenv("HOME") == NULL || getenv("XDG_CACHE_HOME") == NULL) {
        errx(2, "usage: arcp-enforce-start [--user NAME] [--base PATH] --lease JSON -- COMMAND "
                "[ARG]...");
    }
    return run(user, base, lease, may_be_late, argv + i + 1);
}
