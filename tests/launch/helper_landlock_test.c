/* What each right of a rule admits, and what it does not: children that confine themselves and try.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "launch/confined_child.h"
#include "support/remove_tree.h"

#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_landlock.h"

#define R ARCP__SANDBOX_READ
#define X ARCP__SANDBOX_EXECUTE
#define W ARCP__SANDBOX_WRITE

#define LEASE  .class = ARCP__SANDBOX_CLASS_LEASE
#define SYSTEM .class = ARCP__SANDBOX_CLASS_SYSTEM

#define VERSION_NEWEST 7

/* The tree that rules are about: tree/file, tree/program, tree/sub/, and beside it other/file.
 * Every child gets a new one. */
static char root[64] = "/tmp/arcp-landlock-XXXXXX";

static void path_of(char out[PATH_MAX], const char *name)
{
    (void)snprintf(out, PATH_MAX, "%s/%s", root, name);
}

static void make_file(const char *name, mode_t mode, bool for_nobody)
{
    char path[PATH_MAX];
    path_of(path, name);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/true\n", 12), 12);
    assert_int_equal(for_nobody ? fchown(fd, NOBODY, NOBODY) : 0, 0);
    assert_int_equal(close(fd), 0);
}

static void make_directory(const char *name, bool for_nobody)
{
    char path[PATH_MAX];
    path_of(path, name);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(for_nobody ? chown(path, NOBODY, NOBODY) : 0, 0);
}

static void make_tree(bool for_nobody)
{
    char path[PATH_MAX];
    path_of(path, "tree");
    (void)remove_tree(path);
    path_of(path, "other");
    (void)remove_tree(path);
    make_directory("tree", for_nobody);
    make_directory("tree/sub", for_nobody);
    make_directory("other", for_nobody);
    make_file("tree/file", 0644, for_nobody);
    make_file("tree/program", 0755, for_nobody);
    make_file("other/file", 0644, for_nobody);
}

/* ---- what is tried: 0 or an errno ---- */

typedef int (*operation_fn)(const char *directory);

static int done(int result)
{
    return result < 0 ? errno : 0;
}

static const char *in(const char *directory, const char *name)
{
    static char paths[2][PATH_MAX];
    static int next;
    next = 1 - next;
    (void)snprintf(paths[next], sizeof *paths, "%s/%s", directory, name);
    return paths[next];
}

static int read_file(const char *directory)
{
    return done(open(in(directory, "file"), O_RDONLY));
}

static int list_directory(const char *directory)
{
    return done(open(directory, O_RDONLY | O_DIRECTORY));
}

static int execute(const char *directory)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(in(directory, "program"), "program", (char *)NULL);
        _exit(errno);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static int write_file(const char *directory)
{
    return done(open(in(directory, "file"), O_WRONLY));
}

static int read_and_write_file(const char *directory)
{
    return done(open(in(directory, "file"), O_RDWR));
}

static int truncate_file(const char *directory)
{
    return done(truncate(in(directory, "file"), 0));
}

static int create_file(const char *directory)
{
    return done(open(in(directory, "new"), O_CREAT | O_EXCL | O_WRONLY, 0600));
}

static int make_sub(const char *directory)
{
    return done(mkdir(in(directory, "new"), 0700));
}

static int remove_sub(const char *directory)
{
    return done(rmdir(in(directory, "sub")));
}

static int remove_file(const char *directory)
{
    return done(unlink(in(directory, "file")));
}

static int make_link(const char *directory)
{
    return done(symlink("/", in(directory, "new")));
}

static int make_fifo(const char *directory)
{
    return done(mkfifo(in(directory, "new"), 0600));
}

static int make_socket(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int written =
        snprintf(address.sun_path, sizeof address.sun_path, "%s", in(directory, "new"));
    return fd < 0 || written < 0
               ? 200
               : done(bind(fd, (const struct sockaddr *)&address, sizeof address));
}

/* The device 0/0, which any user may make. */
static int make_device(const char *directory)
{
    return done(mknod(in(directory, "new"), S_IFCHR | 0600, makedev(0, 0)));
}

static int rename_file(const char *directory)
{
    return done(rename(in(directory, "file"), in(directory, "new")));
}

static int move_to_sub(const char *directory)
{
    return done(rename(in(directory, "file"), in(directory, "sub/file")));
}

static int link_into_sub(const char *directory)
{
    return done(link(in(directory, "file"), in(directory, "sub/file")));
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

typedef struct trial {
    operation_fn operation;
    const char *directory;          /* of root; an absolute one is taken as it is */
    const arcp__sandbox_plan *plan; /* NULL: nothing is confined */
    uint32_t version;
    int expected; /* of arcp__helper_landlock */
    const char *expected_path;
} trial;

static int run_trial(void *user)
{
    const trial *tried = user;
    char path[PATH_MAX];
    path_of(path, tried->directory);
    if (tried->plan != NULL) {
        arcp__sandbox_abilities abilities = {{0}};
        abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = tried->version;
        const char *failed = NULL;
        if (arcp__helper_capabilities_drop() != 0 ||
            arcp__helper_landlock(tried->plan, &abilities, &failed) != tried->expected ||
            (tried->expected_path != NULL && strcmp(tried->expected_path, failed) != 0)) {
            return CHILD_NOT_CONFINED;
        }
    }
    return tried->operation == NULL
               ? 0
               : tried->operation(tried->directory[0] == '/' ? tried->directory : path);
}

/* /usr and the loader's cache, as every plan has. */
#define BASE(path_text)                                                                            \
    {                                                                                              \
        .path = ARCP_SPAN_LITERAL(path_text), .rights = R | X, .class = ARCP__SANDBOX_CLASS_BASE   \
    }

static void a_right_admits_its_operations_and_no_others(void **state)
{
    const row *tried_row = *state;
    char tree[PATH_MAX];
    path_of(tree, "tree");
    for (int user = 0; user < (geteuid() == 0 ? 2 : 1); user++) {
        const bool as_nobody = user == 1;
        make_tree(as_nobody);
        trial bare = {.operation = tried_row->operation, .directory = "tree"};
        assert_int_equal(child_result(run_trial, &bare, as_nobody), 0);
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
            make_tree(as_nobody);
            const int got = child_result(run_trial, &tried, as_nobody);
            const bool is_move =
                tried_row->operation == move_to_sub || tried_row->operation == link_into_sub;
            if ((tried_row->needs & ~rights) == 0) {
                assert_int_equal(got, 0);
            } else {
                assert_true(got == EACCES || (is_move && got == EXDEV));
            }
            tried.directory = "other";
            if (tried_row->operation == read_file || tried_row->operation == create_file) {
                assert_int_equal(child_result(run_trial, &tried, as_nobody), EACCES);
            }
        }
    }
}

/* ---- rules that are not plain ---- */

static int try_with(const arcp__sandbox_plan *plan, operation_fn operation, const char *directory)
{
    trial tried = {
        .operation = operation, .directory = directory, .plan = plan, .version = VERSION_NEWEST};
    return child_result(run_trial, &tried, geteuid() == 0);
}

static int confine_fails(const arcp__sandbox_plan *plan, uint32_t version, int expected,
                         const char *path)
{
    trial tried = {.directory = "tree",
                   .plan = plan,
                   .version = version,
                   .expected = expected,
                   .expected_path = path};
    return child_result(run_trial, &tried, false);
}

static arcp__sandbox_plan plan_of(const arcp__sandbox_rule *rules, size_t count)
{
    return (arcp__sandbox_plan){
        .level = ARCP__SANDBOX_LEVEL_LANDLOCK, .rules = rules, .rule_count = count};
}

static void a_rule_of_a_file_is_of_no_directory_and_no_other_file(void **state)
{
    (void)state;
    char path[PATH_MAX];
    make_tree(geteuid() == 0);
    path_of(path, "tree/file");
    arcp__sandbox_rule rule = {
        .path = arcp_span_cstr(path), .rights = R | W | X, .is_file = true, LEASE};
    const arcp__sandbox_plan plan = plan_of(&rule, 1);
    assert_int_equal(try_with(&plan, read_and_write_file, "tree"), 0);
    assert_int_equal(try_with(&plan, truncate_file, "tree"), 0);
    assert_int_equal(try_with(&plan, list_directory, "tree"), EACCES);
    assert_int_equal(try_with(&plan, create_file, "tree"), EACCES);
    assert_int_equal(try_with(&plan, remove_file, "tree"), EACCES);
    assert_int_equal(try_with(&plan, read_file, "other"), EACCES);
    rule.rights = R;
    assert_int_equal(try_with(&plan, read_file, "tree"), 0);
    assert_int_equal(try_with(&plan, write_file, "tree"), EACCES);
    path_of(path, "tree");
    rule.path = arcp_span_cstr(path);
    assert_int_equal(try_with(&plan, read_file, "tree"), EACCES);
    assert_int_equal(try_with(&plan, list_directory, "tree"), EACCES);
    rule.is_file = false;
    assert_int_equal(try_with(&plan, read_file, "tree"), 0);
}

static void a_rule_of_what_is_absent_gives_nothing_later_either(void **state)
{
    (void)state;
    char path[PATH_MAX];
    char below[PATH_MAX];
    make_tree(geteuid() == 0);
    path_of(path, "absent/sub");
    path_of(below, "tree/file/sub");
    const arcp__sandbox_rule rules[] = {
        {.path = arcp_span_cstr(path), .rights = R | W, LEASE},
        {.path = arcp_span_cstr(below), .rights = R | W, LEASE},
    };
    const arcp__sandbox_plan plan = plan_of(rules, 2);
    assert_int_equal(try_with(&plan, read_file, "tree"), EACCES);
    assert_int_equal(try_with(&plan, make_sub, "tree"), EACCES);
}

static void a_link_in_a_rule_gives_nothing_of_its_own(void **state)
{
    (void)state;
    char link[PATH_MAX];
    char behind[PATH_MAX];
    char tree[PATH_MAX];
    make_tree(geteuid() == 0);
    path_of(tree, "tree");
    path_of(link, "other/link");
    path_of(behind, "other/link/sub");
    assert_int_equal(symlink(tree, link), 0);
    arcp__sandbox_rule rules[] = {
        {.path = arcp_span_cstr(link), .rights = R | W, LEASE},
        {.path = arcp_span_cstr(tree), .rights = R, LEASE},
    };
    arcp__sandbox_plan plan = plan_of(rules, 1);
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ELOOP, link), 0);
    rules[0].path = arcp_span_cstr(behind);
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
    plan.rule_count = 2; /* the real name may be read, but not written */
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
    rules[0].rights = R;
    assert_int_equal(try_with(&plan, list_directory, "other/link/sub"), 0);
    assert_int_equal(try_with(&plan, write_file, "tree"), EACCES);
    rules[1].is_file = true; /* not of what is below */
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ELOOP, behind), 0);
}

static void what_cannot_be_set_up_is_an_error_with_its_path(void **state)
{
    (void)state;
    char path[PATH_MAX + 8];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    const arcp__sandbox_rule rule = {.path = {path, PATH_MAX}, .rights = R, LEASE};
    arcp__sandbox_plan plan = plan_of(&rule, 1);
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ENAMETOOLONG, ""), 0);
    plan.rule_count = 0;
    assert_int_equal(confine_fails(&plan, 0, EOPNOTSUPP, ""), 0);
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, 0, ""), 0);
}

static void an_older_version_is_used_as_far_as_it_goes(void **state)
{
    (void)state;
    char tree[PATH_MAX];
    path_of(tree, "tree");
    const arcp__sandbox_rule rule = {.path = arcp_span_cstr(tree), .rights = R, LEASE};
    const arcp__sandbox_plan plan = plan_of(&rule, 1);
    for (uint32_t version = 1; version <= VERSION_NEWEST; version++) {
        trial tried = {.directory = "tree", .plan = &plan, .version = version};
        make_tree(geteuid() == 0);
        tried.operation = read_file;
        assert_int_equal(child_result(run_trial, &tried, geteuid() == 0), 0);
        tried.operation = write_file;
        assert_int_equal(child_result(run_trial, &tried, geteuid() == 0), EACCES);
        tried.operation = truncate_file;
        assert_int_equal(child_result(run_trial, &tried, geteuid() == 0),
                         version >= 3 ? EACCES : 0);
    }
}

/* ---- devices, /proc, / ---- */

static int use_null(const char *directory)
{
    (void)directory;
    return done(open("/dev/null", O_RDWR | O_TRUNC));
}

static int list_terminals(const char *directory)
{
    (void)directory;
    return done(open("/dev/pts", O_RDONLY | O_DIRECTORY));
}

static int read_own_state(const char *directory)
{
    (void)directory;
    return done(open("/proc/self/status", O_RDONLY));
}

static int write_own_state(const char *directory)
{
    (void)directory;
    return done(open("/proc/self/comm", O_WRONLY));
}

static int list_root(const char *directory)
{
    (void)directory;
    return done(open("/", O_RDONLY | O_DIRECTORY));
}

static int size_of_terminal(const char *directory)
{
    struct winsize size;
    (void)directory;
    const int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    return terminal < 0 ? 200 : done(ioctl(terminal, TIOCGWINSZ, &size));
}

static int make_in_dev(const char *directory)
{
    (void)directory;
    return done(mkdir("/dev/arcp-landlock-test", 0700));
}

static void a_rule_of_the_system_is_of_what_is_there(void **state)
{
    (void)state;
    arcp__sandbox_rule rules[] = {
        {.path = ARCP_SPAN_LITERAL("/proc"), .rights = R, SYSTEM},
        {.path = ARCP_SPAN_LITERAL("/dev/null"), .rights = R | W, SYSTEM},
    };
    const arcp__sandbox_plan plan = plan_of(rules, 2);
    assert_int_equal(try_with(&plan, use_null, "/"), 0);
    assert_int_equal(try_with(&plan, read_own_state, "/"), 0);
    assert_int_equal(try_with(&plan, write_own_state, "/"), EACCES);
    assert_int_equal(try_with(&plan, size_of_terminal, "/"), 200);
    assert_int_equal(try_with(&plan, list_terminals, "/"), EACCES);
    assert_int_equal(try_with(&plan, list_root, "/"), EACCES);
    rules[1].path = ARCP_SPAN_LITERAL("/dev");
    assert_int_equal(try_with(&plan, list_terminals, "/"), 0);
    assert_int_equal(try_with(&plan, size_of_terminal, "/"), 0);
    trial tried = {.operation = make_in_dev, .directory = "/", .plan = &plan, .version = 7};
    assert_int_equal(child_result(run_trial, &tried, false), EACCES);
    rules[1].class = ARCP__SANDBOX_CLASS_LEASE; /* no ioctl of devices by a lease */
    assert_int_equal(try_with(&plan, size_of_terminal, "/"), EACCES);
}

static void the_root_is_listed_when_nothing_is_written_without_being_read(void **state)
{
    (void)state;
    char tree[PATH_MAX];
    make_tree(geteuid() == 0);
    path_of(tree, "tree");
    arcp__sandbox_rule rule = {.path = arcp_span_cstr(tree), .rights = R | W, LEASE};
    const arcp__sandbox_mount mount = {.kind = ARCP__SANDBOX_MOUNT_ROOT,
                                       .source = ARCP_SPAN_LITERAL("/"),
                                       .target = ARCP_SPAN_LITERAL("/")};
    arcp__sandbox_plan plan = plan_of(&rule, 1);
    plan.level = ARCP__SANDBOX_LEVEL_FULL;
    assert_int_equal(try_with(&plan, list_root, "/"), 0);
    assert_int_equal(try_with(&plan, read_file, "other"), EACCES);
    plan.mounts = &mount;
    plan.mount_count = 1;
    assert_int_equal(try_with(&plan, list_root, "/"), EACCES);
    plan.mount_count = 0;
    rule.rights = W;
    assert_int_equal(try_with(&plan, list_root, "/"), EACCES);
    rule.is_file = true;
    assert_int_equal(try_with(&plan, list_root, "/"), 0);
    rule.is_file = false;
    assert_int_equal(try_with(&plan, list_directory, "tree"), EACCES);
    assert_int_equal(try_with(&plan, create_file, "tree"), 0);
}

static void a_link_of_the_base_is_skipped(void **state)
{
    (void)state;
    char link[PATH_MAX];
    char tree[PATH_MAX];
    make_tree(geteuid() == 0);
    path_of(tree, "tree");
    path_of(link, "other/link");
    assert_int_equal(symlink(tree, link), 0);
    arcp__sandbox_rule rule = {
        .path = arcp_span_cstr(link), .rights = R, .class = ARCP__SANDBOX_CLASS_BASE};
    const arcp__sandbox_plan plan = plan_of(&rule, 1);
    assert_int_equal(try_with(&plan, read_file, "tree"), EACCES);
    rule.class = ARCP__SANDBOX_CLASS_PRIVATE;
    assert_int_equal(confine_fails(&plan, VERSION_NEWEST, ELOOP, link), 0);
}

/* ---- processes and the network ---- */

static int signal_parent(const char *directory)
{
    (void)directory;
    return done(kill(getppid(), 0));
}

static int signal_child(const char *directory)
{
    (void)directory;
    const pid_t child = fork();
    if (child == 0) {
        (void)pause();
    }
    int status = 0;
    const int result = done(kill(child, SIGKILL));
    return result == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : result;
}

static struct sockaddr_un abstract_address;
static struct sockaddr_in tcp_address;

static int connect_abstract(const char *directory)
{
    (void)directory;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return done(connect(fd, (const struct sockaddr *)&abstract_address, sizeof abstract_address));
}

static int connect_tcp(const char *directory)
{
    (void)directory;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return done(connect(fd, (const struct sockaddr *)&tcp_address, sizeof tcp_address));
}

static int bind_tcp(const char *directory)
{
    (void)directory;
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return done(bind(fd, (const struct sockaddr *)&any, sizeof any));
}

static void processes_and_sockets_outside_cannot_be_reached(void **state)
{
    (void)state;
    static const operation_fn outside[] = {signal_parent, connect_abstract};
    static const operation_fn tcp[] = {connect_tcp, bind_tcp};
    const int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int inet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof tcp_address;
    abstract_address.sun_family = AF_UNIX;
    (void)snprintf(abstract_address.sun_path + 1, sizeof abstract_address.sun_path - 1,
                   "arcp-landlock-%d", (int)getpid());
    tcp_address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(
        bind(local, (const struct sockaddr *)&abstract_address, sizeof abstract_address) +
            listen(local, 9) + bind(inet, (const struct sockaddr *)&tcp_address, size) +
            listen(inet, 9) + getsockname(inet, (struct sockaddr *)&tcp_address, &size),
        0);
    arcp__sandbox_plan plan = {.level = ARCP__SANDBOX_LEVEL_LANDLOCK};
    trial tried = {.directory = "/"};
    for (size_t i = 0; i < 2; i++) {
        tried.operation = outside[i];
        tried.plan = NULL;
        assert_int_equal(child_result(run_trial, &tried, false), 0);
        tried.plan = &plan;
        tried.version = 6;
        assert_int_equal(child_result(run_trial, &tried, false), EPERM);
        tried.version = 5;
        assert_int_equal(child_result(run_trial, &tried, false), 0);
        tried.operation = tcp[i];
        assert_int_equal(child_result(run_trial, &tried, false), EACCES);
        tried.version = 4;
        assert_int_equal(child_result(run_trial, &tried, false), EACCES);
        tried.version = 3;
        assert_int_equal(child_result(run_trial, &tried, false), 0);
    }
    assert_int_equal(try_with(&plan, signal_child, "/"), 0);
    plan.level = ARCP__SANDBOX_LEVEL_FULL; /* its network is empty */
    assert_int_equal(try_with(&plan, connect_tcp, "/"), 0);
    assert_int_equal(try_with(&plan, bind_tcp, "/"), 0);
    assert_int_equal(close(local) + close(inet), 0);
}

int main(void)
{
    if (arcp__helper_landlock_version() < VERSION_NEWEST) {
        print_message("skipped: Landlock %u; needs %d\n", arcp__helper_landlock_version(),
                      VERSION_NEWEST);
        return 0;
    }
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_of_a_file_is_of_no_directory_and_no_other_file),
        cmocka_unit_test(a_rule_of_what_is_absent_gives_nothing_later_either),
        cmocka_unit_test(a_link_in_a_rule_gives_nothing_of_its_own),
        cmocka_unit_test(what_cannot_be_set_up_is_an_error_with_its_path),
        cmocka_unit_test(an_older_version_is_used_as_far_as_it_goes),
        cmocka_unit_test(a_rule_of_the_system_is_of_what_is_there),
        cmocka_unit_test(the_root_is_listed_when_nothing_is_written_without_being_read),
        cmocka_unit_test(a_link_of_the_base_is_skipped),
        cmocka_unit_test(processes_and_sockets_outside_cannot_be_reached),
    };
    int failed = run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows,
                          a_right_admits_its_operations_and_no_others);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    (void)remove_tree(root);
    return failed;
}
