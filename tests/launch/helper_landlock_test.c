/* What each right of a rule admits, and what it does not: children that confine themselves and try.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "launch/landlock_trial.h"

/* ---- the operations ---- */

static int execute(const char *directory)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(operation_path(directory, "program"), "program", (char *)NULL);
        _exit(errno);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static int read_and_write_file(const char *directory)
{
    return operation_result(open(operation_path(directory, "file"), O_RDWR));
}

static int truncate_file(const char *directory)
{
    return operation_result(truncate(operation_path(directory, "file"), 0));
}

static int make_sub(const char *directory)
{
    return operation_result(mkdir(operation_path(directory, "new"), 0700));
}

static int remove_sub(const char *directory)
{
    return operation_result(rmdir(operation_path(directory, "sub")));
}

static int remove_file(const char *directory)
{
    return operation_result(unlink(operation_path(directory, "file")));
}

static int make_link(const char *directory)
{
    return operation_result(symlink("/", operation_path(directory, "new")));
}

static int make_fifo(const char *directory)
{
    return operation_result(mkfifo(operation_path(directory, "new"), 0600));
}

static int make_socket(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int written =
        snprintf(address.sun_path, sizeof address.sun_path, "%s", operation_path(directory, "new"));
    return fd < 0 || written < 0
               ? 200
               : operation_result(bind(fd, (const struct sockaddr *)&address, sizeof address));
}

/* The device 0/0, which any user may make. */
static int make_device(const char *directory)
{
    return operation_result(mknod(operation_path(directory, "new"), S_IFCHR | 0600, makedev(0, 0)));
}

static int rename_file(const char *directory)
{
    return operation_result(
        rename(operation_path(directory, "file"), operation_path(directory, "new")));
}

static int move_to_sub(const char *directory)
{
    return operation_result(
        rename(operation_path(directory, "file"), operation_path(directory, "sub/file")));
}

static int link_into_sub(const char *directory)
{
    return operation_result(
        link(operation_path(directory, "file"), operation_path(directory, "sub/file")));
}

typedef struct row {
    const char *name;
    operation_fn operation;
    uint32_t needs;
} row;

static const row rows[] = {
    {"reading a file needs READ", read_file, R},
    {"listing a directory needs READ", list_directory, R},
    {"executing a file needs EXECUTE, and READ for its interpreter", execute, X | R},
    {"writing a file needs WRITE", write_file, W},
    {"reading and writing a file needs both", read_and_write_file, R | W},
    {"truncating a file needs WRITE", truncate_file, W},
    {"creating a file needs WRITE", create_file, W},
    {"making a directory needs WRITE", make_sub, W},
    {"removing a directory needs WRITE", remove_sub, W},
    {"removing a file needs WRITE", remove_file, W},
    {"making a symbolic link needs WRITE", make_link, W},
    {"making a FIFO needs WRITE", make_fifo, W},
    {"binding a socket needs WRITE", make_socket, W},
    {"a device is never made", make_device, 8},
    {"renaming a file needs WRITE", rename_file, W},
    {"moving a file to another directory needs WRITE", move_to_sub, W},
    {"a hard link in another directory needs WRITE", link_into_sub, W},
};

/* /usr and the loader's cache, as every plan has. */
#define BASE(path_text)                                                                            \
    {                                                                                              \
        .path = ARCP_SPAN_LITERAL(path_text), .rights = R | X, .class = ARCP__SANDBOX_CLASS_BASE   \
    }

static void a_right_admits_its_operations_and_no_others(void **state)
{
    const row *tried_row = *state;
    char tree[PATH_MAX];
    trial_path(tree, "tree");
    for (int user = 0; user < (geteuid() == 0 ? 2 : 1); user++) {
        const bool as_nobody = user == 1;
        trial_make_tree(as_nobody);
        trial bare = {.operation = tried_row->operation, .directory = "tree"};
        assert_int_equal(child_result(trial_run, &bare, as_nobody), 0);
        for (uint32_t rights = 0; rights < 8; rights++) {
            const arcp__sandbox_rule rules[] = {
                BASE("/usr"),
                BASE("/bin"),
                BASE("/lib"),
                BASE("/lib64"),
                BASE("/etc/ld.so.cache"),
                {.path = arcp_span_cstr(tree), .rights = rights, LEASE}};
            const arcp__sandbox_plan plan = {.level = ARCP__SANDBOX_LEVEL_LANDLOCK,
                                             .rules = rules,
                                             .rule_count = sizeof rules / sizeof *rules};
            trial tried = {.operation = tried_row->operation,
                           .directory = "tree",
                           .plan = &plan,
                           .version = VERSION_NEWEST};
            trial_make_tree(as_nobody);
            const int got = child_result(trial_run, &tried, as_nobody);
            const bool is_move =
                tried_row->operation == move_to_sub || tried_row->operation == link_into_sub;
            if ((tried_row->needs & ~rights) == 0) {
                assert_int_equal(got, 0);
            } else {
                assert_true(got == EACCES || (is_move && got == EXDEV));
            }
            tried.directory = "other";
            if (tried_row->operation == read_file || tried_row->operation == create_file) {
                assert_int_equal(child_result(trial_run, &tried, as_nobody), EACCES);
            }
        }
    }
}

/* ---- rules that are not plain ---- */

static void a_rule_of_a_file_is_of_no_directory_and_no_other_file(void **state)
{
    (void)state;
    char path[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(path, "tree/file");
    arcp__sandbox_rule rule = {
        .path = arcp_span_cstr(path), .rights = R | W | X, .is_file = true, LEASE};
    const arcp__sandbox_plan plan = trial_plan(&rule, 1);
    assert_int_equal(trial_try(&plan, read_and_write_file, "tree"), 0);
    assert_int_equal(trial_try(&plan, truncate_file, "tree"), 0);
    assert_int_equal(trial_try(&plan, list_directory, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, create_file, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, remove_file, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, read_file, "other"), EACCES);
    rule.rights = R;
    assert_int_equal(trial_try(&plan, read_file, "tree"), 0);
    assert_int_equal(trial_try(&plan, write_file, "tree"), EACCES);
    trial_path(path, "tree");
    rule.path = arcp_span_cstr(path);
    assert_int_equal(trial_try(&plan, read_file, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, list_directory, "tree"), EACCES);
    rule.is_file = false;
    assert_int_equal(trial_try(&plan, read_file, "tree"), 0);
}

/* As the helper reports: a pattern of a directory and all below it grants no file of that name. */
static void a_rule_of_a_directory_is_of_no_file(void **state)
{
    (void)state;
    char path[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(path, "tree/file");
    arcp__sandbox_rule rule = {.path = arcp_span_cstr(path), .rights = R | W | X, LEASE};
    const arcp__sandbox_plan plan = trial_plan(&rule, 1);
    assert_int_equal(trial_try(&plan, read_file, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, write_file, "tree"), EACCES);
    rule.class = ARCP__SANDBOX_CLASS_BASE;
    assert_int_equal(trial_try(&plan, read_file, "tree"), 0);
}

static void a_rule_of_what_is_absent_gives_nothing_later_either(void **state)
{
    (void)state;
    char path[PATH_MAX];
    char below[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(path, "absent/sub");
    trial_path(below, "tree/file/sub");
    const arcp__sandbox_rule rules[] = {
        {.path = arcp_span_cstr(path), .rights = R | W, LEASE},
        {.path = arcp_span_cstr(below), .rights = R | W, LEASE},
    };
    const arcp__sandbox_plan plan = trial_plan(rules, 2);
    assert_int_equal(trial_try(&plan, read_file, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, make_sub, "tree"), EACCES);
}

static void a_link_in_a_rule_gives_nothing_of_its_own(void **state)
{
    (void)state;
    char link[PATH_MAX];
    char behind[PATH_MAX];
    char tree[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(tree, "tree");
    trial_path(link, "other/link");
    trial_path(behind, "other/link/sub");
    assert_int_equal(symlink(tree, link), 0);
    arcp__sandbox_rule rules[] = {
        {.path = arcp_span_cstr(link), .rights = R | W, LEASE},
        {.path = arcp_span_cstr(tree), .rights = R, LEASE},
    };
    arcp__sandbox_plan plan = trial_plan(rules, 1);
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ELOOP, link), 0);
    rules[0].path = arcp_span_cstr(behind);
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
    plan.rule_count = 2; /* the real name may be read, but not written */
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
    rules[0].rights = R;
    assert_int_equal(trial_try(&plan, list_directory, "other/link/sub"), 0);
    assert_int_equal(trial_try(&plan, write_file, "tree"), EACCES);
    rules[1].is_file = true; /* not of what is below */
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
}

static void what_cannot_be_set_up_is_an_error_with_its_path(void **state)
{
    (void)state;
    char path[PATH_MAX + 8];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    const arcp__sandbox_rule rule = {.path = {path, PATH_MAX}, .rights = R, LEASE};
    arcp__sandbox_plan plan = trial_plan(&rule, 1);
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ENAMETOOLONG, ""), 0);
    plan.rule_count = 0;
    assert_int_equal(trial_confine_fails(&plan, 0, EOPNOTSUPP, ""), 0);
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, 0, ""), 0);
}

static void an_older_version_is_used_as_far_as_it_goes(void **state)
{
    (void)state;
    char tree[PATH_MAX];
    trial_path(tree, "tree");
    const arcp__sandbox_rule rule = {.path = arcp_span_cstr(tree), .rights = R, LEASE};
    const arcp__sandbox_plan plan = trial_plan(&rule, 1);
    for (uint32_t version = 1; version <= VERSION_NEWEST; version++) {
        trial tried = {.directory = "tree", .plan = &plan, .version = version};
        trial_make_tree(geteuid() == 0);
        tried.operation = read_file;
        assert_int_equal(child_result(trial_run, &tried, geteuid() == 0), 0);
        tried.operation = write_file;
        assert_int_equal(child_result(trial_run, &tried, geteuid() == 0), EACCES);
        tried.operation = truncate_file;
        assert_int_equal(child_result(trial_run, &tried, geteuid() == 0),
                         version >= 3 ? EACCES : 0);
    }
}

static void a_link_of_the_base_is_skipped(void **state)
{
    (void)state;
    char link[PATH_MAX];
    char tree[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(tree, "tree");
    trial_path(link, "other/link");
    assert_int_equal(symlink(tree, link), 0);
    arcp__sandbox_rule rule = {
        .path = arcp_span_cstr(link), .rights = R, .class = ARCP__SANDBOX_CLASS_BASE};
    const arcp__sandbox_plan plan = trial_plan(&rule, 1);
    assert_int_equal(trial_try(&plan, read_file, "tree"), EACCES);
    rule.class = ARCP__SANDBOX_CLASS_PRIVATE;
    assert_int_equal(trial_confine_fails(&plan, VERSION_NEWEST, ELOOP, link), 0);
}

int main(void)
{
    if (!trial_set_up()) {
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_of_a_file_is_of_no_directory_and_no_other_file),
        cmocka_unit_test(a_rule_of_a_directory_is_of_no_file),
        cmocka_unit_test(a_rule_of_what_is_absent_gives_nothing_later_either),
        cmocka_unit_test(a_link_in_a_rule_gives_nothing_of_its_own),
        cmocka_unit_test(what_cannot_be_set_up_is_an_error_with_its_path),
        cmocka_unit_test(an_older_version_is_used_as_far_as_it_goes),
        cmocka_unit_test(a_link_of_the_base_is_skipped),
    };
    int failed = run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows,
                          a_right_admits_its_operations_and_no_others);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    trial_tear_down();
    return failed;
}
