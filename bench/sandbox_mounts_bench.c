/* Starting /bin/true on a host with a thousand mounts: bare, and in a sandbox of level full. This
 * program makes them in a mount namespace of its own, which only root may; others have no cases. */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "sandbox_starts.h"

#define MOUNTS 1000

static void start(void *state, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        started one = starts_start(state, -1);
        starts_wait(&one, NULL);
    }
}

static bool make_mounts(void)
{
    char path[64];
    if (unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
    (void)snprintf(path, sizeof path, "%s/mounts", starts_directory());
    must(mkdir(path, 0700) == 0, path);
    must(mount("none", path, "tmpfs", 0, NULL) == 0, path);
    for (int i = 0; i < MOUNTS; i++) {
        (void)snprintf(path, sizeof path, "%s/mounts/%d", starts_directory(), i);
        must(mkdir(path, 0700) == 0 && mount("/usr", path, NULL, MS_BIND, NULL) == 0, path);
    }
    return true;
}

int main(int argc, char **argv)
{
    char path[64];
    (void)starts_begin();
    start_case bare = {.plan = arcp_buf_init()};
    start_case full = {
        .plan = starts_plan(ARCP__SANDBOX_LEVEL_FULL, "{\"fs.read\":[\"/usr/share/**\"]}", false)};
    const bench_case cases[] = {
        {.name = "sandbox/start/bare, 1000 mounts", .run = start, .state = &bare},
        {.name = "sandbox/start/full, 1000 mounts",
         .baseline = "sandbox/start/bare, 1000 mounts",
         .run = start,
         .state = &full}};
    const bool is_made = full.plan.size != 0 && make_mounts();
    if (!is_made) {
        (void)fprintf(stderr, "NOT RUN: this user or host cannot make namespaces of mounts\n");
    }
    const int result = !is_made
                           ? 0
                           : bench_main(argc, argv, "starting a program on a host with many mounts",
                                        cases, sizeof cases / sizeof *cases);
    (void)snprintf(path, sizeof path, "%s/mounts", starts_directory());
    must(!is_made || umount2(path, MNT_DETACH) == 0, "umount");
    arcp_buf_fini(&full.plan);
    starts_end();
    return result;
}
