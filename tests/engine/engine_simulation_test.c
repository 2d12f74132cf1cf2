/* Seeded random sessions against the engine: clients that come, go and take over, agents
 * that say right and wrong things, a clock that jumps, a store that fails, restarts.
 *   engine_simulation_test [SEEDS [FIRST]]
 * runs SEEDS seeds (500) from FIRST (1) on; ARCP_SIMULATION_SEED=n runs that seed alone, and
 * ARCP_SIMULATION_TRACE prints what was said. */
#include "engine/play.h"

#include "support/check.h"

#include "base/alloc.h"

#define STEPS 160

static uint64_t first_seed = 1;
static uint64_t seed_count = 500;

static void every_promise_holds_in_random_sessions(void **state)
{
    (void)state;
    size_t frames = 0;
    size_t ends = 0;
    size_t replays = 0;
    size_t jobs = 0;
    for (uint64_t at = 0; at < seed_count; at++) {
        play *self = arcp__alloc(sizeof(*self));
        assert_non_null(self);
        play_begin_seed(self, first_seed + at);
        for (unsigned step = 0; step < STEPS && play_step(self); step++) {
        }
        play_settle(self);
        frames += self->watch.frames;
        ends += self->watch.ends;
        replays += self->watch.replays;
        jobs += self->watch.job_count;
        play_end(self);
        arcp__free(self);
    }
    print_message("%llu seeds: %zu frames, %zu jobs, %zu ends, %zu messages seen again\n",
                  (unsigned long long)seed_count, frames, jobs, ends, replays);
    /* A simulation in which nothing happens would prove nothing. */
    assert_true(seed_count < 20 || (frames > seed_count && jobs > seed_count && ends > seed_count));
}

int main(int argc, char **argv)
{
    const char *one = getenv("ARCP_SIMULATION_SEED");
    if (argc > 1) {
        seed_count = strtoull(argv[1], NULL, 10);
    }
    if (argc > 2) {
        first_seed = strtoull(argv[2], NULL, 10);
    }
    if (one != NULL) {
        first_seed = strtoull(one, NULL, 10);
        seed_count = 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_promise_holds_in_random_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
