/* Many jobs on a worker of this machine, while a real arcpd is killed (-9) at random moments.
 *
 *   ARCP_WORKER_JOBS, ARCP_WORKER_KILLS, ARCP_WORKER_SEED: another run. The seed is printed. */
#include "support/check.h"

#include <sys/random.h>

#include "arcpd/counting_jobs.h"

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* A number below `limit`. */
static uint64_t draw(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % limit;
}

static void many_jobs_go_on_over_many_kills(void **state)
{
    static counting_rig r;
    uint64_t seed = 0;
    (void)state;
    (void)!getrandom(&seed, sizeof seed, 0);
    seed = number_of("ARCP_WORKER_SEED", seed);
    const uint64_t jobs = number_of("ARCP_WORKER_JOBS", 50);
    const uint64_t kills = number_of("ARCP_WORKER_KILLS", 20);
    print_message("ARCP_WORKER_SEED=%llu\n", (unsigned long long)seed);
    assert_in_range(jobs, 1, COUNTING_JOBS_MAX);
    counting_open(&r, 200);
    for (uint64_t i = 0; i < jobs; i++) {
        counting_submit(&r, (unsigned)draw(&seed, 40000));
    }
    counting_take_until(&r, 1);
    (void)counting_worker(&r);
    for (uint64_t i = 0; i < kills && r.ended < r.count; i++) {
        counting_take_until(&r, r.lines + draw(&seed, 2 * jobs * r.events / kills));
        daemon_kill(&r.daemon);
        counting_begin_again(&r);
    }
    counting_take_until(&r, UINT64_MAX);
    assert_int_equal(r.ended, r.count);
    assert_int_equal(r.lines, jobs * r.events);
    counting_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_jobs_go_on_over_many_kills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
