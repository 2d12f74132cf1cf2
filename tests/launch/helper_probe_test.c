/* The probe: what it finds on this host, and in places that have less. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "launch/confined_child.h"

#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_filter.h"
#include "launch/sandbox_helper/helper_landlock.h"
#include "launch/sandbox_helper/helper_probe.h"

#define ABILITY(name) ARCP__SANDBOX_ABILITY_##name

static char *content_of(const char *path)
{
    static char text[2][1 << 16];
    static int next;
    next = 1 - next;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    const size_t size = fread(text[next], 1, sizeof *text - 1, file);
    text[next][size] = '\0';
    (void)fclose(file);
    return text[next];
}

static arcp__sandbox_abilities probe(void)
{
    arcp__sandbox_abilities abilities;
    assert_int_equal(unsetenv("ARCP_SANDBOX_WITHOUT"), 0);
    assert_true(arcp__helper_probe(&abilities));
    return abilities;
}

static void the_host_is_as_it_was_after_a_probe(void **state)
{
    (void)state;
    static const char *const files[] = {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/hostname",
                                        "/proc/self/mounts"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *before = content_of(files[i]);
        (void)probe();
        assert_string_equal(before, content_of(files[i]));
    }
    /* No descriptor is left open, and no child. */
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(close(lowest), 0);
    (void)probe();
    const int again = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(again, lowest);
    assert_int_equal(close(again), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void landlock_is_found_with_its_version(void **state)
{
    (void)state;
    const arcp__sandbox_abilities abilities = probe();
    assert_int_equal(abilities.values[ABILITY(LANDLOCK)], arcp__helper_landlock_version());
    assert_int_equal(abilities.values[ABILITY(SECCOMP)], 1);
}

static void every_ability_can_be_taken_away_and_only_that(void **state)
{
    (void)state;
    static const char *const names[] = {
#define ARCP_SANDBOX_ABILITY(id, name, kind, lost, remedy) name,
#include "sandbox/sandbox_ability.def"
#undef ARCP_SANDBOX_ABILITY
    };
    const arcp__sandbox_abilities all = probe();
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        arcp__sandbox_abilities abilities;
        assert_int_equal(setenv("ARCP_SANDBOX_WITHOUT", names[i], 1), 0);
        assert_true(arcp__helper_probe(&abilities));
        for (size_t k = 0; k < ARCP__SANDBOX_ABILITY_COUNT; k++) {
            assert_int_equal(abilities.values[k], k == i ? 0 : all.values[k]);
        }
    }
    arcp__sandbox_abilities abilities;
    assert_int_equal(setenv("ARCP_SANDBOX_WITHOUT", "userns,teleport", 1), 0);
    assert_false(arcp__helper_probe(&abilities));
}

/* ---- places that have less ---- */

static int probe_in_sandbox(void *unused)
{
    (void)unused;
    const arcp__helper_filter what = {.level = ARCP__SANDBOX_LEVEL_FULL};
    if (arcp__helper_capabilities_drop() != 0 || arcp__helper_filter_install(&what, NULL) != 0) {
        return CHILD_NOT_CONFINED;
    }
    const arcp__sandbox_abilities abilities = probe();
    const uint32_t *values = abilities.values;
    return values[ABILITY(USERNS)] == 0 && values[ABILITY(MOUNT)] == 0 &&
                   values[ABILITY(NETNS)] == 0 && values[ABILITY(PROC)] == 0 &&
                   values[ABILITY(PID_MAX)] == 0 && values[ABILITY(VM_READ)] == 0 &&
                   values[ABILITY(PIDFD_GETFD)] == 0 && values[ABILITY(SECCOMP)] == 1
               ? 0
               : 1;
}

static void inside_a_sandbox_there_are_no_namespaces(void **state)
{
    (void)state;
    assert_int_equal(child_result(probe_in_sandbox, NULL, false), 0);
    assert_int_equal(child_result(probe_in_sandbox, NULL, geteuid() == 0), 0);
}

static int probe_without_processes(void *unused)
{
    (void)unused;
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) {
        return CHILD_NOT_CONFINED;
    }
    const arcp__sandbox_abilities abilities = probe();
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        if (abilities.values[i] != 0 && i != ABILITY(BROKER)) { /* that is in the program */
            return 1;
        }
    }
    return 0;
}

static void what_cannot_be_tried_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(child_result(probe_without_processes, NULL, geteuid() == 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_is_as_it_was_after_a_probe),
        cmocka_unit_test(landlock_is_found_with_its_version),
        cmocka_unit_test(every_ability_can_be_taken_away_and_only_that),
        cmocka_unit_test(inside_a_sandbox_there_are_no_namespaces),
        cmocka_unit_test(what_cannot_be_tried_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
