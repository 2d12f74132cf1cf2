/* Which mounts of the host are of file systems of the kernel. */
#include <string.h>

#include "base/alloc.h"
#include "launch/sandbox_helper/helper_submounts.h"
#include "support/check.h"

static const char mounts[] =
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "22 21 0:5 / /dev rw,nosuid - devtmpfs devtmpfs rw\n"
    "23 22 0:6 / /dev/pts rw - devpts devpts rw\n"
    "24 21 0:7 / /srv/a\\040b/proc rw - proc proc rw\n"
    "25 24 0:8 / /srv/a\\040b/proc/sys/fs/binfmt_misc rw - binfmt_misc none rw\n"
    "26 21 0:9 / /srv/disk rw master:3 propagate_from:2 - tmpfs tmpfs rw\n"
    "27 26 0:10 / /srv/disk/back\\134slash rw - nsfs nsfs rw\n"
    "28 21 0:11 / /srvother rw - sysfs - proc - rw\n";

static void expect(const char *below, const char *want)
{
    char got[1024] = "";
    char path[4096];
    char type[ARCP__HELPER_TYPE_MAX];
    arcp__helper_submounts list = arcp__helper_submounts_of(mounts, below);
    while (arcp__helper_submounts_next(&list, path, type)) {
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s %s\n", type, path);
    }
    assert_string_equal(got, want);
}

static void kernel_mounts_below_a_directory_are_found_without_those_they_hold(void **state)
{
    (void)state;
    expect("/srv", "proc /srv/a b/proc\nnsfs /srv/disk/back\\slash\n");
    expect("/srv/a b", "proc /srv/a b/proc\n");
    expect("/srv/disk", "nsfs /srv/disk/back\\slash\n");
    expect("/srv/disk/back\\slash", "");
    expect("/usr", "");
    expect("/", "devtmpfs /dev\nproc /srv/a b/proc\nnsfs /srv/disk/back\\slash\nsysfs /srvother\n");
}

static void the_mount_of_a_path_is_the_longest_above_it(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_kernel;
    } rows[] = {{"/", false},           {"/dev", true},      {"/device", false},
                {"/dev/pts/0", true},   {"/srv/a b", false}, {"/srv/a b/proc/sys", true},
                {"/srv/disk/x", false}, {"/srvother", true}, {"/srvother/x", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (arcp__helper_is_in_kernel_mount(mounts, rows[i].path) != rows[i].is_kernel) {
            fail_msg("%s: want %d", rows[i].path, rows[i].is_kernel);
        }
    }
}

static void types_are_known_by_their_magic_number_too(void **state)
{
    (void)state;
    assert_true(arcp__helper_is_kernel_type(0x9fa0));
    assert_true(arcp__helper_is_kernel_type(0x62656572));
    assert_true(arcp__helper_is_kernel_type(0x63677270));
    assert_false(arcp__helper_is_kernel_type(0xef53));     /* ext4 */
    assert_false(arcp__helper_is_kernel_type(0x01021994)); /* tmpfs, and devtmpfs */
    assert_false(arcp__helper_is_kernel_type(0));
}

static void the_text_of_this_process_is_read_whole(void **state)
{
    (void)state;
    char *text = arcp__helper_read_mountinfo();
    assert_non_null(text);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_true(arcp__helper_is_in_kernel_mount(text, "/proc/self"));
    arcp__free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_mounts_below_a_directory_are_found_without_those_they_hold),
        cmocka_unit_test(the_mount_of_a_path_is_the_longest_above_it),
        cmocka_unit_test(types_are_known_by_their_magic_number_too),
        cmocka_unit_test(the_text_of_this_process_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
