/* Seeded random sessions against the engine: clients that connect, disconnect, go silent and take
 * over, agents that say right and wrong things and spend, a clock that jumps, a store that stalls
 * and fails, hooks whose receivers fail, jobs and keys that are removed early, restarts at any
 * effect, shutdowns.
 *   engine_simulation_test [SEEDS [FIRST]]
 * runs SEEDS seeds (500) from FIRST (1) on; ARCP_SIMULATION_SECONDS=n goes on for so long. A seed
 * that fails prints how to repeat it; when its fault is mended, it becomes a named test of
 * engine_found_test.c: seeds mean something else when the play changes. */
#include "engine/play.h"
#include "engine/seeds.h"

#include <time.h>

#include "support/check.h"

#include "base/alloc.h"

#define STEPS 240

static seed_range wanted;

typedef struct figures {
    size_t frames, ends, replays, jobs, spends, children, silences, restarts, failures;
    size_t lost, leaves, values, answers, overs, queued, reloads, sent, settled, pushes, watched;
    size_t notes, delivered;
    size_t unsent_max, tail_max, queue_max;
} figures;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void add(figures *sum, const play *one)
{
    sum->frames += one->watch.frames;
    sum->ends += one->watch.ends;
    sum->replays += one->watch.replays;
    sum->jobs += one->watch.job_count;
    sum->spends += one->spends;
    sum->children += one->children;
    sum->silences += one->silences;
    sum->restarts += one->restarts;
    sum->failures += one->disk.failures;
    sum->lost += one->watch.lost;
    sum->leaves += one->leaves;
    sum->values += one->upstream.key_count;
    sum->overs += one->overs;
    sum->answers += one->watch.answers;
    sum->queued += one->queued_max;
    sum->reloads += one->reloads;
    sum->sent += one->sent;
    sum->settled += one->settled;
    sum->pushes += one->pushes;
    sum->watched += one->watched;
    sum->notes += one->note_count;
    sum->delivered += one->delivered;
    sum->unsent_max = larger(sum->unsent_max, one->unsent_max);
    sum->tail_max = larger(sum->tail_max, one->tail_max);
    sum->queue_max = larger(sum->queue_max, one->queue_max);
}

static void run_seed(uint64_t seed, figures *sum)
{
    play *p = arcp__alloc(sizeof *p);
    assert_non_null(p);
    play_begin_seed(p, seed);
    for (unsigned step = 0; step < STEPS && play_step(p); step++) {
    }
    play_settle(p);
    add(sum, p);
    play_end(p);
    arcp__free(p);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A simulation in which something never happens would not test it. */
static void check_figures(const figures *sum, uint64_t seeds)
{
    if (seeds < 200) {
        return;
    }
    const size_t counts[] = {sum->frames,   sum->ends,
                             sum->replays,  sum->jobs,
                             sum->spends,   sum->children,
                             sum->silences, sum->restarts,
                             sum->failures, sum->lost,
                             sum->leaves,   sum->values,
                             sum->answers,  sum->overs,
                             sum->queued,   sum->reloads,
                             sum->sent,     sum->settled,
                             sum->watched,  sum->pushes,
                             sum->notes,    sum->delivered - sum->notes};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_true(counts[i] > seeds / 20);
    }
    assert_true(sum->unsent_max > 60000);
    assert_true(sum->queue_max > 65536);
}

/* [arcp:8.3-1] */
static void every_promise_holds_in_random_sessions(void **state)
{
    (void)state;
    figures sum = {0};
    const uint64_t begin_ms = now_ms();
    uint64_t played = 0;
    while (wanted.soak_sec == 0 ? played < wanted.count
                                : now_ms() - begin_ms < wanted.soak_sec * 1000) {
        run_seed(wanted.first + played++, &sum);
    }
    print_message(
        "%llu seeds from %llu: %zu frames, %zu jobs, %zu ends, %zu messages seen again, "
        "%zu spends, %zu children, %zu silent peers, %zu restarts, %zu failed batches, "
        "%zu lost ends, "
        "%zu ends of input, %zu calls to models, %zu credentials, %zu answers to "
        "submits, %zu rows sent to watchers, %zu compared, %zu notifications in %zu attempts; "
        "at most %zu bytes "
        "unsent to a peer, %zu for the store, %zu of streams\n",
        (unsigned long long)played, (unsigned long long)wanted.first, sum.frames, sum.jobs,
        sum.ends, sum.replays, sum.spends, sum.children, sum.silences, sum.restarts, sum.failures,
        sum.lost, sum.leaves, sum.sent, sum.values, sum.answers, sum.pushes, sum.watched, sum.notes,
        sum.delivered, sum.unsent_max, sum.queue_max, sum.tail_max);
    check_figures(&sum, played);
}

int main(int argc, char **argv)
{
    wanted = seeds_of(argc, argv, 500);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_promise_holds_in_random_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
