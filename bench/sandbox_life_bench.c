/* Sandboxes that run: the memory of monitor and init, in proportional shares, and without the pages
 * of the program's file, which all sandboxes share and which are kept once (`own`); how long it
 * takes from the death of a monitor until all of its sandbox has ended, and the processor's time of
 * five runs of a compiler, with that of the sandbox. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "sandbox_starts.h"

#define MANY     200
#define COMPILER "/usr/bin/gcc"

/* A number of sandboxes whose program sleeps. */
typedef struct crowd {
    size_t count;
    const char *figure; /* of smaps_rollup, with its colon */
    start_case one;
} crowd;

/* Their programs hold the pipe `ends`: [0] is at its end when all of them have ended. */
static void start_all(const crowd *c, started *all, int ends[2])
{
    char record[65536];
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    for (size_t i = 0; i < c->count; i++) {
        all[i] = starts_start(&c->one, ends[1]);
    }
    (void)close(ends[1]);
    for (size_t i = 0; i < c->count; i++) { /* the only record before the end is `running` */
        must(recv(all[i].control, record, sizeof record, 0) > 0, "the sandbox");
    }
    for (size_t i = 0; i < c->count; i++) { /* of each program, when it runs */
        must(read(ends[0], record, 1) == 1, "the program");
    }
}

static void kill_all(const crowd *c, started *all, int end)
{
    char byte;
    for (size_t i = 0; i < c->count; i++) {
        must(kill(all[i].process->pid, SIGKILL) == 0, "kill");
    }
    must(read(end, &byte, 1) == 0, "the end of the programs");
}

static void forget_all(const crowd *c, started *all, int end)
{
    for (size_t i = 0; i < c->count; i++) {
        starts_forget(&all[i]);
    }
    (void)close(end);
}

static double kb_of(pid_t pid, const char *figure)
{
    char text[64];
    long kb = 0;
    (void)snprintf(text, sizeof text, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(text, "re");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        if (strncmp(text, figure, strlen(figure)) == 0) {
            kb = strtol(text + strlen(figure), NULL, 10);
            break;
        }
    }
    must(file != NULL && kb > 0 && fclose(file) == 0, "smaps_rollup");
    return (double)kb;
}

static pid_t child_of(pid_t pid)
{
    char text[64];
    long child = 0;
    (void)snprintf(text, sizeof text, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(text, "re");
    must(file != NULL && fgets(text, sizeof text, file) != NULL &&
             (child = strtol(text, NULL, 10)) > 0 && fclose(file) == 0,
         "init of the sandbox");
    return (pid_t)child;
}

static void memory(void *state, uint64_t iterations)
{
    const crowd *c = state;
    started all[MANY];
    int ends[2];
    double sum = 0;
    start_all(c, all, ends);
    for (size_t i = 0; i < c->count; i++) {
        const pid_t monitor = all[i].process->pid;
        sum += kb_of(monitor, c->figure) + kb_of(child_of(monitor), c->figure);
    }
    kill_all(c, all, ends[0]);
    forget_all(c, all, ends[0]);
    bench_set_value(sum / (double)c->count);
}

static bench_case memory_case(const char *name, crowd *of)
{
    return (bench_case){.name = name,
                        .run = memory,
                        .state = of,
                        .units_per_iteration = 1,
                        .unit = "KB",
                        .iterations = 1};
}

static void killed(void *state, uint64_t iterations)
{
    const crowd *c = state;
    started all[MANY];
    int ends[2];
    start_all(c, all, ends);
    const int64_t began_ns = bench_now_ns();
    kill_all(c, all, ends[0]);
    const int64_t ended_ns = bench_now_ns();
    forget_all(c, all, ends[0]);
    bench_set_value((double)(ended_ns - began_ns));
}

static void compile(void *state, uint64_t iterations)
{
    arcp_process_exit end;
    started one = starts_start(state, -1);
    starts_wait(&one, &end);
    bench_set_value((double)(end.user_us + end.system_us) * 1000);
}

static void write_source(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/a.c", starts_directory());
    FILE *file = fopen(path, "we");
    must(file != NULL &&
             fputs("#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n"
                   "    return printf(\"%d\\n\", rand()) < 0;\n}\n",
                   file) >= 0 &&
             fclose(file) == 0,
         path);
}

int main(int argc, char **argv)
{
    static const char *const sleeper[] = {"/bin/sh", "-c", "echo; exec sleep 1000", NULL};
    static char script[256];
    static const char *const compiler[] = {"/bin/sh", "-c", script, NULL};
    (void)starts_begin();
    write_source();
    (void)snprintf(script, sizeof script,
                   "for i in 1 2 3 4 5; do gcc -c %s/a.c -o %s/a.o || exit 1; done",
                   starts_directory(), starts_directory());
    start_case bare = {.plan = arcp_buf_init(), .argv = compiler};
    start_case tree = {.plan =
                           starts_plan(ARCP__SANDBOX_LEVEL_FULL,
                                       "{\"fs.read\":[\"@/**\"],\"fs.write\":[\"@/**\"]}", false),
                       .argv = compiler};
    start_case pattern = {
        .plan = starts_plan(ARCP__SANDBOX_LEVEL_FULL,
                            "{\"fs.read\":[\"@/*.c\",\"@/*.o\"],\"fs.write\":[\"@/*.o\"]}", false),
        .argv = compiler};
    const start_case sleeping = {.plan = tree.plan, .argv = sleeper};
    crowd one = {1, "Pss:", sleeping};
    crowd many = {MANY, "Pss:", sleeping};
    crowd own_one = {1, "Pss_Anon:", sleeping};
    crowd own_many = {MANY, "Pss_Anon:", sleeping};
    const bool is_full = tree.plan.size != 0;
    const bool has_compiler = access(COMPILER, X_OK) == 0;
    const bench_case cases[] = {
        memory_case("sandbox/memory/1", &one),
        memory_case("sandbox/memory/200", &many),
        memory_case("sandbox/memory/1, own", &own_one),
        memory_case("sandbox/memory/200, own", &own_many),
        {.name = "sandbox/killed/1", .run = killed, .state = &one, .iterations = 1},
        {.name = "sandbox/killed/200", .run = killed, .state = &many, .iterations = 1},
        {.name = "sandbox/gcc/bare", .run = compile, .state = &bare, .iterations = 1},
        {.name = "sandbox/gcc/tree",
         .baseline = "sandbox/gcc/bare",
         .run = compile,
         .state = &tree,
         .iterations = 1},
        {.name = "sandbox/gcc/pattern",
         .baseline = "sandbox/gcc/bare",
         .run = compile,
         .state = &pattern,
         .iterations = 1},
    };
    const size_t count = sizeof cases / sizeof *cases - (has_compiler ? 0 : 3);
    if (!is_full) {
        (void)fprintf(stderr, "NOT RUN: this host has not level full\n");
    }
    const int result = is_full ? bench_main(argc, argv, "sandboxes that run", cases, count) : 0;
    arcp_buf_fini(&tree.plan);
    arcp_buf_fini(&pattern.plan);
    starts_end();
    return result;
}
