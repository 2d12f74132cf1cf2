/* What Landlock admits of the system's own places (/dev, /proc, the root), of processes and of the
 * network: children that confine themselves and try. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "launch/landlock_trial.h"

/* ---- devices, /proc, / ---- */

static int use_null(const char *directory)
{
    (void)directory;
    return operation_result(open("/dev/null", O_RDWR | O_TRUNC));
}

static int list_terminals(const char *directory)
{
    (void)directory;
    return operation_result(open("/dev/pts", O_RDONLY | O_DIRECTORY));
}

static int read_own_state(const char *directory)
{
    (void)directory;
    return operation_result(open("/proc/self/status", O_RDONLY));
}

static int write_own_state(const char *directory)
{
    (void)directory;
    return operation_result(open("/proc/self/comm", O_WRONLY));
}

static int list_root(const char *directory)
{
    (void)directory;
    return operation_result(open("/", O_RDONLY | O_DIRECTORY));
}

static int size_of_terminal(const char *directory)
{
    struct winsize size;
    (void)directory;
    const int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    return terminal < 0 ? 200 : operation_result(ioctl(terminal, TIOCGWINSZ, &size));
}

static int make_in_dev(const char *directory)
{
    (void)directory;
    return operation_result(mkdir("/dev/arcp-landlock-test", 0700));
}

static void a_rule_of_the_system_is_of_what_is_there(void **state)
{
    (void)state;
    arcp__sandbox_rule rules[] = {
        {.path = ARCP_SPAN_LITERAL("/proc"), .rights = R, SYSTEM},
        {.path = ARCP_SPAN_LITERAL("/dev/null"), .rights = R | W, SYSTEM},
    };
    const arcp__sandbox_plan plan = trial_plan(rules, 2);
    assert_int_equal(trial_try(&plan, use_null, "/"), 0);
    assert_int_equal(trial_try(&plan, read_own_state, "/"), 0);
    assert_int_equal(trial_try(&plan, write_own_state, "/"), EACCES);
    assert_int_equal(trial_try(&plan, size_of_terminal, "/"), 200);
    assert_int_equal(trial_try(&plan, list_terminals, "/"), EACCES);
    assert_int_equal(trial_try(&plan, list_root, "/"), EACCES);
    rules[1].path = ARCP_SPAN_LITERAL("/dev");
    assert_int_equal(trial_try(&plan, list_terminals, "/"), 0);
    assert_int_equal(trial_try(&plan, size_of_terminal, "/"), 0);
    trial tried = {.operation = make_in_dev, .directory = "/", .plan = &plan, .version = 7};
    assert_int_equal(child_result(trial_run, &tried, false), EACCES);
    rules[1].class = ARCP__SANDBOX_CLASS_LEASE; /* no ioctl of devices by a lease */
    assert_int_equal(trial_try(&plan, size_of_terminal, "/"), EACCES);
}

static void the_root_is_listed_when_nothing_is_written_without_being_read(void **state)
{
    (void)state;
    char tree[PATH_MAX];
    trial_make_tree(geteuid() == 0);
    trial_path(tree, "tree");
    arcp__sandbox_rule rule = {.path = arcp_span_cstr(tree), .rights = R | W, LEASE};
    const arcp__sandbox_mount mount = {.kind = ARCP__SANDBOX_MOUNT_ROOT,
                                       .source = ARCP_SPAN_LITERAL("/"),
                                       .target = ARCP_SPAN_LITERAL("/")};
    arcp__sandbox_plan plan = trial_plan(&rule, 1);
    plan.level = ARCP__SANDBOX_LEVEL_FULL;
    assert_int_equal(trial_try(&plan, list_root, "/"), 0);
    assert_int_equal(trial_try(&plan, read_file, "other"), EACCES);
    plan.mounts = &mount;
    plan.mount_count = 1;
    assert_int_equal(trial_try(&plan, list_root, "/"), EACCES);
    plan.mount_count = 0;
    rule.rights = W;
    assert_int_equal(trial_try(&plan, list_root, "/"), EACCES);
    rule.is_file = true;
    assert_int_equal(trial_try(&plan, list_root, "/"), 0);
    rule.is_file = false;
    assert_int_equal(trial_try(&plan, list_directory, "tree"), EACCES);
    assert_int_equal(trial_try(&plan, create_file, "tree"), 0);
}

/* ---- processes and the network ---- */

static int signal_parent(const char *directory)
{
    (void)directory;
    return operation_result(kill(getppid(), 0));
}

static int signal_child(const char *directory)
{
    (void)directory;
    const pid_t child = fork();
    if (child == 0) {
        (void)pause();
    }
    int status = 0;
    const int result = operation_result(kill(child, SIGKILL));
    return result == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : result;
}

static struct sockaddr_un abstract_address;
static struct sockaddr_in tcp_address;

static int connect_abstract(const char *directory)
{
    (void)directory;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return operation_result(
        connect(fd, (const struct sockaddr *)&abstract_address, sizeof abstract_address));
}

static int connect_tcp(const char *directory)
{
    (void)directory;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return operation_result(connect(fd, (const struct sockaddr *)&tcp_address, sizeof tcp_address));
}

static int bind_tcp(const char *directory)
{
    (void)directory;
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return operation_result(bind(fd, (const struct sockaddr *)&any, sizeof any));
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
        assert_int_equal(child_result(trial_run, &tried, false), 0);
        tried.plan = &plan;
        tried.version = 6;
        assert_int_equal(child_result(trial_run, &tried, false), EPERM);
        tried.version = 5;
        assert_int_equal(child_result(trial_run, &tried, false), 0);
        tried.operation = tcp[i];
        assert_int_equal(child_result(trial_run, &tried, false), EACCES);
        tried.version = 4;
        assert_int_equal(child_result(trial_run, &tried, false), EACCES);
        tried.version = 3;
        assert_int_equal(child_result(trial_run, &tried, false), 0);
    }
    tried.version = 4;
    tried.operation = connect_tcp;
    tried.proxy_port = ntohs(tcp_address.sin_port);
    assert_int_equal(child_result(trial_run, &tried, false), 0);
    tried.operation = bind_tcp;
    assert_int_equal(child_result(trial_run, &tried, false), EACCES);
    tried.operation = connect_tcp;
    tried.proxy_port ^= 1; /* another one */
    assert_int_equal(child_result(trial_run, &tried, false), EACCES);
    tried.version = 3; /* it cannot be limited to one port */
    tried.expected = EOPNOTSUPP;
    tried.operation = NULL;
    assert_int_equal(child_result(trial_run, &tried, false), 0);
    assert_int_equal(trial_try(&plan, signal_child, "/"), 0);
    plan.level = ARCP__SANDBOX_LEVEL_FULL; /* its network is empty */
    assert_int_equal(trial_try(&plan, connect_tcp, "/"), 0);
    assert_int_equal(trial_try(&plan, bind_tcp, "/"), 0);
    assert_int_equal(close(local) + close(inet), 0);
}

int main(void)
{
    if (!trial_set_up()) {
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_of_the_system_is_of_what_is_there),
        cmocka_unit_test(the_root_is_listed_when_nothing_is_written_without_being_read),
        cmocka_unit_test(processes_and_sockets_outside_cannot_be_reached),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    trial_tear_down();
    return failed;
}
