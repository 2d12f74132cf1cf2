/* Runs the simulation of an engine and workers (worker_simulation.c) with many seeds, and shows
 * that it finds faults. A seed that fails is printed; ARCP_WORKER_SEED=N repeats it alone, and
 * ARCP_WORKER_SEEDS=N runs so many. */
#include "engine/worker_simulation.h"

#define SEEDS 60

static const simulation_setup one_worker = {.workers = 1, .parents = 3};
static const simulation_setup several_workers = {.workers = 3, .parents = 8, .offers = true};

static void each_item_has_its_effect_once_over_crashes_and_links(void **state)
{
    (void)state;
    simulation_play_seeds(simulation_play, &one_worker, SEEDS);
}

static void jobs_of_several_workers_end_in_their_order(void **state)
{
    (void)state;
    simulation_play_seeds(simulation_play, &several_workers, SEEDS);
}

typedef struct fault_row {
    const char *name;
    fault_kind fault;
    const simulation_setup *setup;
} fault_row;

static const fault_row faults[] = {
    {"an engine that does not hear of stored makes a seed fail", FAULT_NO_STORED, &one_worker},
    {"a runtime that keeps nothing open makes a seed fail", FAULT_NO_OPEN, &one_worker},
    {"an engine that loses jobs without a margin makes a seed fail", FAULT_NO_MARGIN, &one_worker},
    {"a runtime that keeps what is not durable makes a seed fail", FAULT_EARLY_KEPT, &one_worker},
    {"several workers whose jobs are lost without a margin make a seed fail", FAULT_NO_MARGIN,
     &several_workers},
    {"parents that lend no place make a seed fail", FAULT_NO_LENDING, &several_workers},
    {"a job that goes to the end of the queue when its worker is busy makes a seed fail",
     FAULT_BUSY_LAST, &several_workers},
};

static void a_fault_of_the_runtime_makes_a_seed_fail(void **state)
{
    const fault_row *row = *state;
    simulation_find_fault(simulation_play, row->setup, (int)row->fault, UINT64_C(10) * SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_has_its_effect_once_over_crashes_and_links),
        cmocka_unit_test(jobs_of_several_workers_end_in_their_order),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_rows(faults, sizeof faults / sizeof faults[0], sizeof faults[0],
                             a_fault_of_the_runtime_makes_a_seed_fail);
}
