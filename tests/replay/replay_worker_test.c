/* Traces of engines whose jobs run on workers: engines are killed, links are cut, stores are older
 * ones, workers are killed, drained, and refuse jobs. */
#include "replay/replay.h"

#include "support/check.h"

#include "engine/worker_simulation.h"
#include "replay/recorded.h"

static void seeds_are_played_back(simulation_setup setup)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        recording r;
        arcp__replay_result result;
        arcp_error error = {0};
        int step = 0;
        setup.prepare = recording_attach;
        setup.user = &r;
        recording_begin(&r);
        assert_null(simulation_play(seed, &setup, FAULT_NONE, &step));
        const arcp_span trace = recording_end(&r);
        check_ok(arcp__replay(trace, false, &result, &error), &error);
        if (result.end != ARCP__REPLAY_SAME || result.offset != trace.size) {
            fail_msg("seed %" PRIu64 ": end %d at %zu of %zu; expected %.*s; got %.*s", seed,
                     (int)result.end, result.offset, trace.size, (int)result.expected.size,
                     result.expected.size == 0 ? "" : result.expected.data, (int)result.got.size,
                     result.got.size == 0 ? "" : result.got.data);
        }
        arcp__replay_result_fini(&result);
        arcp_buf_fini(&r.bytes);
    }
}

static void jobs_that_a_worker_goes_on_with_are_played_back(void **state)
{
    (void)state;
    seeds_are_played_back((simulation_setup){.workers = 1, .parents = 3});
}

static void jobs_of_several_workers_are_played_back(void **state)
{
    (void)state;
    seeds_are_played_back((simulation_setup){.workers = 3, .parents = 8, .offers = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_a_worker_goes_on_with_are_played_back),
        cmocka_unit_test(jobs_of_several_workers_are_played_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
