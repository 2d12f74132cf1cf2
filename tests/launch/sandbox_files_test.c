/* The view of files: what is granted, protected, covered and linked. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/sandbox_fixture.h"

/* ---- trees and files ---- */

static void a_written_tree_is_the_hosts_and_a_read_one_is_only_read(void **state)
{
    sandbox_fixture *f = *state;
    const char *data = sandbox_path(f, "data");
    sandbox_outside("mkdir %s; echo given > %s/file", data, data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, false);
    char script[1024];
    (void)snprintf(script, sizeof script,
                   "cat %s/file; echo made > made; for what in '(echo x > %s/file)' 'rm %s/file' "
                   "'mkdir %s/new' 'mv %s/file file' %s; do "
                   "eval \"$what\" 2>/dev/null && echo \"not refused: $what\"; done; exit 0",
                   data, data, data, data, data,
                   /* Landlock judges neither. */
                   f->plan.level == ARCP__SANDBOX_LEVEL_FULL
                       ? "'chmod 0600 ../data/file' 'touch ../data/file'"
                       : "");
    sandbox_expect(f, script, 0);
    sandbox_check_output(f, "given\n");
    sandbox_outside("test \"$(cat %s/made)\" = made && test \"$(cat %s/file)\" = given", f->tree,
                    data);
}

static void a_written_tree_below_a_read_one_widens_nothing_beside_it(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *data = sandbox_path(f, "data");
    const char *below = sandbox_path(f, "data/sub");
    sandbox_outside("mkdir -p %s; echo given > %s/file; chmod 0644 %s/file", below, data, data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, false);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, below, true);
    char script[1024];
    (void)snprintf(script, sizeof script,
                   "cd %s; echo x > sub/made; chmod 0600 sub/made || exit 1; chmod 0666 file "
                   "2>/dev/null && exit 2; touch -d @1 file 2>/dev/null && exit 3; exit 0",
                   data);
    sandbox_expect(f, script, 0);
    sandbox_outside("test \"$(stat -c %%a %s/file)\" = 644", data);
}

static void a_file_is_granted_without_what_is_beside_it(void **state)
{
    sandbox_fixture *f = *state;
    const char *given = sandbox_path(f, "data/given");
    sandbox_outside(
        "mkdir %s/data; cd %s/data; echo given > given; echo secret > secret; mkdir dir",
        f->directory, f->directory);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_FILE, given, false);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_FILE, sandbox_path(f, "data/absent"), false);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_FILE, sandbox_path(f, "data/dir"), true);
    char script[1024];
    (void)snprintf(script, sizeof script,
                   "cd %s/data; cat given; cat secret 2>/dev/null; (echo x > given) 2>/dev/null; "
                   "ls dir 2>/dev/null; exit 0",
                   f->directory);
    sandbox_expect(f, script, 0);
    sandbox_check_output(f, "given\n");
    assert_non_null(strstr(f->records.data, "data/absent\",\"expected\":\"file\"}"));
    assert_non_null(strstr(f->records.data, "data/dir\",\"expected\":\"file\"}"));
}

static void a_tree_that_is_absent_or_a_file_ends_the_start_of_a_command(void **state)
{
    sandbox_fixture *f = *state;
    f->plan.origin = ARCP__SANDBOX_ORIGIN_RUN;
    const char *data = sandbox_path(f, "data");
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, false);
    sandbox_refuses(f, "links");
    sandbox_outside("echo x > %s", data);
    sandbox_refuses(f, f->plan.level == ARCP__SANDBOX_LEVEL_FULL ? "mount" : "links");
}

/* A client cannot look at the host. What protects files in the tree has nothing to protect. */
static void a_tree_of_a_job_that_is_absent_or_a_file_grants_nothing(void **state)
{
    sandbox_fixture *f = *state;
    char script[512];
    const char *data = sandbox_path(f, "data");
    const char *below = sandbox_path(f, "data/below");
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, true);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_GIT, NULL, data, false);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_PIN, data, data, true);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, below, false);
    (void)snprintf(script, sizeof script,
                   "cat %s/file 2>/dev/null; mkdir -p %s 2>/dev/null; echo x 2>/dev/null >%s/new; "
                   "exit 7",
                   data, data, data);
    sandbox_expect(f, script, 7);
    assert_non_null(strstr(f->records.data, "data\",\"expected\":\"directory\"}"));
    sandbox_outside("test ! -e %s && echo secret > %s", data, data);
    sandbox_expect(f, script, 7);
    sandbox_check_output(f, "");
    assert_non_null(strstr(f->records.data, "data\",\"expected\":\"directory\"}"));
    sandbox_outside("grep -q secret %s && rm %s && mkdir -p %s && echo given > %s/file", data, data,
                    below, data);
    sandbox_expect(f, script, 7);
    sandbox_check_output(f, "given\n");
    assert_null(strstr(f->records.data, "absent"));
}

/* Its line grants the tree above, in which the program can make the directory itself. */
static void a_tree_that_is_absent_in_a_written_one_is_made_there(void **state)
{
    sandbox_fixture *f = *state;
    const char *below = sandbox_path(f, "tree/below");
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, below, false);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_PIN, below, below, true);
    sandbox_expect(f, "mkdir below && echo made > below/file && cat below/file", 0);
    sandbox_check_output(f, "made\n");
    sandbox_outside("grep -q made %s/file", below);
}

/* What the program could make itself must be there to be covered. */
static void a_cover_in_an_absent_tree_that_the_program_can_make_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *below = sandbox_path(f, "tree/below");
    const char *own = sandbox_path(f, "tree/below/own");
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, below, false);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, own, false);
    sandbox_refuses(f, "cover");
    sandbox_outside("echo x > %s", below);
    sandbox_refuses(f, "cover");
}

static void private_places_have_one_limit_of_bytes_and_of_files(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    f->plan.limits.scratch_bytes = 1u << 20;
    sandbox_expect(f,
                   "head -c 900000 /dev/zero > /tmp/a || exit 1; "
                   "head -c 900000 /dev/zero > /home/agent/b 2>/dev/null && exit 2; "
                   "rm /tmp/a; head -c 900000 /dev/zero > /home/agent/b || exit 3",
                   0);
    /* One for each page, and those that the view leaves over. */
    sandbox_expect(f,
                   "i=0; while : 2>/dev/null > /tmp/$i; do i=$((i+1)); "
                   "[ $i -lt 4096 ] || exit 1; done; [ $i -ge 256 ]",
                   2); /* the shell ends when it cannot make the file */
    sandbox_expect(f, "i=0; while [ $i -lt 256 ]; do : > /tmp/$i; i=$((i+1)); done", 0);
}

/* ---- .git ---- */

static void make_repository(sandbox_fixture *f)
{
    sandbox_outside("mkdir -p %s/.git/hooks; echo x > %s/.git/config; echo y > %s/.git/HEAD",
                    f->tree, f->tree, f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_GIT, NULL, f->tree, true);
}

static void hooks_and_configuration_of_git_are_read_only(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    make_repository(f);
    sandbox_expect(f,
                   "echo z > .git/HEAD || exit 1; for what in 'echo x > .git/config' "
                   "'echo x > .git/hooks/post-checkout' 'mv .git other' 'rm -rf .git' "
                   "'mv .git/hooks .git/h' 'mv .git/config .git/c' 'rmdir .git/hooks' "
                   "'ln -f .git/HEAD .git/config'; do "
                   "eval \"$what\" 2>/dev/null && echo \"not refused: $what\"; done; exit 0",
                   0);
    sandbox_check_output(f, "");
    assert_non_null(strstr(f->records.data, "\"protection\":\"commits\""));
    sandbox_outside("test -d %s/.git/hooks && test \"$(cat %s/.git/config)\" = x", f->tree,
                    f->tree);
}

static void strict_makes_all_of_git_read_only(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    make_repository(f);
    f->plan.protect = ARCP__SANDBOX_PROTECT_STRICT;
    sandbox_expect(f, "echo z > .git/HEAD", 2);
    sandbox_expect(f, "mv .git other", 1);
    assert_non_null(strstr(f->records.data, "\"protection\":\"strict\""));
}

/* A program could make the hooks that are not there. */
static void a_repository_without_hooks_is_protected_whole(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    make_repository(f);
    sandbox_outside("rmdir %s/.git/hooks", f->tree);
    sandbox_expect(f, "mkdir .git/hooks", 1);
    assert_non_null(strstr(f->records.data, "\"protection\":\"strict\""));
}

static void a_git_that_is_a_file_is_read_only_and_a_tree_without_one_is_free(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_GIT, NULL, f->tree, true);
    sandbox_expect(f, "mkdir .git && rmdir .git", 0);
    sandbox_outside("echo 'gitdir: /elsewhere' > %s/.git", f->tree);
    sandbox_expect(f, "echo x > .git", 2);
    sandbox_expect(f, "mv .git other", 1);
}

/* What a link leads to is written by another name, so no protection is reported. */
static void a_git_or_hooks_that_are_links_are_reported(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    make_repository(f);
    sandbox_outside("cd %s && mv .git/hooks scripts && ln -s ../scripts .git/hooks", f->tree);
    sandbox_expect(f, "echo x > scripts/post-checkout && ! rm .git/hooks && ! mv .git other", 0);
    assert_non_null(strstr(f->records.data, "\"protection\":\"link\""));
    sandbox_outside("cd %s && mv .git repository && ln -s repository .git", f->tree);
    sandbox_expect(f, "echo x > repository/config", 0);
    assert_non_null(strstr(f->records.data, "\"protection\":\"link\""));
}

static void what_git_outside_would_find_is_reported_when_it_is_new(void **state)
{
    sandbox_fixture *f = *state;
    char want[512];
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    make_repository(f);
    sandbox_expect(f, "echo x > .git/HEAD; echo y > new", 0);
    assert_null(strstr(f->records.data, "planted"));
    sandbox_expect(f, "echo x > .git/commondir", 0);
    (void)snprintf(want, sizeof want, "{\"planted\":[\"%s/.git/commondir\"]}", f->tree);
    assert_non_null(strstr(f->records.data, want));
    sandbox_expect(f, "echo y > .git/commondir", 0); /* it was there */
    assert_null(strstr(f->records.data, "planted"));
    sandbox_outside("rm -r %s/.git", f->tree);
    sandbox_expect(f, "mkdir .git", 0);
    (void)snprintf(want, sizeof want, "{\"planted\":[\"%s/.git\"]}", f->tree);
    assert_non_null(strstr(f->records.data, want));
}

/* ---- covers ---- */

static void what_is_covered_is_empty_and_stays_so(void **state)
{
    sandbox_fixture *f = *state;
    char path[256];
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_outside("mkdir -p %s/config/own; echo secret > %s/config/own/key; echo secret > "
                    "%s/config/token",
                    f->tree, f->tree, f->tree);
    (void)snprintf(path, sizeof path, "%s/config", f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_PIN, NULL, path, true);
    (void)snprintf(path, sizeof path, "%s/config/own", f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, path, false);
    (void)snprintf(path, sizeof path, "%s/config/token", f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, path, false);
    sandbox_expect(f,
                   "ls config/own; cat config/token; for what in 'mv config other' "
                   "'mv config/own other' 'rm config/token' 'echo x > config/token' "
                   "'mkdir config/own/x'; do "
                   "eval \"$what\" 2>/dev/null && echo \"not refused: $what\"; done; "
                   "echo x > config/new",
                   0);
    sandbox_check_output(f, "");
    sandbox_outside("test \"$(cat %s/config/own/key)\" = secret", f->tree);
}

static void what_is_to_be_covered_and_could_be_made_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    char path[256];
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    (void)snprintf(path, sizeof path, "%s/own", f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, path, false);
    sandbox_refuses(f, "cover");
}

static void what_is_to_be_covered_and_cannot_be_made_is_left_out(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, "/usr/absent-for-a-test", false);
    sandbox_expect(f, "exit 0", 0);
}

/* ---- links ---- */

static void a_link_to_what_is_granted_is_a_link_inside(void **state)
{
    sandbox_fixture *f = *state;
    const char *link = sandbox_path(f, "link");
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_outside("ln -s tree %s; echo given > %s/file", link, f->tree);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, link, true);
    char script[512];
    (void)snprintf(script, sizeof script, "cat %s/file; readlink %s", link, link);
    sandbox_expect(f, script, 0);
    char want[512];
    (void)snprintf(want, sizeof want, "given\n%s\n", f->tree);
    sandbox_check_output(f, want);
    (void)snprintf(want, sizeof want, "{\"path\":\"%s\",\"real\":\"%s\"}", link, f->tree);
    assert_non_null(strstr(f->records.data, want));
}

static void a_link_to_what_is_not_granted_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *data = sandbox_path(f, "data");
    const char *secret = sandbox_path(f, "secret");
    sandbox_outside("mkdir %s %s; ln -s %s %s/planted", data, secret, secret, data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, sandbox_path(f, "data/planted"), false);
    sandbox_refuses(f, "links");
    assert_non_null(strstr(f->records.data, "EACCES"));
    /* Granted to be read only: not by a link to be written either. */
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, secret, false);
    sandbox_expect(f, "exit 0", 0);
    for (size_t i = 0; i < f->plan.mount_count; i++) {
        f->mounts[i].is_writable =
            f->mounts[i].is_writable ||
            arcp_span_equal_cstr(f->mounts[i].target, sandbox_path(f, "data/planted"));
    }
    sandbox_refuses(f, "links");
}

static void a_link_that_others_could_have_made_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *open = sandbox_path(f, "open");
    sandbox_outside("mkdir %s; ln -s %s %s/link", open, f->tree, open);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, sandbox_path(f, "open/link"), true);
    sandbox_expect(f, "exit 0", 0);
    sandbox_outside("chmod 1777 %s", open);
    sandbox_refuses(f, "links");
    sandbox_outside("chmod 0770 %s", open);
    sandbox_refuses(f, "links");
    sandbox_outside("chmod 0755 %s", open);
    if (geteuid() == 0) {
        sandbox_outside("chown -h 1234 %s/link", open);
        sandbox_refuses(f, "links");
        sandbox_outside("chown -h 0 %s/link; chown 1234 %s", open, open);
        sandbox_refuses(f, "links");
    }
}

/* ---- mounts of the host ---- */

/* In a mount namespace of its own: makes mounts below the tree, runs the sandbox, and ends with 0
 * when its output is `want`. */
static void with_mounts(sandbox_fixture *f, void (*make)(const sandbox_fixture *f),
                        const char *script, const char *want)
{
    int status = -1;
    if (geteuid() != 0) {
        (void)fprintf(stderr, "NOT RUN: mounts need root\n");
        skip();
    }
    const pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
            _exit(2);
        }
        make(f);
        sandbox_run(f, script);
        if (strcmp(f->output.data, want) != 0) {
            (void)fprintf(stderr, "got \"%s\" %s\n", f->output.data, f->records.data);
        }
        _exit(strcmp(f->output.data, want) == 0 && f->end.code == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void make_below(const sandbox_fixture *f)
{
    char path[256];
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"disk", "proc", "sys dir"};
        static const char *const types[] = {"tmpfs", "proc", "sysfs"};
        (void)snprintf(path, sizeof path, "%s/data/%s", f->directory, names[i]);
        if (mkdir(path, 0755) != 0 || mount("none", path, types[i], 0, NULL) != 0) {
            _exit(3);
        }
    }
}

static void a_read_tree_is_read_only_with_all_that_is_mounted_in_it(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *data = sandbox_path(f, "data");
    sandbox_outside("mkdir %s", data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, false);
    char script[512];
    (void)snprintf(
        script, sizeof script,
        "cd %s; touch disk/x 2>/dev/null && echo written; chmod 0700 disk 2>/dev/null && "
        "echo changed; ls; exit 0",
        data);
    with_mounts(f, make_below, script, "disk\nproc\nsys dir\n");
}

static void file_systems_of_the_kernel_are_covered(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const char *data = sandbox_path(f, "data");
    sandbox_outside("mkdir %s", data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, true);
    char script[512];
    (void)snprintf(script, sizeof script,
                   "cd %s; touch disk/x || echo not written; ls proc 'sys dir'; mkdir proc/x "
                   "2>/dev/null && echo made; mv proc p 2>/dev/null && echo moved; exit 0",
                   data);
    with_mounts(f, make_below, script, "proc:\n\nsys dir:\n");
}

static void make_in_tree(const sandbox_fixture *f)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/data", f->directory);
    if (mount("none", path, "proc", 0, NULL) != 0) {
        _exit(3);
    }
}

static void a_tree_that_is_the_kernels_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    int status = -1;
    const char *data = sandbox_path(f, "data");
    if (geteuid() != 0) {
        (void)fprintf(stderr, "NOT RUN: mounts need root\n");
        skip();
    }
    sandbox_outside("mkdir %s", data);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, data, false);
    const pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
            _exit(2);
        }
        make_in_tree(f);
        sandbox_refuses(f, "mount");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- /proc and /dev ---- */

static void nothing_in_proc_can_be_written(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_expect(f,
                   "for at in sys/kernel/core_pattern sys/kernel/pid_max sys/kernel/hostname "
                   "self/comm self/oom_score_adj self/mem sysrq-trigger irq/default_smp_affinity "
                   "mtrr pressure/cpu; do [ -e /proc/$at ] || continue; "
                   "(: >> /proc/$at) 2>/dev/null && echo \"open: $at\"; done; "
                   "cat /proc/1/environ /proc/1/maps 2>/dev/null; "
                   "ls /proc/1/root/ 2>/dev/null; ls /proc/1/cwd/ 2>/dev/null; exit 0",
                   0);
    sandbox_check_output(f, "");
}

static void devices_work_and_cannot_be_changed(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_expect(f,
                   "echo x > /dev/null; head -c 4 /dev/zero | tr '\\0' 0; echo; head -c 8 "
                   "/dev/urandom | wc -c; chmod 0600 /dev/null 2>/dev/null && echo changed; "
                   "rm /dev/null 2>/dev/null && echo removed; echo y | cat /dev/fd/0; ls /dev; "
                   "[ -c /dev/ptmx ] || echo no pseudoterminals; (: < /dev/tty) 2>/dev/null "
                   "&& echo a terminal; exit 0",
                   0);
    sandbox_check_output(f, "0000\n8\ny\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\n"
                            "stdout\nurandom\nzero\n");
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(a_written_tree_is_the_hosts_and_a_read_one_is_only_read),
        SANDBOX_TEST(a_written_tree_below_a_read_one_widens_nothing_beside_it),
        SANDBOX_TEST(a_file_is_granted_without_what_is_beside_it),
        SANDBOX_TEST(a_tree_that_is_absent_or_a_file_ends_the_start_of_a_command),
        SANDBOX_TEST(a_tree_of_a_job_that_is_absent_or_a_file_grants_nothing),
        SANDBOX_TEST(a_tree_that_is_absent_in_a_written_one_is_made_there),
        SANDBOX_TEST(a_cover_in_an_absent_tree_that_the_program_can_make_ends_the_start),
        SANDBOX_TEST(private_places_have_one_limit_of_bytes_and_of_files),
        SANDBOX_TEST(hooks_and_configuration_of_git_are_read_only),
        SANDBOX_TEST(strict_makes_all_of_git_read_only),
        SANDBOX_TEST(a_repository_without_hooks_is_protected_whole),
        SANDBOX_TEST(a_git_that_is_a_file_is_read_only_and_a_tree_without_one_is_free),
        SANDBOX_TEST(a_git_or_hooks_that_are_links_are_reported),
        SANDBOX_TEST(what_git_outside_would_find_is_reported_when_it_is_new),
        SANDBOX_TEST(what_is_covered_is_empty_and_stays_so),
        SANDBOX_TEST(what_is_to_be_covered_and_could_be_made_ends_the_start),
        SANDBOX_TEST(what_is_to_be_covered_and_cannot_be_made_is_left_out),
        SANDBOX_TEST(a_link_to_what_is_granted_is_a_link_inside),
        SANDBOX_TEST(a_link_to_what_is_not_granted_ends_the_start),
        SANDBOX_TEST(a_link_that_others_could_have_made_ends_the_start),
        SANDBOX_TEST(a_read_tree_is_read_only_with_all_that_is_mounted_in_it),
        SANDBOX_TEST(file_systems_of_the_kernel_are_covered),
        SANDBOX_TEST(a_tree_that_is_the_kernels_ends_the_start),
        SANDBOX_TEST(nothing_in_proc_can_be_written),
        SANDBOX_TEST(devices_work_and_cannot_be_changed),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
