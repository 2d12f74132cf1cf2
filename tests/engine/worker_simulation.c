/* An engine with its store, and workers, over links that delay and are cut: with crashes of the
 * engine at any step, with stores that lose what was not written or that are restored from a
 * backup, and with programs that take their time to die. Each item has its effect once, in order;
 * what is spent is exact; each item that asks gets one reply; no job starts twice, and none is lost
 * while its program lives. With several workers these are drained and killed, too, and refuse jobs:
 * all jobs end, and none starts before an older one of its principal that waits. */
#include "engine/worker_simulation.h"

#include "base/alloc.h"
#include "engine/frames.h"

#define STEPS_MAX 3000
#define CALM_STEP 250 /* from then on nothing fails */

static simulation s;

program *simulation_program(simulation *of, arcp_span job)
{
    for (size_t i = 0; i < of->program_count; i++) {
        if (arcp_span_equal_cstr(job, of->programs[i].id)) {
            return &of->programs[i];
        }
    }
    assert_true(of->program_count < PROGRAMS_MAX);
    program *p = &of->programs[of->program_count++];
    (void)snprintf(p->id, sizeof p->id, "%.*s", (int)job.size, job.data);
    return p;
}

static const arcp__job *job_of(const program *p)
{
    return simulation_job(&s, arcp_span_cstr(p->id));
}

static bool is_over(void)
{
    bool is_over = s.is_up && s.disk.queued == 0 && s.call_count == 0 &&
                   arcp__credentials_count(&s.rig.engine->credentials) == 0;
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
    if (s.chance.problem == NULL) {
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

const char *simulation_play(uint64_t seed, const void *setup, int fault, int *step)
{
    memset(&s, 0, sizeof s);
    s.chance = chance_of_seed(seed);
    s.fault = (fault_kind)fault;
    s.setup = *(const simulation_setup *)setup;
    simulation_begin_workers(&s);
    simulation_begin_runtime(&s);
    for (size_t i = 0; i < s.setup.parents; i++) {
        s.programs[i].items = simulation_draw(&s, ITEMS_MAX + 1);
    }
    for (*step = 0; *step < STEPS_MAX && s.chance.problem == NULL && !is_over(); ++*step) {
        const bool is_calm = *step > CALM_STEP;
        const int64_t passed_ns = ARCP_NS_PER_MS + chance_draw_ns(&s.chance, 200);
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
    for (size_t i = 0; i < s.program_count && s.chance.problem == NULL; i++) {
        check_program(&s.programs[i]);
    }
    for (size_t i = 0; i < s.setup.workers && s.chance.problem == NULL; i++) {
        simulation_expect(&s, arcp__worker_core_figures(s.workers[i].core).unkept_bytes == 0,
                          "a worker keeps something");
    }
    simulation_end_runtime(&s);
    return s.chance.problem;
}
