/* Nothing is left of a child's privileges, and a program that it executes gets none back. */
#include <linux/capability.h>

#include "launch/confined_child.h"

#include "launch/sandbox_helper/helper_capabilities.h"

/* What the lines of /proc/self/status say that begin with these names; -1: there is none. */
static long long status_of(const char *name)
{
    char line[256];
    long long value = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = (long long)strtoull(line + strlen(name), NULL, 16);
        }
    }
    (void)fclose(file);
    return value;
}

static int drop_all(void *unused)
{
    (void)unused;
    return arcp__helper_capabilities_drop() == 0 && status_of("CapInh:") == 0 &&
                   status_of("CapPrm:") == 0 && status_of("CapEff:") == 0 &&
                   status_of("CapAmb:") == 0 && status_of("NoNewPrivs:") == 1 &&
                   (geteuid() != 0 || status_of("CapBnd:") == 0) &&
                   arcp__helper_capabilities_drop() == 0
               ? 0
               : 1;
}

static void every_set_is_empty_afterwards(void **state)
{
    (void)state;
    assert_int_equal(child_result(drop_all, NULL, false), 0);
    assert_int_equal(child_result(drop_all, NULL, geteuid() == 0), 0);
}

static bool set_all(uint32_t effective, uint32_t inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    data[0].effective &= effective;
    data[0].permitted &= effective;
    data[0].inheritable = inheritable & data[0].permitted;
    return syscall(SYS_capset, &header, data) == 0;
}

static int drop_ambient(void *unused)
{
    (void)unused;
    if (!set_all(UINT32_MAX, CAP_TO_MASK(CAP_KILL)) ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0) != 0 ||
        status_of("CapAmb:") == 0) {
        return CHILD_NOT_CONFINED;
    }
    return drop_all(NULL);
}

static void ambient_and_inheritable_capabilities_are_dropped(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(child_result(drop_ambient, NULL, false), 0);
}

static int execute_without_bounding(void *user)
{
    if (!set_all(UINT32_MAX & ~CAP_TO_MASK(CAP_SETPCAP), 0)) {
        return CHILD_NOT_CONFINED;
    }
    if (*(const bool *)user && arcp__helper_capabilities_drop() != 0) {
        return CHILD_NOT_CONFINED;
    }
    (void)execl("/bin/grep", "grep", "-q", "^CapEff:.0*$", "/proc/self/status", (char *)NULL);
    return CHILD_NOT_CONFINED;
}

static void a_program_of_root_gets_nothing_back_where_the_bounding_set_stays(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    bool drops = true;
    assert_int_equal(child_result(execute_without_bounding, &drops, false), 0);
    drops = false;
    assert_int_equal(child_result(execute_without_bounding, &drops, false), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_is_empty_afterwards),
        cmocka_unit_test(ambient_and_inheritable_capabilities_are_dropped),
        cmocka_unit_test(a_program_of_root_gets_nothing_back_where_the_bounding_set_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
