/* Placement over workers: where a job runs, and what several agents of one worker get. */
#include "support/check.h"

#include "job/placement.h"

#define JOBS    400
#define WORKERS 3

static int offered; /* only its address counts */
static const char principals[] = "abcde";

/* Its place comes first, so that a place is the job. */
typedef struct job {
    arcp__place place;
    size_t principal;
    struct job *parent; /* which waits for it; NULL: none */
    unsigned to_spawn;
    bool is_done, needs_first; /* the second: only the first worker can run it */
} job;

typedef struct desk {
    arcp__placement placement;
    arcp__place_agent *train, *infer;
    arcp__place_worker workers[WORKERS];
    job jobs[JOBS];
    size_t count;
} desk;

static desk d;
static uint64_t seed;

static unsigned pick(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

static bool can_run(void *user, void *of, const arcp__place_offer *offer)
{
    (void)user;
    return !((const job *)of)->needs_first || offer->worker == &d.workers[0];
}

static arcp__place_offer *offer_of(size_t worker, arcp__place_agent *agent)
{
    arcp__place_offer *offer = arcp__placement_offer_of(&d.workers[worker], agent);
    assert_non_null(offer);
    return offer;
}

static void offer(size_t worker, arcp__place_agent *agent, size_t max_jobs)
{
    arcp__place_offer_set(&d.placement, offer_of(worker, agent), &offered, max_jobs);
}

/* Workers "a", "b", ... with so many places; those with places offer "train". */
static void open_desk(size_t first, size_t second, size_t third)
{
    static const char *const names[WORKERS] = {"a", "b", "c"};
    const size_t places[WORKERS] = {first, second, third};
    d = (desk){.placement = {.fits = can_run}};
    d.train = arcp__placement_agent(&d.placement, "train@1");
    d.infer = arcp__placement_agent(&d.placement, "infer@1");
    assert_non_null(d.train);
    assert_non_null(d.infer);
    for (size_t i = 0; i < WORKERS; i++) {
        d.workers[i] =
            (arcp__place_worker){.name = names[i], .capacity = places[i], .is_open = true};
        if (places[i] != 0) {
            offer(i, d.train, 0);
        }
    }
}

static job *add_job(arcp__place_agent *agent, arcp__place_kind kind, size_t principal)
{
    assert_true(d.count < JOBS);
    job *added = &d.jobs[d.count++];
    added->principal = principal;
    arcp__place_offer *best =
        agent->offer != NULL ? NULL : arcp__place_next_offer(agent, kind, true, NULL);
    if (arcp__place_is_free(agent, kind, best)) {
        arcp__place_take(&d.placement, &added->place, agent, kind, best, added);
    } else {
        assert_int_equal(arcp__place_wait(&d.placement, &added->place, agent, kind,
                                          principals + principal, added),
                         ARCP_OK);
    }
    return added;
}

static job *submit(arcp__place_agent *agent, size_t principal)
{
    return add_job(agent, ARCP__PLACE_SUBMITTED, principal);
}

static job *next(void)
{
    arcp__place *moved = NULL;
    const arcp__place *place = arcp__placement_next(&d.placement, false, &moved);
    return place == NULL ? NULL : place->owner;
}

static void leave(job *which)
{
    (void)arcp__place_leave(&d.placement, &which->place);
}

/* The name of the job's worker; "-" while it waits. */
static const char *where(const job *which)
{
    return which->place.offer == NULL ? "-" : which->place.offer->worker->name;
}

static int close_desk(void **state)
{
    (void)state;
    arcp__placement_fini(&d.placement);
    return 0;
}

static void a_job_goes_to_the_worker_with_the_fewest_jobs_per_place(void **state)
{
    (void)state;
    open_desk(1, 2, 4);
    const char *const expected[] = {"a", "b", "c", "c", "b", "c", "c", "-"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_string_equal(where(submit(d.train, 0)), expected[i]);
    }
    leave(&d.jobs[0]);
    assert_string_equal(where(next()), "a");
}

static void a_worker_that_takes_no_new_jobs_gets_none(void **state)
{
    (void)state;
    open_desk(1, 1, 0);
    d.workers[0].is_open = false;
    assert_string_equal(where(submit(d.train, 0)), "b");
    const job *second = submit(d.train, 0);
    assert_string_equal(where(second), "-");
    d.workers[0].is_open = true;
    arcp__place_worker_changed(&d.placement, &d.workers[0]);
    assert_ptr_equal(next(), second);
    assert_string_equal(where(second), "a");
}

static void an_offer_has_its_own_max_jobs(void **state)
{
    (void)state;
    open_desk(3, 0, 0);
    offer(0, d.infer, 1);
    assert_string_equal(where(submit(d.infer, 0)), "a");
    const job *second = submit(d.infer, 0);
    assert_string_equal(where(second), "-");
    assert_string_equal(where(submit(d.train, 0)), "a");
    leave(&d.jobs[0]);
    assert_ptr_equal(next(), second);
}

static void the_agents_of_a_worker_share_its_places(void **state)
{
    (void)state;
    open_desk(1, 0, 0);
    offer(0, d.infer, 0);
    submit(d.train, 0);
    job *const waiting[] = {submit(d.train, 0), submit(d.train, 0), submit(d.infer, 1),
                            submit(d.infer, 0)};
    /* The jobs of each principal at each agent come in turn. */
    const size_t order[] = {0, 2, 3, 1};
    for (size_t i = 0; i < 4; i++) {
        leave(i == 0 ? &d.jobs[0] : waiting[order[i - 1]]);
        assert_ptr_equal(next(), waiting[order[i]]);
        assert_null(next());
    }
}

static void delegated_jobs_of_any_agent_come_first(void **state)
{
    (void)state;
    open_desk(1, 0, 0);
    offer(0, d.infer, 0);
    submit(d.train, 0);
    submit(d.train, 0);
    const job *child = add_job(d.infer, ARCP__PLACE_DELEGATED, 1);
    leave(&d.jobs[0]);
    assert_ptr_equal(next(), child);
}

static void a_job_that_was_not_taken_is_the_next_one_again(void **state)
{
    (void)state;
    open_desk(1, 1, 0);
    job *refused = submit(d.train, 0);
    submit(d.train, 1);
    const job *other = submit(d.train, 2); /* it waits */
    submit(d.train, 0);
    d.workers[0].is_open = false;
    assert_int_equal(
        arcp__place_wait_again(&d.placement, &refused->place, principals + refused->principal),
        ARCP_OK);
    assert_int_equal(arcp__place_number(&refused->place), 1);
    assert_null(next());
    leave(&d.jobs[1]);
    assert_ptr_equal(next(), refused);
    assert_string_equal(where(refused), "b");
    leave(refused);
    assert_ptr_equal(next(), other);
}

static void a_parent_that_waits_lends_its_place_on_a_worker(void **state)
{
    (void)state;
    open_desk(1, 0, 0);
    job *parents[ARCP__PLACE_LENT_MAX];
    parents[0] = submit(d.train, 0);
    for (size_t i = 0; i + 1 < ARCP__PLACE_LENT_MAX; i++) {
        arcp__place_lend(&d.placement, &parents[i]->place);
        assert_string_equal(where(submit(d.train, 0)), "-");
        parents[i + 1] = add_job(d.train, ARCP__PLACE_DELEGATED, 0);
        assert_string_equal(where(parents[i + 1]), "a");
    }
    /* It has 4 jobs for each place. */
    arcp__place_lend(&d.placement, &parents[ARCP__PLACE_LENT_MAX - 1]->place);
    const job *deep = add_job(d.train, ARCP__PLACE_DELEGATED, 0);
    assert_string_equal(where(deep), "-");
    leave(parents[0]);
    assert_ptr_equal(next(), deep);
}

static void a_job_that_no_free_worker_can_run_blocks_its_own_principal_only(void **state)
{
    (void)state;
    open_desk(1, 1, 0);
    submit(d.train, 0);
    submit(d.train, 0);
    job *bound = submit(d.train, 0);
    bound->needs_first = true;
    const job *behind = submit(d.train, 0);
    const job *other = submit(d.train, 1);
    leave(&d.jobs[1]); /* on the second worker */
    assert_ptr_equal(next(), other);
    assert_string_equal(where(other), "b");
    leave(&d.jobs[0]);
    assert_ptr_equal(next(), bound);
    assert_string_equal(where(bound), "a");
    assert_string_equal(where(behind), "-");
}

static void an_agent_of_the_configuration_does_not_go_to_workers(void **state)
{
    (void)state;
    open_desk(2, 0, 0);
    arcp__placement_offer(&d.placement, d.train, &offered, 1, false);
    assert_null(submit(d.train, 0)->place.offer);
    const job *second = submit(d.train, 0);
    assert_int_equal(second->place.state, ARCP__PLACE_WAITING);
    assert_null(next());
    leave(&d.jobs[0]);
    assert_ptr_equal(next(), second);
    assert_null(second->place.offer);
}

static void jobs_wait_for_workers_that_are_gone(void **state)
{
    (void)state;
    open_desk(1, 0, 0);
    submit(d.train, 0);
    const job *second = submit(d.train, 0);
    arcp__place_offer_set(&d.placement, d.jobs[0].place.offer, NULL, 0);
    leave(&d.jobs[0]);
    assert_null(d.workers[0].offers);
    assert_null(next());
    assert_null(arcp__placement_gone(&d.placement));
    offer(1, d.train, 0);
    d.workers[1].capacity = 1;
    assert_ptr_equal(next(), second);
    assert_string_equal(where(second), "b");
}

/* Ends the oldest job that runs, and starts what there is room for. Returns the principals of the
 * jobs in the order of their starts. */
static const char *run_all(void)
{
    static char order[JOBS + 1];
    size_t count = 0;
    size_t ended = 0;
    for (size_t i = 0; i < d.count; i++) {
        if (d.jobs[i].place.state == ARCP__PLACE_HELD) {
            order[count++] = principals[d.jobs[i].principal];
        }
    }
    while (ended < d.count) {
        for (size_t i = 0; i < d.count; i++) {
            if (d.jobs[i].place.state == ARCP__PLACE_HELD) {
                leave(&d.jobs[i]);
                ended++;
                break;
            }
        }
        for (const job *started = next(); started != NULL; started = next()) {
            order[count++] = principals[started->principal];
        }
    }
    order[count] = '\0';
    return order;
}

/* 60 jobs of one principal do not delay the 10 of each of the others. */
static void a_hundred_jobs_of_five_principals_get_three_places_in_turn(void **state)
{
    (void)state;
    open_desk(1, 2, 0);
    for (size_t i = 0; i < 60; i++) {
        submit(d.train, 0);
    }
    for (size_t principal = 1; principal < 5; principal++) {
        for (size_t i = 0; i < 10; i++) {
            submit(d.train, principal);
        }
    }
    const char *order = run_all();
    assert_memory_equal(order, "aaa", 3);
    for (size_t round = 0; round < 10; round++) {
        assert_memory_equal(order + 3 + round * 5, "abcde", 5);
    }
    for (size_t i = 53; i < 100; i++) {
        assert_int_equal(order[i], 'a');
    }
    assert_int_equal(d.workers[0].jobs.held + d.workers[1].jobs.held, 0);
}

static void spawn(job *parent)
{
    parent->to_spawn--;
    arcp__place_lend(&d.placement, &parent->place);
    job *child = add_job(pick(2) == 0 ? d.train : d.infer, ARCP__PLACE_DELEGATED, 0);
    child->parent = parent;
    child->to_spawn = parent->parent == NULL ? pick(2) : 0;
}

static void check_bounds(void)
{
    for (size_t i = 0; i < WORKERS; i++) {
        const arcp__place_worker *worker = &d.workers[i];
        size_t submitted = 0;
        for (size_t k = 0; k < d.count; k++) {
            submitted += d.jobs[k].place.offer != NULL && d.jobs[k].place.offer->worker == worker &&
                         d.jobs[k].place.kind == ARCP__PLACE_SUBMITTED;
        }
        assert_true(submitted <= worker->capacity);
        assert_true(worker->jobs.held + worker->jobs.lent <=
                    ARCP__PLACE_LENT_MAX * worker->capacity);
    }
}

/* Parents fill all places, and wait for children, which wait for theirs. */
static void parents_that_fill_all_places_and_wait_do_not_block_each_other(void **state)
{
    (void)state;
    for (uint64_t first = 1; first < 200; first++) {
        seed = first;
        open_desk(1, 2, 1);
        offer(0, d.infer, 1);
        offer(2, d.infer, 0);
        for (size_t i = 0; i < 12; i++) {
            submit(pick(2) == 0 ? d.train : d.infer, pick(5))->to_spawn = 2;
        }
        for (size_t done = 0; done < d.count;) {
            size_t runnable = 0;
            while (next() != NULL) {
            }
            for (size_t i = 0; i < d.count; i++) {
                job *one = &d.jobs[i];
                if (one->place.state != ARCP__PLACE_HELD || one->is_done) {
                    continue;
                }
                runnable++;
                if (one->to_spawn != 0) {
                    spawn(one);
                } else if (pick(2) == 0) {
                    one->is_done = true;
                    done++;
                    if (one->parent != NULL) {
                        arcp__place_return(&one->parent->place);
                    }
                    leave(one);
                }
            }
            assert_int_not_equal(runnable, 0);
            check_bounds();
        }
        arcp__placement_fini(&d.placement);
    }
    open_desk(0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_job_goes_to_the_worker_with_the_fewest_jobs_per_place,
                                  close_desk),
        cmocka_unit_test_teardown(a_worker_that_takes_no_new_jobs_gets_none, close_desk),
        cmocka_unit_test_teardown(an_offer_has_its_own_max_jobs, close_desk),
        cmocka_unit_test_teardown(the_agents_of_a_worker_share_its_places, close_desk),
        cmocka_unit_test_teardown(delegated_jobs_of_any_agent_come_first, close_desk),
        cmocka_unit_test_teardown(a_job_that_was_not_taken_is_the_next_one_again, close_desk),
        cmocka_unit_test_teardown(a_parent_that_waits_lends_its_place_on_a_worker, close_desk),
        cmocka_unit_test_teardown(a_job_that_no_free_worker_can_run_blocks_its_own_principal_only,
                                  close_desk),
        cmocka_unit_test_teardown(an_agent_of_the_configuration_does_not_go_to_workers, close_desk),
        cmocka_unit_test_teardown(jobs_wait_for_workers_that_are_gone, close_desk),
        cmocka_unit_test_teardown(a_hundred_jobs_of_five_principals_get_three_places_in_turn,
                                  close_desk),
        cmocka_unit_test_teardown(parents_that_fill_all_places_and_wait_do_not_block_each_other,
                                  close_desk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
