/* Starting /bin/true and waiting for its end: bare, in a sandbox of each level that this host has,
 * and by bwrap (Debian's bubblewrap) where it is installed. The plan is that of a job with one
 * directory; `net` has a host to reach, too. bwrap makes the same namespaces and a like view of
 * files; it has no Landlock, no filter and no broker. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arcp/lease.h>
#include <arcp/sys/launcher.h>

#include "harness.h"
#include "launch/sandbox_etc.h"
#include "sandbox/sandbox.h"
#include "support/remove_tree.h"

#define HELPER ARCP_BINARY_DIR "/bin/arcp-sandbox"
#define BWRAP  "/usr/bin/bwrap"

typedef struct start_case {
    arcp_buf plan;           /* its text; empty: none */
    const char *const *argv; /* NULL: /bin/true */
} start_case;

static arcp_launcher *launcher;
static char directory[] = "/tmp/arcp-bench-XXXXXX";
static arcp_buf etc;

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "sandbox_start_bench: %s failed\n", what);
        exit(1);
    }
}

static void start(void *state, uint64_t iterations)
{
    static const char *const command[] = {"/bin/true", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const start_case *one = state;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_error error = {0};
        arcp_launch_spec spec = arcp_launch_spec_init();
        arcp_confinement confinement = arcp_confinement_init();
        arcp_process *process = NULL;
        arcp_process_exit end = arcp_process_exit_init();
        int pair[2] = {-1, -1};
        spec.argv = one->argv != NULL ? one->argv : command;
        spec.env = env;
        spec.stdin_fd = spec.stdout_fd = spec.stderr_fd = null;
        if (one->plan.size != 0) {
            must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
            confinement.plan = arcp_buf_span(&one->plan);
            confinement.etc = arcp_buf_cstr(&etc);
            confinement.control_fd = pair[1];
            spec.confinement = &confinement;
        }
        must(launcher->ops->start(launcher, &spec, &process, &error) == ARCP_OK, error.message);
        struct pollfd waited = {.fd = process->exit_fd, .events = POLLIN};
        (void)poll(&waited, 1, -1);
        must(process->ops->take_exit(process, &end) && !end.by_signal && end.code == 0,
             "the program");
        process->ops->free(process);
        if (pair[0] >= 0) {
            (void)close(pair[0]);
            (void)close(pair[1]);
        }
    }
    (void)close(null);
}

static arcp__sandbox_abilities probe(void)
{
    char text[4096];
    arcp_error error = {0};
    arcp__sandbox_abilities abilities = {{0}};
    FILE *pipe = popen(HELPER " --probe", "re"); /* NOLINT(cert-env33-c): a path of the build */
    must(pipe != NULL, "the probe");
    const size_t size = fread(text, 1, sizeof text, pipe);
    must(pclose(pipe) == 0 && arcp__sandbox_abilities_decode(arcp_span_make(text, size), &abilities,
                                                             &error) == ARCP_OK,
         "the probe");
    return abilities;
}

/* The text of a plan; nothing on a host that has not this level. `fetch`: patterns of net.fetch. */
static arcp_buf make_plan(arcp__sandbox_abilities abilities, arcp__sandbox_level level,
                          const char *fetch)
{
    char text[256];
    arcp_error error = {0};
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    arcp_buf out = arcp_buf_init();
    if (level == ARCP__SANDBOX_LEVEL_LANDLOCK) {
        abilities.values[ARCP__SANDBOX_ABILITY_USERNS] = 0;
    }
    if (arcp__sandbox_level_of(&abilities) != level) {
        return out;
    }
    (void)snprintf(text, sizeof text,
                   "{\"fs.write\":[\"%s/**\"],\"fs.read\":[\"%s/**\"],\"net.fetch\":[%s]}",
                   directory, directory, fetch);
    must(arcp_lease_parse(arcp_span_cstr(text), arcp_span_cstr(""), NULL, &lease, &error) ==
             ARCP_OK,
         error.message);
    const arcp__sandbox_request request = {
        .lease = lease,
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .cwd = arcp_span_cstr(directory),
        .home = ARCP_SPAN_LITERAL("/home/agent"),
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 268435456, .pids = 512},
        .abilities = abilities,
        .min = ARCP__SANDBOX_VERDICT_UNDER,
    };
    must(arcp__sandbox_plan_new(&request, &plan, &error) == ARCP_OK, error.message);
    arcp__sandbox_plan_encode(plan, &out);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
    return out;
}

/* What makes a like sandbox; static. */
static const char *const *bwrap_argv(void)
{
    static const char *copy[40];
    const char *const argv[] = {BWRAP,
                                "--unshare-all",
                                "--die-with-parent",
                                "--new-session",
                                "--ro-bind",
                                "/usr",
                                "/usr",
                                "--symlink",
                                "usr/bin",
                                "/bin",
                                "--symlink",
                                "usr/lib",
                                "/lib",
                                "--symlink",
                                "usr/lib64",
                                "/lib64",
                                "--proc",
                                "/proc",
                                "--dev",
                                "/dev",
                                "--tmpfs",
                                "/tmp",
                                "--tmpfs",
                                "/home/agent",
                                "--ro-bind",
                                arcp_buf_cstr(&etc),
                                "/etc",
                                "--bind",
                                directory,
                                directory,
                                "/bin/true",
                                NULL};
    _Static_assert(sizeof argv <= sizeof copy, "the words of bwrap");
    memcpy(copy, argv, sizeof argv);
    return copy;
}

int main(int argc, char **argv)
{
    arcp_error error = {0};
    arcp_sandbox_launcher_options options = arcp_sandbox_launcher_options_init();
    const arcp__sandbox_abilities abilities = probe();
    options.sandbox = HELPER;
    must(mkdtemp(directory) != NULL, "mkdtemp");
    must(arcp_launcher_new_sandbox(&options, &launcher, &error) == ARCP_OK, error.message);
    const arcp__sandbox_etc request = {
        .directory = directory, .uid = getuid(), .gid = getgid(), .home = "/home/agent"};
    must(arcp__sandbox_etc_prepare(&request, &etc, &error) == ARCP_OK, error.message);
    start_case bare = {.plan = arcp_buf_init()};
    start_case full = {.plan = make_plan(abilities, ARCP__SANDBOX_LEVEL_FULL, "")};
    start_case net = {
        .plan = make_plan(abilities, ARCP__SANDBOX_LEVEL_FULL, "\"https://api.example.com/**\"")};
    start_case landlock = {.plan = make_plan(abilities, ARCP__SANDBOX_LEVEL_LANDLOCK, "")};
    start_case by_bwrap = {.plan = arcp_buf_init(), .argv = bwrap_argv()};
    bench_case cases[5] = {{.name = "sandbox/start/bare", .run = start, .state = &bare}};
    size_t count = 1;
    if (full.plan.size != 0) {
        cases[count++] = (bench_case){.name = "sandbox/start/full",
                                      .baseline = "sandbox/start/bare",
                                      .run = start,
                                      .state = &full};
        cases[count++] = (bench_case){.name = "sandbox/start/net",
                                      .baseline = "sandbox/start/bare",
                                      .run = start,
                                      .state = &net};
    }
    if (landlock.plan.size != 0) {
        cases[count++] = (bench_case){.name = "sandbox/start/landlock",
                                      .baseline = "sandbox/start/bare",
                                      .run = start,
                                      .state = &landlock};
    }
    if (access(BWRAP, X_OK) == 0) {
        cases[count++] = (bench_case){.name = "sandbox/start/bwrap",
                                      .baseline = "sandbox/start/bare",
                                      .run = start,
                                      .state = &by_bwrap};
    }
    const int result = bench_main(argc, argv, "starting a program", cases, count);
    must(remove_tree(directory) == 0, "removing the directory");
    arcp_buf_fini(&full.plan);
    arcp_buf_fini(&net.plan);
    arcp_buf_fini(&landlock.plan);
    arcp_buf_fini(&etc);
    arcp_launcher_free(launcher);
    return result;
}
