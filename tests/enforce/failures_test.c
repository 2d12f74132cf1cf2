/* A sandbox that cannot be made is no reason to run the program without: each step of the set-up
 * fails in turn, and each thing that a host can do is taken away. */
#include "enforce/confined.h"

#include "sandbox/sandbox.h"

#define RUNS "echo it runs; : >../write/ran; cat ../outside/secret"

static const char *const steps[] = {
#define ARCP_LAUNCH_STAGE(id, name, text) name,
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
};

/* The steps that only namespaces need. */
static bool is_of_view(const char *name)
{
    static const char *const names[] = {
        "links",   "maps", "net", "routes", "propagation", "root",  "dev",      "proc", "mount",
        "private", "pin",  "git", "cover",  "read_only",   "pivot", "hostname", "fork"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_never_ran(const confined *one, const char *what)
{
    if (strstr(one->output, "it runs") != NULL || strstr(one->output, CONFINED_TOKEN) != NULL ||
        confined_exists(one, "write/ran")) {
        fail_msg("%s: the program has run: %s", what, one->output);
    }
}

static void each_step_that_fails_ends_the_start(void **state)
{
    confined *one = *state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char record[64];
        one->failing = steps[i];
        confined_run(one, RUNS);
        const int want = strcmp(steps[i], "exec") == 0 ? 126 : 125;
        (void)snprintf(record, sizeof record, "{\"failed\":\"%s\"", steps[i]);
        check_never_ran(one, steps[i]);
        if (one->code != want || strstr(one->output, record) == NULL) {
            fail_msg("%s: status %d, %s", steps[i], one->code, one->output);
        }
    }
}

static void each_step_that_fails_ends_the_start_without_namespaces(void **state)
{
    confined *one = *state;
    one->without = "userns";
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        one->failing = steps[i];
        if (!is_of_view(steps[i])) {
            confined_run(one, RUNS);
            check_never_ran(one, steps[i]);
            assert_int_equal(one->code, strcmp(steps[i], "exec") == 0 ? 126 : 125);
        }
    }
}

/* As a warm process. The plan has no directory of the lease, so there is nothing to protect in one.
 */
static void each_step_that_fails_ends_a_start_before_the_lease(void **state)
{
    static const char *const levels[] = {NULL, "userns"};
    confined *one = *state;
    one->is_late = true;
    for (size_t level = 0; level < 2; level++) {
        one->without = levels[level];
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            const bool is_of_tree = strcmp(steps[i], "git") == 0 || strcmp(steps[i], "pin") == 0;
            one->failing = steps[i];
            if (is_of_tree || (level == 1 && is_of_view(steps[i]))) {
                continue;
            }
            confined_run(one, RUNS);
            check_never_ran(one, steps[i]);
            if (one->code != (strcmp(steps[i], "exec") == 0 ? 126 : 125)) {
                fail_msg("%s: status %d, %s", steps[i], one->code, one->output);
            }
        }
    }
}

static void without_a_failure_the_program_runs_confined(void **state)
{
    confined *one = *state;
    static const char *const levels[] = {NULL, "userns"};
    for (size_t i = 0; i < 4; i++) {
        confined_remove(one, "write/ran");
        one->is_late = i >= 2;
        one->without = levels[i % 2];
        confined_run(one, RUNS);
        assert_int_equal(one->code, 1);
        assert_non_null(strstr(one->output, "it runs"));
        assert_null(strstr(one->output, CONFINED_TOKEN));
        assert_true(confined_exists(one, "write/ran"));
    }
}

/* ---- degraded hosts ---- */

static const char *const abilities[] = {
#define ARCP_SANDBOX_ABILITY(id, name, kind, lost, remedy) name,
#include "sandbox/sandbox_ability.def"
#undef ARCP_SANDBOX_ABILITY
};

enum { ABILITIES = sizeof abilities / sizeof abilities[0] };

/* The level of a host that has everything but this one. */
static arcp__sandbox_level level_without(const char *name)
{
    static const char *const needed[] = {"landlock", "seccomp"};
    static const char *const of_view[] = {"userns", "mount", "netns"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (strcmp(needed[i], name) == 0) {
            return ARCP__SANDBOX_LEVEL_NONE;
        }
    }
    for (size_t i = 0; i < sizeof of_view / sizeof of_view[0]; i++) {
        if (strcmp(of_view[i], name) == 0) {
            return ARCP__SANDBOX_LEVEL_LANDLOCK;
        }
    }
    return ARCP__SANDBOX_LEVEL_FULL;
}

/* Runs the program on a host without these; its level must be `level`. */
static void check_level(confined *one, const char *without, arcp__sandbox_level level)
{
    const bool is_none = level == ARCP__SANDBOX_LEVEL_NONE;
    one->without = without;
    confined_remove(one, "write/ran");
    confined_run(one, RUNS);
    if (is_none) {
        check_never_ran(one, without);
    }
    if (one->code != (is_none ? 125 : 1) || strstr(one->output, CONFINED_TOKEN) != NULL) {
        fail_msg("without %s: status %d, %s", without, one->code, one->output);
    }
    /* Only a view hides that a file exists. */
    confined_run(one, "test -e ../outside/secret && echo seen");
    const bool is_seen = strstr(one->output, "seen") != NULL;
    if (is_seen != (level == ARCP__SANDBOX_LEVEL_LANDLOCK)) {
        fail_msg("without %s: the level is not %s: %s", without, arcp__sandbox_level_name(level),
                 one->output);
    }
}

static void each_ability_that_is_missing_narrows(void **state)
{
    confined *one = *state;
    for (size_t i = 0; i < ABILITIES; i++) {
        check_level(one, abilities[i], level_without(abilities[i]));
    }
}

static void two_abilities_that_are_missing_narrow_further(void **state)
{
    confined *one = *state;
    for (size_t i = 0; i < ABILITIES; i++) {
        const size_t j = (i * 5 + 1) % ABILITIES;
        char names[64];
        const arcp__sandbox_level first = level_without(abilities[i]);
        const arcp__sandbox_level second = level_without(abilities[j]);
        (void)snprintf(names, sizeof names, "%s,%s", abilities[i], abilities[j]);
        check_level(one, names, first < second ? first : second);
    }
}

static void an_unknown_name_of_an_ability_ends_the_start(void **state)
{
    confined *one = *state;
    one->without = "userns,nothing";
    confined_run(one, RUNS);
    check_never_ran(one, "an unknown ability");
    assert_int_equal(one->code, 125);
}

static void below_the_filter_of_a_container_the_level_is_landlock(void **state)
{
    confined *one = *state;
    one->in_container = true;
    check_level(one, "", ARCP__SANDBOX_LEVEL_LANDLOCK);
    check_level(one, "landlock", ARCP__SANDBOX_LEVEL_NONE);
}

#define CONFINED_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, confined_set_up, confined_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(without_a_failure_the_program_runs_confined),
        CONFINED_TEST(each_step_that_fails_ends_the_start),
        CONFINED_TEST(each_step_that_fails_ends_the_start_without_namespaces),
        CONFINED_TEST(each_step_that_fails_ends_a_start_before_the_lease),
        CONFINED_TEST(each_ability_that_is_missing_narrows),
        CONFINED_TEST(two_abilities_that_are_missing_narrow_further),
        CONFINED_TEST(an_unknown_name_of_an_ability_ends_the_start),
        CONFINED_TEST(below_the_filter_of_a_container_the_level_is_landlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
