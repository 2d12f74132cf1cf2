/* Calls that name a file, made by a program: bare, and under `arcp run` with a lease that grants a
 * directory, or files by a pattern. */
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/span.h>

#include "harness.h"
#include "support/remove_tree.h"

#define ARCP   ARCP_BINARY_DIR "/bin/arcp"
#define STATS  6 /* the first case of stat */
#define WORKER ARCP_BINARY_DIR "/bench/arcp-bench-calls"

/* A program that makes calls on request. */
typedef struct caller {
    pid_t pid;
    FILE *orders, *answers;
} caller;

typedef struct calls {
    const caller *by;
    const char *call;
    char path[PATH_MAX];
} calls;

static char directory[] = ARCP_BINARY_DIR "/bench/calls-XXXXXX";

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "sandbox_calls_bench: %s failed\n", what);
        exit(1);
    }
}

/* `pattern`: what the caller may read below the directory; NULL: it runs bare. Without a broker no
 * call is passed on, as with enforce.report: false where a lease has directories only. */
static caller start(const char *pattern, bool has_broker)
{
    char lease[PATH_MAX + 32];
    const char *const bare[] = {WORKER, NULL};
    const char *const confined[] = {ARCP, "run", "--quiet", "--lease", lease, "--", WORKER, NULL};
    const char *const *const argv = pattern == NULL ? bare : confined;
    caller one = {0};
    int orders[2];
    int answers[2];
    posix_spawn_file_actions_t actions;
    (void)snprintf(lease, sizeof lease, "{\"fs.read\":[\"%s/%s\"]}", directory,
                   pattern == NULL ? "" : pattern);
    must(pipe(orders) == 0 && pipe(answers) == 0, "pipe");
    must(posix_spawn_file_actions_init(&actions) == 0 &&
             posix_spawn_file_actions_adddup2(&actions, orders[0], 0) == 0 &&
             posix_spawn_file_actions_adddup2(&actions, answers[1], 1) == 0 &&
             posix_spawn_file_actions_addclosefrom_np(&actions, 3) == 0,
         "posix_spawn_file_actions");
    must(has_broker || setenv("ARCP_SANDBOX_WITHOUT", "notify", 1) == 0, "setenv");
    must(posix_spawn(&one.pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0,
         argv[0]);
    (void)unsetenv("ARCP_SANDBOX_WITHOUT");
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(orders[0]);
    (void)close(answers[1]);
    one.orders = fdopen(orders[1], "w");
    one.answers = fdopen(answers[0], "r");
    must(one.orders != NULL && one.answers != NULL, "fdopen");
    return one;
}

static void end(caller *one)
{
    int status = 0;
    (void)fclose(one->orders);
    (void)fclose(one->answers);
    must(waitpid(one->pid, &status, 0) == one->pid && status == 0, "the program inside");
}

static void run(void *state, uint64_t iterations)
{
    const calls *what = state;
    char line[16];
    (void)fprintf(what->by->orders, "%s %llu %s\n", what->call, (unsigned long long)iterations,
                  what->path);
    must(fflush(what->by->orders) == 0 && fgets(line, sizeof line, what->by->answers) != NULL,
         "the program inside");
}

static calls make_calls(const caller *by, const char *call, const char *name)
{
    calls made = {.by = by, .call = call};
    (void)snprintf(made.path, sizeof made.path, "%s%s%s", *name == '/' ? "" : directory,
                   *name == '/' ? "" : "/", name);
    return made;
}

static void make_file(const char *name)
{
    const calls at = make_calls(NULL, "", name);
    FILE *file = fopen(at.path, "we");
    must(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0, at.path);
}

int main(int argc, char **argv)
{
    must(mkdtemp(directory) != NULL && chmod(directory, 0755) == 0, "mkdtemp");
    make_file("a.txt");
    make_file("secret");
    caller bare = start(NULL, true);
    caller tree = start("**", true);
    caller files = start("*.txt", true);
    caller silent = start("**", false);
    calls of[] = {
        make_calls(&bare, "open", "a.txt"),   make_calls(&tree, "open", "/usr/bin/env"),
        make_calls(&tree, "open", "a.txt"),   make_calls(&files, "open", "a.txt"),
        make_calls(&files, "open", "secret"), make_calls(&silent, "open", "a.txt"),
        make_calls(&bare, "stat", "a.txt"),   make_calls(&tree, "stat", "a.txt"),
        make_calls(&files, "stat", "a.txt"),
    };
    const char *const names[] = {
        "sandbox/open/bare",    "sandbox/open/base",   "sandbox/open/tree",
        "sandbox/open/granted", "sandbox/open/denied", "sandbox/open/unreported",
        "sandbox/stat/bare",    "sandbox/stat/tree",   "sandbox/stat/answered"};
    const size_t count = sizeof of / sizeof *of;
    bench_case cases[sizeof of / sizeof *of];
    for (size_t i = 0; i < count; i++) {
        cases[i] = (bench_case){.name = names[i], .run = run, .state = &of[i]};
        cases[i].baseline = i == 0 || i == STATS ? NULL : names[i < STATS ? 0 : STATS];
    }
    const int result = bench_main(argc, argv, "calls that name a file", cases, count);
    end(&bare);
    end(&tree);
    end(&files);
    end(&silent);
    must(remove_tree(directory) == 0, "removing the directory");
    return result;
}
