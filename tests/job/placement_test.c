/* Placement: who runs, who waits, and who comes next. */
#include "support/check.h"

#include "job/placement.h"

#define JOBS 400

static int offer; /* only its address counts */
static const char principals[] = "abcd";
static const void *const alice = principals, *const bob = principals + 1,
                         *const carol = principals + 2;

/* A job of the tests: its place comes first, so that a place is the job. */
typedef struct job {
    arcp__place place;
    char name;
    const void *principal;
    struct job *parent; /* which waits for it; NULL: none */
    unsigned to_spawn;
    bool is_done;
} job;

typedef struct desk {
    arcp__placement placement;
    arcp__place_agent *agent;
    job jobs[JOBS];
    size_t count;
} desk;

static uint64_t seed;

static unsigned pick(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

static void open_desk(desk *d, size_t max_jobs)
{
    *d = (desk){.count = 0};
    d->agent = arcp__placement_agent(&d->placement, "echo@1");
    assert_non_null(d->agent);
    arcp__placement_offer(&d->placement, d->agent, &offer, max_jobs, false);
}

static job *add(desk *d, arcp__place_agent *agent, arcp__place_kind kind, const void *principal)
{
    job *added = &d->jobs[d->count++];
    *added = (job){.name = (char)('A' + (d->count - 1) % 26), .principal = principal};
    if (arcp__place_is_free(agent, kind, NULL)) {
        arcp__place_take(&d->placement, &added->place, agent, kind, NULL, added);
    } else {
        assert_int_equal(
            arcp__place_wait(&d->placement, &added->place, agent, kind, principal, added), ARCP_OK);
    }
    return added;
}

static job *submit(desk *d, const void *principal)
{
    return add(d, d->agent, ARCP__PLACE_SUBMITTED, principal);
}

static job *next(desk *d)
{
    arcp__place *moved = NULL;
    const arcp__place *place = arcp__placement_next(&d->placement, false, &moved);
    return place == NULL ? NULL : place->owner;
}

static void leave(desk *d, job *which)
{
    (void)arcp__place_leave(&d->placement, &which->place);
}

/* Ends `running`, and returns the names of the jobs that start one after the other from then on,
 * each ending before the next one starts. */
static const char *order_after(desk *d, job *running)
{
    static char names[JOBS + 1];
    size_t count = 0;
    leave(d, running);
    for (job *started = next(d); started != NULL; started = next(d)) {
        names[count++] = started->name;
        leave(d, started);
    }
    names[count] = '\0';
    return names;
}

static void jobs_wait_when_all_places_are_taken(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 2);
    assert_int_equal(submit(&d, alice)->place.state, ARCP__PLACE_HELD);
    assert_int_equal(submit(&d, alice)->place.state, ARCP__PLACE_HELD);
    const job *third = submit(&d, alice);
    assert_int_equal(third->place.state, ARCP__PLACE_WAITING);
    assert_int_equal(arcp__place_number(&third->place), 1);
    assert_null(next(&d));
    leave(&d, &d.jobs[0]);
    assert_ptr_equal(next(&d), third);
    assert_int_equal(arcp__place_number(&third->place), 0);
    arcp__placement_fini(&d.placement);
}

static void without_max_jobs_no_job_waits(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 0);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(submit(&d, alice)->place.state, ARCP__PLACE_HELD);
    }
    arcp__placement_fini(&d.placement);
}

static void the_jobs_of_one_principal_start_in_their_order(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    for (size_t i = 0; i < 5; i++) {
        submit(&d, alice);
    }
    assert_string_equal(order_after(&d, &d.jobs[0]), "BCDE");
    arcp__placement_fini(&d.placement);
}

static void principals_start_in_turn(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    for (size_t i = 0; i < 5; i++) {
        submit(&d, alice); /* ABCDE */
    }
    submit(&d, bob);   /* F */
    submit(&d, carol); /* G */
    submit(&d, bob);   /* H */
    assert_string_equal(order_after(&d, &d.jobs[0]), "BFGCHDE");
    arcp__placement_fini(&d.placement);
}

static void a_principal_that_came_later_waits_for_one_job_of_each_other(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    for (size_t i = 0; i < 50; i++) {
        submit(&d, alice);
    }
    const job *late = submit(&d, bob);
    assert_int_equal(arcp__place_number(&late->place), 2);
    arcp__placement_fini(&d.placement);
}

static void delegated_jobs_start_before_submitted_ones(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    submit(&d, alice);                              /* A */
    submit(&d, bob);                                /* B */
    add(&d, d.agent, ARCP__PLACE_DELEGATED, alice); /* C */
    const job *last = submit(&d, carol);            /* D */
    add(&d, d.agent, ARCP__PLACE_DELEGATED, alice); /* E */
    assert_int_equal(arcp__place_number(&last->place), 4);
    assert_string_equal(order_after(&d, &d.jobs[0]), "CEBD");
    arcp__placement_fini(&d.placement);
}

static void a_new_job_does_not_overtake_one_that_waits(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    submit(&d, alice);
    submit(&d, bob);
    leave(&d, &d.jobs[0]);
    assert_false(arcp__place_is_free(d.agent, ARCP__PLACE_SUBMITTED, NULL));
    assert_true(arcp__place_is_free(d.agent, ARCP__PLACE_DELEGATED, NULL));
    arcp__placement_fini(&d.placement);
}

static void a_job_that_leaves_passes_its_turn_on(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    submit(&d, carol);                     /* A */
    job *first = submit(&d, alice);        /* B */
    submit(&d, bob);                       /* C */
    const job *second = submit(&d, alice); /* D */
    assert_ptr_equal(arcp__place_leave(&d.placement, &first->place), &second->place);
    assert_string_equal(order_after(&d, &d.jobs[0]), "DC");
    arcp__placement_fini(&d.placement);
}

static void a_parent_that_waits_lends_its_place_to_delegated_jobs_only(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    job *parent = submit(&d, alice);
    arcp__place_lend(&d.placement, &parent->place);
    const job *other = submit(&d, bob);
    assert_int_equal(other->place.state, ARCP__PLACE_WAITING);
    job *child = add(&d, d.agent, ARCP__PLACE_DELEGATED, alice);
    assert_int_equal(child->place.state, ARCP__PLACE_HELD);
    const job *second = add(&d, d.agent, ARCP__PLACE_DELEGATED, alice);
    assert_int_equal(second->place.state, ARCP__PLACE_WAITING);
    leave(&d, child);
    assert_ptr_equal(next(&d), second);
    assert_null(next(&d));
    arcp__place_return(&parent->place); /* the children of other parents may hold its place */
    assert_int_equal(parent->place.state, ARCP__PLACE_HELD);
    assert_int_equal(d.agent->jobs.held, 2);
    arcp__placement_fini(&d.placement);
}

static void a_parent_lends_its_place_until_the_last_child_has_ended(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    job *parent = submit(&d, alice);
    arcp__place_lend(&d.placement, &parent->place);
    arcp__place_lend(&d.placement, &parent->place);
    arcp__place_return(&parent->place);
    assert_int_equal(parent->place.state, ARCP__PLACE_LENT);
    arcp__place_return(&parent->place);
    assert_int_equal(parent->place.state, ARCP__PLACE_HELD);
    arcp__placement_fini(&d.placement);
}

static void a_reload_may_raise_and_lower_max_jobs(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    for (size_t i = 0; i < 6; i++) {
        submit(&d, alice);
    }
    arcp__placement_withdraw(&d.placement);
    assert_null(next(&d)); /* it may be registered again */
    arcp__placement_offer(&d.placement, d.agent, &offer, 3, false);
    assert_ptr_equal(next(&d), &d.jobs[1]);
    assert_ptr_equal(next(&d), &d.jobs[2]);
    assert_null(next(&d));
    arcp__placement_offer(&d.placement, d.agent, &offer, 1, false);
    leave(&d, &d.jobs[0]);
    leave(&d, &d.jobs[1]);
    assert_null(next(&d)); /* one still runs */
    arcp__placement_offer(&d.placement, d.agent, &offer, 0, false);
    assert_ptr_equal(next(&d), &d.jobs[3]);
    assert_ptr_equal(next(&d), &d.jobs[4]);
    arcp__placement_fini(&d.placement);
}

static void jobs_of_an_agent_that_is_not_registered_are_found(void **state)
{
    static desk d;
    (void)state;
    open_desk(&d, 1);
    job *running = submit(&d, alice);
    job *waiting = submit(&d, alice);
    assert_null(arcp__placement_gone(&d.placement));
    arcp__placement_withdraw(&d.placement);
    assert_ptr_equal(arcp__placement_gone(&d.placement), &waiting->place);
    leave(&d, waiting);
    assert_null(arcp__placement_gone(&d.placement));
    assert_int_equal(d.agent->jobs.held,
                     1); /* it is kept while a job runs, so that this one counts */
    leave(&d, running);
    assert_null(d.placement.agents);
    arcp__placement_fini(&d.placement);
}

static void while_the_runtime_stops_only_delegated_jobs_start(void **state)
{
    static desk d;
    arcp__place *moved = NULL;
    (void)state;
    open_desk(&d, 1);
    submit(&d, alice);
    const job *submitted = submit(&d, bob);
    const job *child = add(&d, d.agent, ARCP__PLACE_DELEGATED, alice);
    leave(&d, &d.jobs[0]);
    assert_ptr_equal(arcp__placement_next(&d.placement, true, &moved), &child->place);
    leave(&d, &d.jobs[2]);
    assert_null(arcp__placement_next(&d.placement, true, &moved));
    assert_int_equal(submitted->place.state, ARCP__PLACE_WAITING);
    arcp__placement_fini(&d.placement);
}

/* ---- over many random queues ---- */

static void fill_randomly(desk *d)
{
    for (unsigned left = 20 + pick(100); left != 0; left--) {
        const unsigned action = pick(10);
        if (action < 6) {
            submit(d, principals + pick(4));
        } else if (action < 8) {
            leave(d, &d->jobs[pick((unsigned)d->count + 1) % (d->count + (d->count == 0))]);
        } else {
            (void)next(d);
        }
    }
}

/* Each waiting job starts as the one whose number it has. */
static void a_number_says_when_a_job_starts(void **state)
{
    (void)state;
    for (seed = 1; seed < 300; seed += 1) {
        static desk d;
        static size_t numbers[JOBS];
        const uint64_t kept = seed;
        open_desk(&d, 1);
        submit(&d, alice);
        fill_randomly(&d);
        for (size_t i = 0; i < d.count; i++) {
            numbers[i] = arcp__place_number(&d.jobs[i].place);
            if (d.jobs[i].place.state == ARCP__PLACE_HELD) {
                leave(&d, &d.jobs[i]);
            }
        }
        size_t expected = 1;
        for (job *started = next(&d); started != NULL; started = next(&d)) {
            assert_int_equal(numbers[started - d.jobs], expected++);
            leave(&d, started);
        }
        assert_null(d.placement.agents->lines[ARCP__PLACE_SUBMITTED]);
        arcp__placement_fini(&d.placement);
        seed = kept;
    }
}

/* What a store has of the waiting jobs, in any order, is enough to make the same queue again. */
static void a_restart_leaves_every_job_in_its_place(void **state)
{
    (void)state;
    for (seed = 1; seed < 300; seed += 1) {
        static desk d;
        static desk again;
        const uint64_t kept = seed;
        open_desk(&d, 1);
        submit(&d, alice);
        fill_randomly(&d);
        open_desk(&again, 1);
        for (size_t step = 0, i = pick((unsigned)d.count); step < d.count; step++) {
            const arcp__place *old = &d.jobs[i].place;
            job *restored = &again.jobs[i];
            if (old->state == ARCP__PLACE_WAITING) {
                assert_int_equal(arcp__place_restore(&again.placement, &restored->place,
                                                     again.agent, ARCP__PLACE_SUBMITTED,
                                                     d.jobs[i].principal, restored, old->order),
                                 ARCP_OK);
                if (old->turn != old->order) {
                    arcp__place_set_turn(&again.placement, &restored->place, old->turn);
                }
            }
            i = (i + 1) % d.count;
        }
        arcp__placement_restored(&again.placement);
        for (size_t i = 0; i < d.count; i++) {
            assert_int_equal(arcp__place_number(&again.jobs[i].place),
                             arcp__place_number(&d.jobs[i].place));
        }
        assert_true(again.placement.last <= d.placement.last);
        arcp__placement_fini(&d.placement);
        arcp__placement_fini(&again.placement);
        seed = kept;
    }
}

/* ---- no deadlock ---- */

static void spawn(desk *d, arcp__place_agent *const agents[3], job *parent)
{
    parent->to_spawn--;
    arcp__place_lend(&d->placement, &parent->place);
    job *child = add(d, agents[pick(3)], ARCP__PLACE_DELEGATED, parent->principal);
    child->parent = parent;
    child->to_spawn = pick(3);
}

static void end(desk *d, job *ended)
{
    ended->is_done = true;
    if (ended->parent != NULL) {
        arcp__place_return(&ended->parent->place);
    }
    leave(d, ended);
}

/* Jobs of three agents, each with one or two places, delegate to any of them, and wait. A job that
 * runs and waits for no child goes on: there is always one until all have ended. */
static void jobs_that_wait_for_their_children_never_block_each_other(void **state)
{
    (void)state;
    for (seed = 1; seed < 200; seed += 1) {
        static desk d;
        static const char *const names[] = {"echo@1", "two", "three"};
        arcp__place_agent *agents[3];
        const uint64_t kept = seed;
        open_desk(&d, 1);
        for (size_t i = 0; i < 3; i++) {
            agents[i] = arcp__placement_agent(&d.placement, names[i]);
            arcp__placement_offer(&d.placement, agents[i], &offer, 1 + pick(2), false);
        }
        for (size_t i = 0; i < 12; i++) {
            add(&d, agents[pick(3)], ARCP__PLACE_SUBMITTED, principals + pick(4))->to_spawn = 2;
        }
        size_t done = 0;
        while (done < d.count) {
            size_t runnable = 0;
            while (next(&d) != NULL) {
            }
            for (size_t i = 0; i < d.count; i++) {
                job *one = &d.jobs[i];
                if (one->place.state != ARCP__PLACE_HELD || one->is_done) {
                    continue;
                }
                runnable++;
                if (one->to_spawn != 0 && d.count + 1 < JOBS) {
                    spawn(&d, agents, one);
                } else if (pick(2) == 0) {
                    end(&d, one);
                    done++;
                }
            }
            assert_int_not_equal(runnable, 0);
            for (size_t i = 0; i < 3; i++) {
                size_t submitted = 0;
                for (size_t k = 0; k < d.count; k++) {
                    submitted += d.jobs[k].place.agent == agents[i] &&
                                 d.jobs[k].place.kind == ARCP__PLACE_SUBMITTED &&
                                 d.jobs[k].place.state != ARCP__PLACE_WAITING;
                }
                assert_true(submitted <= agents[i]->max_jobs);
            }
        }
        arcp__placement_fini(&d.placement);
        seed = kept;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_wait_when_all_places_are_taken),
        cmocka_unit_test(without_max_jobs_no_job_waits),
        cmocka_unit_test(the_jobs_of_one_principal_start_in_their_order),
        cmocka_unit_test(principals_start_in_turn),
        cmocka_unit_test(a_principal_that_came_later_waits_for_one_job_of_each_other),
        cmocka_unit_test(delegated_jobs_start_before_submitted_ones),
        cmocka_unit_test(a_new_job_does_not_overtake_one_that_waits),
        cmocka_unit_test(a_job_that_leaves_passes_its_turn_on),
        cmocka_unit_test(a_parent_that_waits_lends_its_place_to_delegated_jobs_only),
        cmocka_unit_test(a_parent_lends_its_place_until_the_last_child_has_ended),
        cmocka_unit_test(a_reload_may_raise_and_lower_max_jobs),
        cmocka_unit_test(jobs_of_an_agent_that_is_not_registered_are_found),
        cmocka_unit_test(while_the_runtime_stops_only_delegated_jobs_start),
        cmocka_unit_test(a_number_says_when_a_job_starts),
        cmocka_unit_test(a_restart_leaves_every_job_in_its_place),
        cmocka_unit_test(jobs_that_wait_for_their_children_never_block_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
