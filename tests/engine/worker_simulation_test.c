/* An engine with its store, and workers, over links that delay and are cut: with crashes of the
 * engine at any step, with stores that lose what was not written or that are restored from a
 * backup, and with programs that take their time to die. Each item has its effect once, in order;
 * what is spent is exact; each item that asks gets one reply; no job starts twice, and none is lost
 * while its program lives. With several workers these are drained and killed, too, and refuse jobs:
 * all jobs end, and none starts before an older one of its principal that waits.
 *
 * A seed that fails is printed; ARCP_WORKER_SEED=N repeats it alone, and ARCP_WORKER_SEEDS=N runs
 * so many. */
#include "engine/worker_simulation.h"

#include "base/alloc.h"
#include "engine/frames.h"

#define SEEDS     60
#define STEPS_MAX 3000
#define CALM_STEP 250 /* from then on nothing fails */

static simulation s;

static const arcp__job *job_of(const program *p)
{
    return simulation_job(&s, arcp_span_cstr(p->id));
}

static bool is_over(void)
{
    bool is_over = s.is_up && s.disk.queued == 0 && s.call_count == 0;
    for (size_t i = 0; i < s.program_count && is_over; i++) {
        const arcp__job *job = job_of(&s.programs[i]);
        is_over = s.programs[i].job == NULL && (job == NULL || arcp__job_has_ended(job));
    }
    return is_over;
}

/* The numbers of the thoughts of the job, as a client reads its history: each once, in order. */
static void check_history(const program *p, const arcp__job *job)
{
    char request[256];
    uint64_t next = 1;
    rig_client *client = rig_connect(&s.rig, "b");
    (void)snprintf(request, sizeof request, HELLO_OF("%s", "\"subscribe\""), job->principal->name);
    rig_send(&s.rig, client, request);
    (void)snprintf(request, sizeof request,
                   FRAME("w", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"), p->id);
    rig_send(&s.rig, client, request);
    for (char *got = NULL; (got = rig_take(client)) != NULL; arcp__free(got)) {
        const char *number = strstr(got, "\"text\":\"#");
        if (number == NULL) {
            continue;
        }
        while (next <= p->items && simulation_kind_of(&s, p, next) != KIND_EVENT) {
            next++;
        }
        simulation_expect(&s, strtoull(number + strlen("\"text\":\"#"), NULL, 10) == next,
                          "an item has no effect, two, or one out of order");
        next++;
    }
    while (next <= p->items && simulation_kind_of(&s, p, next) != KIND_EVENT) {
        next++;
    }
    simulation_expect(&s, next == p->items + 1, "an item has no effect");
    rig_drop(&s.rig, client);
}

static void check_program(const program *p)
{
    const arcp__job *job = job_of(p);
    uint64_t metrics = 0;
    if (p->is_exempt || p->is_killed || p->is_child) {
        return;
    }
    simulation_expect(&s, job != NULL && job->status == ARCP_JOB_SUCCESS, "a job fails");
    for (uint64_t item = 1; item <= p->items; item++) {
        const item_kind kind = simulation_kind_of(&s, p, item);
        metrics += kind == KIND_METRIC;
        simulation_expect(&s, p->replies[item] == (kind != KIND_EVENT), "an item has no reply");
    }
    if (s.problem == NULL) {
        char spent[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(arcp_budget_spent(job->budget, 0), spent);
        simulation_expect(&s, strtoull(spent, NULL, 10) == metrics, "a budget is not exact");
        check_history(p, job);
    }
}

/* What may go wrong at this step. */
static void disturb(void)
{
    simulated_worker *w = &s.workers[simulation_draw(&s, s.setup.workers)];
    if (simulation_draw(&s, 60) == 0) {
        simulation_cut(w);
    }
    if (s.is_up && simulation_draw(&s, 100) == 0) {
        simulation_crash(&s, !s.setup.offers && simulation_draw(&s, 6) == 0);
    }
    if (s.setup.offers && simulation_draw(&s, 150) == 0) {
        simulation_kill_worker(w);
    }
    if (s.setup.offers && simulation_draw(&s, 100) == 0) {
        simulation_drain(&s);
    }
}

/* Returns NULL, or what is wrong. */
static const char *run(uint64_t seed, const simulation_setup *setup, fault_kind fault, int *step)
{
    memset(&s, 0, sizeof s);
    s.random = seed * 0x2545f4914f6cdd1du + 1;
    s.fault = fault;
    s.setup = *setup;
    simulation_begin_workers(&s);
    simulation_begin_runtime(&s);
    for (size_t i = 0; i < s.setup.parents; i++) {
        s.programs[i].items = simulation_draw(&s, ITEMS_MAX + 1);
    }
    for (*step = 0; *step < STEPS_MAX && s.problem == NULL && !is_over(); ++*step) {
        const bool is_calm = *step > CALM_STEP;
        const int64_t passed_ns = (int64_t)(1 + simulation_draw(&s, 200)) * ARCP_NS_PER_MS;
        s.rig.now.mono_ns += passed_ns;
        s.rig.now.wall_ns += passed_ns;
        for (size_t i = 0; i < s.setup.workers; i++) {
            simulation_run_worker(&s.workers[i]);
        }
        simulation_run_runtime(&s);
        if (!is_calm) {
            disturb();
        }
    }
    simulation_expect(&s, is_over(), "the jobs do not end");
    s.disk.is_held = false;
    for (size_t i = 0; i < s.program_count && s.problem == NULL; i++) {
        check_program(&s.programs[i]);
    }
    for (size_t i = 0; i < s.setup.workers && s.problem == NULL; i++) {
        simulation_expect(&s, arcp__worker_core_figures(s.workers[i].core).unkept_bytes == 0,
                          "a worker keeps something");
    }
    simulation_end_runtime(&s);
    return s.problem;
}

static const simulation_setup one_worker = {.workers = 1, .parents = 3};
static const simulation_setup several_workers = {.workers = 3, .parents = 8, .offers = true};

static void run_seeds(const simulation_setup *setup)
{
    const char *one = getenv("ARCP_WORKER_SEED");
    const char *many = getenv("ARCP_WORKER_SEEDS");
    const uint64_t first = one == NULL ? 0 : strtoull(one, NULL, 10);
    const uint64_t end = one != NULL ? first + 1 : many != NULL ? strtoull(many, NULL, 10) : SEEDS;
    for (uint64_t seed = first; seed < end; seed += test_stride()) {
        int at = 0;
        const char *problem = run(seed, setup, FAULT_NONE, &at);
        if (problem != NULL) {
            fail_msg("ARCP_WORKER_SEED=%" PRIu64 ", step %d: %s", seed, at, problem);
        }
    }
}

static void each_item_has_its_effect_once_over_crashes_and_links(void **state)
{
    (void)state;
    run_seeds(&one_worker);
}

static void jobs_of_several_workers_end_in_their_order(void **state)
{
    (void)state;
    run_seeds(&several_workers);
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
    int at = 0;
    uint64_t seed = 0;
    while (seed < UINT64_C(10) * SEEDS && run(seed, row->setup, row->fault, &at) == NULL) {
        seed++;
    }
    assert_true(seed < UINT64_C(10) * SEEDS);
    print_message("seed %" PRIu64 " finds it\n", seed);
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
