#include "launch/landlock_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "support/remove_tree.h"

#include "launch/sandbox_helper/helper_capabilities.h"

static char root[64] = "/tmp/arcp-landlock-XXXXXX";

void trial_path(char out[PATH_MAX], const char *name)
{
    (void)snprintf(out, PATH_MAX, "%s/%s", root, name);
}

static void make_file(const char *name, mode_t mode, bool for_nobody)
{
    char path[PATH_MAX];
    trial_path(path, name);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/true\n", 12), 12);
    assert_int_equal(for_nobody ? fchown(fd, NOBODY, NOBODY) : 0, 0);
    assert_int_equal(close(fd), 0);
}

static void make_directory(const char *name, bool for_nobody)
{
    char path[PATH_MAX];
    trial_path(path, name);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(for_nobody ? chown(path, NOBODY, NOBODY) : 0, 0);
}

void trial_make_tree(bool for_nobody)
{
    char path[PATH_MAX];
    trial_path(path, "tree");
    (void)remove_tree(path);
    trial_path(path, "other");
    (void)remove_tree(path);
    make_directory("tree", for_nobody);
    make_directory("tree/sub", for_nobody);
    make_directory("other", for_nobody);
    make_file("tree/file", 0644, for_nobody);
    make_file("tree/program", 0755, for_nobody);
    make_file("other/file", 0644, for_nobody);
}

bool trial_set_up(void)
{
    if (arcp__helper_landlock_version() < VERSION_NEWEST) {
        print_message("skipped: Landlock %u; needs %d\n", arcp__helper_landlock_version(),
                      VERSION_NEWEST);
        return false;
    }
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    return true;
}

void trial_tear_down(void)
{
    (void)remove_tree(root);
}

int trial_run(void *user)
{
    const trial *tried = user;
    char path[PATH_MAX];
    trial_path(path, tried->directory);
    if (tried->plan != NULL) {
        arcp__sandbox_abilities abilities = {{0}};
        abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = tried->version;
        const char *failed = NULL;
        if (arcp__helper_capabilities_drop() != 0 ||
            arcp__helper_landlock(tried->plan, &abilities, tried->proxy_port, &failed) !=
                tried->expected ||
            (tried->expected_path != NULL && strcmp(tried->expected_path, failed) != 0)) {
            return CHILD_NOT_CONFINED;
        }
    }
    return tried->operation == NULL
               ? 0
               : tried->operation(tried->directory[0] == '/' ? tried->directory : path);
}

int trial_try(const arcp__sandbox_plan *plan, operation_fn operation, const char *directory)
{
    trial tried = {
        .operation = operation, .directory = directory, .plan = plan, .version = VERSION_NEWEST};
    return child_result(trial_run, &tried, geteuid() == 0);
}

int trial_confine_fails(const arcp__sandbox_plan *plan, uint32_t version, int expected,
                        const char *path)
{
    trial tried = {.directory = "tree",
                   .plan = plan,
                   .version = version,
                   .expected = expected,
                   .expected_path = path};
    return child_result(trial_run, &tried, false);
}

arcp__sandbox_plan trial_plan(const arcp__sandbox_rule *rules, size_t count)
{
    return (arcp__sandbox_plan){
        .level = ARCP__SANDBOX_LEVEL_LANDLOCK, .rules = rules, .rule_count = count};
}

int operation_result(int result)
{
    return result < 0 ? errno : 0;
}

const char *operation_path(const char *directory, const char *name)
{
    static char paths[2][PATH_MAX];
    static int next;
    next = 1 - next;
    (void)snprintf(paths[next], sizeof *paths, "%s/%s", directory, name);
    return paths[next];
}

int read_file(const char *directory)
{
    return operation_result(open(operation_path(directory, "file"), O_RDONLY));
}

int write_file(const char *directory)
{
    return operation_result(open(operation_path(directory, "file"), O_WRONLY));
}

int create_file(const char *directory)
{
    return operation_result(
        open(operation_path(directory, "new"), O_CREAT | O_EXCL | O_WRONLY, 0600));
}

int list_directory(const char *directory)
{
    return operation_result(open(directory, O_RDONLY | O_DIRECTORY));
}
