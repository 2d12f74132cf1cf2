/* Starting /bin/true and waiting for its end: bare, in a sandbox of each level that this host has,
 * and by bwrap (Debian's bubblewrap) where it is in PATH. The plan is that of a job with one
 * directory; `net` has a host to reach, too. bwrap makes the same namespaces and a like view of
 * files; it has no Landlock, no filter and no broker. `held` is the part of a start in which the
 * caller waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "launch/launch.h"
#include "sandbox_starts.h"

#define LEASE "{\"fs.write\":[\"@/**\"],\"fs.read\":[\"@/**\"],\"net.fetch\":[%s]}"

static char bwrap[ARCP__LAUNCH_PATH_MAX];

static void start(void *state, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        started one = starts_start(state, -1);
        starts_wait(&one, NULL);
    }
}

static void held(void *state, uint64_t iterations)
{
    const int64_t began_ns = bench_now_ns();
    started one = starts_start(state, -1);
    const int64_t held_ns = bench_now_ns() - began_ns;
    starts_wait(&one, NULL);
    bench_set_value((double)held_ns);
}

static start_case with_plan(arcp__sandbox_level level, const char *fetch)
{
    char lease[256];
    (void)snprintf(lease, sizeof lease, LEASE, fetch);
    return (start_case){.plan = starts_plan(level, lease, false)};
}

/* What makes a like sandbox; static. */
static const char *const *bwrap_argv(void)
{
    static const char *copy[40];
    const char *const argv[] = {bwrap,
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
                                starts_etc(),
                                "/etc",
                                "--bind",
                                starts_directory(),
                                starts_directory(),
                                "/bin/true",
                                NULL};
    _Static_assert(sizeof argv <= sizeof copy, "the words of bwrap");
    memcpy(copy, argv, sizeof argv);
    return copy;
}

int main(int argc, char **argv)
{
    bench_case cases[8];
    size_t count = 0;
    arcp_error error = {0};
    (void)starts_begin();
    start_case bare = {.plan = arcp_buf_init()};
    start_case full = with_plan(ARCP__SANDBOX_LEVEL_FULL, "");
    start_case net = with_plan(ARCP__SANDBOX_LEVEL_FULL, "\"https://api.example.com/**\"");
    start_case landlock = with_plan(ARCP__SANDBOX_LEVEL_LANDLOCK, "");
    start_case by_bwrap = {.plan = arcp_buf_init(), .argv = bwrap_argv()};
    const struct {
        const char *name, *baseline;
        start_case *one;
        bool is_there, is_held;
    } rows[] = {
        {"sandbox/start/bare", NULL, &bare, true, false},
        {"sandbox/start/full", "sandbox/start/bare", &full, full.plan.size != 0, false},
        {"sandbox/start/net", "sandbox/start/bare", &net, full.plan.size != 0, false},
        {"sandbox/start/landlock", "sandbox/start/bare", &landlock, landlock.plan.size != 0, false},
        {"sandbox/start/bwrap", "sandbox/start/bare", &by_bwrap,
         arcp__launch_find("bwrap", getenv("PATH"), bwrap, &error) == ARCP_OK, false},
        {"sandbox/held/bare", NULL, &bare, true, true},
        {"sandbox/held/full", "sandbox/held/bare", &full, full.plan.size != 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_there) {
            cases[count++] = (bench_case){.name = rows[i].name,
                                          .baseline = rows[i].baseline,
                                          .run = rows[i].is_held ? held : start,
                                          .iterations = rows[i].is_held ? 1 : 0,
                                          .state = rows[i].one};
        }
    }
    const int result = bench_main(argc, argv, "starting a program", cases, count);
    arcp_buf_fini(&full.plan);
    arcp_buf_fini(&net.plan);
    arcp_buf_fini(&landlock.plan);
    starts_end();
    return result;
}
