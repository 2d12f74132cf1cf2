/* A worker and a model of the runtime, over a link that delays and is cut, with crashes of the
 * runtime at any step, with programs that take their time to die, and with stores that are restored
 * from a backup. Each item has its effect once, in order; each that asks gets one reply; no job
 * starts twice, and none is given up while its program lives.
 *
 * A seed that fails is printed; ARCP_WORKER_SEED=N repeats it alone, and ARCP_WORKER_SEEDS=N runs
 * so many. */
#include "worker/worker_simulation.h"

#define SEEDS     800
#define STEPS_MAX 2000
#define CALM_STEP 250 /* from then on nothing fails */

static bool is_over(const simulation *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        if (!s->disk.rows[i].has_ended || s->programs[i].job != NULL) {
            return false;
        }
    }
    return true;
}

static void check_end(simulation *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        const program *p = &s->programs[i];
        const stored_job *row = &s->disk.rows[i];
        if (s->is_restored[i] || row->is_lost) {
            continue;
        }
        for (uint64_t n = 1; n <= p->items; n++) {
            const item_kind kind = simulation_kind_of(i, n);
            simulation_expect(s, row->effects[n] == (kind != KIND_AUTHORIZE),
                              "an item has no effect");
            simulation_expect(s, p->replies[n] == (kind != KIND_EVENT), "an item has no reply");
        }
        simulation_expect(s, row->bytes == p->bytes, "output is missing");
    }
    simulation_expect(s, arcp__worker_core_figures(s->core).unkept_bytes == 0,
                      "the worker keeps something");
}

static const char *play(uint64_t seed, const void *setup, int fault, int *step)
{
    static simulation s;
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = ARCP_SPAN_LITERAL("1"),
                                      .name = ARCP_SPAN_LITERAL("w"),
                                      .instance = ARCP_SPAN_LITERAL("i"),
                                      .boot_id = ARCP_SPAN_LITERAL("b")};
    const arcp__worker_programs programs = simulation_programs(&s);
    (void)setup;
    memset(&s, 0, sizeof s);
    s.chance = chance_of_seed(seed);
    s.fault = (fault_kind)fault;
    s.is_up = true;
    s.now_ns = s.gone_ns = 100 * ARCP_NS_PER_SEC;
    s.core = arcp__worker_core_new(&hello, &programs, s.now_ns);
    assert_non_null(s.core);
    for (size_t i = 0; i < JOBS; i++) {
        s.programs[i].items = simulation_draw(&s, ITEMS_MAX + 1);
        s.programs[i].bytes = i == 0 ? simulation_draw(&s, BYTES_MAX) : 0;
    }
    for (*step = 0; *step < STEPS_MAX && s.chance.problem == NULL && !is_over(&s); ++*step) {
        const bool is_calm = *step > CALM_STEP;
        s.now_ns += ARCP_NS_PER_MS + chance_draw_ns(&s.chance, 200);
        simulation_run_worker(&s);
        simulation_run_runtime(&s);
        if (!is_calm && simulation_draw(&s, 60) == 0) {
            simulation_cut(&s);
        }
        if (!is_calm && s.is_up && simulation_draw(&s, 150) == 0) {
            simulation_crash(&s);
        }
    }
    if (s.chance.problem == NULL) {
        simulation_expect(&s, is_over(&s), "the jobs do not end");
    }
    if (s.chance.problem == NULL) {
        check_end(&s);
    }
    link_drop(&s.link);
    arcp__worker_core_free(s.core);
    return s.chance.problem;
}

static void each_item_has_its_effect_once_over_every_link(void **state)
{
    (void)state;
    simulation_play_seeds(play, NULL, SEEDS);
}

typedef struct fault_row {
    const char *name;
    fault_kind fault;
} fault_row;

static const fault_row faults[] = {
    {"a runtime that does not look at stored makes a seed fail", FAULT_NO_STORED},
    {"a runtime that keeps nothing open makes a seed fail", FAULT_NO_OPEN},
    {"a runtime that gives jobs up without a margin makes a seed fail", FAULT_NO_MARGIN},
    {"a runtime that acts on an item again makes a seed fail", FAULT_NO_ITEM},
    {"a runtime that keeps what is not durable makes a seed fail", FAULT_EARLY_KEPT},
    {"a runtime that keeps what it has not answered on this link makes a seed fail",
     FAULT_NOT_HERE},
};

static void a_fault_of_the_runtime_makes_a_seed_fail(void **state)
{
    const fault_row *row = *state;
    simulation_find_fault(play, NULL, (int)row->fault, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_has_its_effect_once_over_every_link),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_rows(faults, sizeof faults / sizeof faults[0], sizeof faults[0],
                             a_fault_of_the_runtime_makes_a_seed_fail);
}
