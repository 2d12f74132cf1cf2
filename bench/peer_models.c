/* The load of `make bench-gateway`, and the provider behind it. Both cost little beside what is
 * measured: the gateways.
 *
 *   arcp-bench-models provider                          prints its port; ends when its input does
 *   arcp-bench-models load PORT KEY MODEL AT_ONCE SEC   prints calls a second, and their median in
 * ms
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model_calls.h"

#define AT_ONCE_MAX 256

typedef struct caller {
    pthread_t thread;
    const model_target *to;
    uint64_t until_ns;
    double *took_ms; /* of each call; owned */
    size_t count, capacity;
} caller;

static uint64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void note(caller *c, double took_ms)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity * 2 + 1024;
        c->took_ms = realloc(c->took_ms, c->capacity * sizeof *c->took_ms);
    }
    if (c->took_ms == NULL) {
        (void)fprintf(stderr, "calls: out of memory\n");
        exit(1);
    }
    c->took_ms[c->count++] = took_ms;
}

static void *call_until(void *argument)
{
    caller *c = argument;
    const int fd = model_connect(c->to->port);
    uint64_t begun_ns = now_ns();
    while (begun_ns < c->until_ns) {
        model_send(fd, c->to, 0);
        model_read_answer(fd);
        const uint64_t ended_ns = now_ns();
        note(c, (double)(ended_ns - begun_ns) / 1e6);
        begun_ns = ended_ns;
    }
    close(fd);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(const caller *callers, size_t at_once, size_t count)
{
    double *all = count == 0 ? NULL : malloc(count * sizeof *all);
    size_t at = 0;
    if (all == NULL) {
        return 0;
    }
    for (size_t i = 0; i < at_once; i++) {
        memcpy(all + at, callers[i].took_ms, callers[i].count * sizeof *all);
        at += callers[i].count;
    }
    qsort(all, count, sizeof *all, compare);
    const double middle = all[count / 2];
    free(all);
    return middle;
}

static void load(const model_target *to, size_t at_once, double seconds)
{
    static caller callers[AT_ONCE_MAX];
    size_t count = 0;
    const uint64_t until_ns = now_ns() + (uint64_t)(seconds * 1e9);
    model_calls_must(at_once > 0 && at_once <= AT_ONCE_MAX, "AT_ONCE is not from 1 to 256");
    for (size_t i = 0; i < at_once; i++) {
        callers[i] = (caller){.to = to, .until_ns = until_ns};
        model_calls_must(pthread_create(&callers[i].thread, NULL, call_until, &callers[i]) == 0,
                         "no thread");
    }
    for (size_t i = 0; i < at_once; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        count += callers[i].count;
    }
    (void)printf("%.1f %.4f\n", (double)count / seconds, median(callers, at_once, count));
    for (size_t i = 0; i < at_once; i++) {
        free(callers[i].took_ms);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "provider") == 0) {
        char byte;
        (void)printf("%u\n", model_provider_start(-1));
        (void)fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
        return 0;
    }
    if (argc == 7 && strcmp(argv[1], "load") == 0) {
        model_target to = {.port = (unsigned)strtoul(argv[2], NULL, 10), .model = argv[4]};
        model_calls_must(strlen(argv[3]) < sizeof to.key, "the key is too long");
        memcpy(to.key, argv[3], strlen(argv[3]));
        load(&to, strtoul(argv[5], NULL, 10), strtod(argv[6], NULL));
        return 0;
    }
    (void)fprintf(stderr,
                  "usage: arcp-bench-models provider | load PORT KEY MODEL AT_ONCE SECONDS\n");
    return 2;
}
