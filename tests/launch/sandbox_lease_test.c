/* Sandboxes of leases, from the text of the lease to what the program can do. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/lease.h>

#include "launch/sandbox_etc.h"
#include "launch/sandbox_fixture.h"

/* Of use_lease. */
static const char *own_file; /* a file of the runtime's; NULL: none */
static bool is_silent;

/* A plan of a lease in which %s stands for the directory of the test. */
static arcp__sandbox_plan *use_lease(sandbox_fixture *f, const char *pattern)
{
    char text[2048] = "";
    char own[128];
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    for (const char *at = pattern; *at != '\0'; at++) {
        const size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%.*s", *at == '@' ? 64 : 1,
                       *at == '@' ? f->directory : at);
    }
    check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_cstr(""), NULL, &lease, &f->error),
             &f->error);
    (void)snprintf(own, sizeof own, "%s/own", f->directory);
    (void)mkdir(own, 0700);
    const arcp_span owns[] = {arcp_span_cstr(own_file == NULL ? own : own_file),
                              arcp_span_cstr(own)};
    const arcp__sandbox_request request = {
        .lease = lease,
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .cwd = arcp_span_cstr(f->tree),
        .cwd_is_fresh = f->is_fresh,
        .home = ARCP_SPAN_LITERAL("/home/agent"),
        .own = owns,
        .own_count = 2,
        .own_files = owns,
        .own_file_count = own_file == NULL ? 0 : 1,
        .is_silent = is_silent,
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 1u << 20, .pids = 64},
        .abilities = f->plan.abilities,
        .min = ARCP__SANDBOX_VERDICT_ADVISORY,
    };
    check_ok(arcp__sandbox_plan_new(&request, &plan, &f->error), &f->error);
    assert_int_equal(plan->refusal, ARCP__SANDBOX_REFUSAL_NONE);
    arcp_lease_unref(lease);
    f->plan = *plan;
    return plan;
}

/* Prepares /etc in a directory that the sandboxes do not have. */
static void use_etc(sandbox_fixture *f, arcp_buf *path)
{
    const arcp__sandbox_etc request = {.directory = sandbox_path(f, "etc"),
                                       .uid = getuid(),
                                       .gid = getgid(),
                                       .home = "/home/agent"};
    assert_int_equal(mkdir(request.directory, 0755), 0);
    check_ok(arcp__sandbox_etc_prepare(&request, path, &f->error), &f->error);
    f->confinement.etc = arcp_buf_cstr(path);
}

static void an_empty_lease_has_a_system_and_private_directories(void **state)
{
    sandbox_fixture *f = *state;
    arcp_buf etc = arcp_buf_init();
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    use_etc(f, &etc);
    arcp__sandbox_plan *plan = use_lease(f, "{}");
    sandbox_expect(f,
                   "cd; echo x > y; cat y /tmp/../etc/hostname; echo z > $HOME/z; id -un > /tmp/a; "
                   "awk 'BEGIN { print 1 }'; ls / | tr '\\n' ' '; cat /etc/shadow 2>/dev/null; "
                   "(echo > /etc/x) 2>/dev/null && echo written; pwd -P; ls -a",
                   0);
    assert_non_null(strstr(f->output.data, "x\narcp\n1\nbin dev etc home "));
    assert_non_null(strstr(f->output.data, " /home/agent\n.\n..\ny\nz\n"));
    assert_null(strstr(f->output.data, "written"));
    assert_null(strstr(f->output.data, "root:"));
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

static void a_lease_of_everything_has_the_hosts_tree_but_proc_sys_dev_and_what_is_ours(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    char script[2048];
    arcp__sandbox_plan *plan = use_lease(f, "{\"fs.read\":[\"/**\"]}");
    sandbox_outside("echo secret > %s/own/key; echo given > %s/given", f->directory, f->directory);
    (void)snprintf(
        script, sizeof script,
        "cat %s/given; cmp /etc/hostname /etc/hostname; ls /var >/dev/null; ls /sys; "
        "ls %s/own 2>/dev/null; cat %s/own/key 2>/dev/null; (echo x > %s/given) 2>/dev/null && "
        "echo "
        "written; [ $$ -lt 1000 ] && echo own; [ -e /proc/1/root/etc ] && echo root of init; ls "
        "/dev | wc -l; "
        "rm -f %s/given 2>/dev/null; cat /proc/sys/kernel/hostname; ls /.. | wc -l; "
        "ls / | wc -l",
        f->directory, f->directory, f->directory, f->directory, f->directory);
    sandbox_expect(f, script, 0);
    static const char begin[] = "given\nown\n12\narcp\n";
    if (strncmp(f->output.data, begin, sizeof begin - 1) != 0) {
        fail_msg("%s%s", f->output.data, f->records.data);
    }
    const char *counts = f->output.data + sizeof begin - 1;
    const char *second = strchr(counts, '\n') + 1;
    assert_int_equal(strtol(counts, NULL, 10), strtol(second, NULL, 10));
    assert_string_equal(strchr(second, '\n'), "\n");
    sandbox_outside("test -f %s/given", f->directory);
    arcp__sandbox_plan_free(plan);
}

/* /tmp is private, so that what is made beside the lines is made there. */
static void lines_of_a_lease_are_what_the_program_can_do(void **state)
{
    sandbox_fixture *f = *state;
    char script[2048];
    arcp_buf etc = arcp_buf_init();
    use_etc(f, &etc);
    sandbox_outside(
        "cd %s; mkdir -p data/sub tree/.git/hooks; echo a > data/a; echo b > data/sub/b; "
        "echo c > one; echo d > two; echo x > tree/.git/config",
        f->directory);
    arcp__sandbox_plan *plan = use_lease(f, "{\"fs.read\":[\"@/data/**\",\"@/one\",\"@/tree/**\"],"
                                            "\"fs.write\":[\"@/tree/**\",\"@/data/sub/**\"]}");
    (void)snprintf(
        script, sizeof script,
        "cd %s; cat data/a data/sub/b one; cat two own/key 2>/dev/null; echo y > tree/new; "
        "echo y > data/sub/new; for at in data/a one tree/.git/config tree/.git/hooks/h; "
        "do (echo z > $at) 2>/dev/null && echo \"written: $at\"; done; echo z > two; exit 0",
        f->directory);
    sandbox_expect(f, script, 0);
    if (f->plan.level == ARCP__SANDBOX_LEVEL_FULL) {
        sandbox_check_output(f, "a\nb\nc\n");
    }
    sandbox_outside("cd %s; test -f tree/new && test -f data/sub/new && test \"$(cat two)\" = d",
                    f->directory);
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

static void the_fresh_directory_of_a_job_is_seen_as_job(void **state)
{
    sandbox_fixture *f = *state;
    arcp_buf etc = arcp_buf_init();
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    use_etc(f, &etc);
    f->is_fresh = true;
    arcp__sandbox_plan *plan = use_lease(f, "{\"fs.write\":[\"out/**\"]}");
    sandbox_outside("echo given > %s/input", f->tree);
    sandbox_expect(f,
                   "pwd -P; cat /job/input; mkdir out; echo a > out/b; (cd /job/..; ls -d job); "
                   "ls -d /job/../tmp; mv /job /other 2>/dev/null && echo moved; exit 0",
                   0);
    sandbox_check_output(f, "/job\ngiven\njob\n/job/../tmp\n");
    sandbox_outside("test \"$(cat %s/out/b)\" = a", f->tree);
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

static void what_a_pattern_grants_is_opened_by_the_broker(void **state)
{
    sandbox_fixture *f = *state;
    char script[2048];
    arcp_buf etc = arcp_buf_init();
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    use_etc(f, &etc);
    sandbox_outside("cd %s; mkdir data; echo a > data/a.csv; echo b > data/b.txt", f->directory);
    f->plan.abilities.values[ARCP__SANDBOX_ABILITY_BROKER] = 1;
    arcp__sandbox_plan *plan = use_lease(f, "{\"fs.read\":[\"@/data/*.csv\"]}");
    if (!plan->has_broker) {
        (void)fprintf(stderr, "NOT RUN: this host has no broker\n");
        arcp__sandbox_plan_free(plan);
        arcp_buf_fini(&etc);
        skip();
    }
    (void)snprintf(script, sizeof script,
                   "cd /; cat %s/data/a.csv; cat %s/data/b.txt 2>/dev/null; (echo c > "
                   "%s/data/a.csv) 2>/dev/null; (echo c > /usr/x) 2>/dev/null; exit 0",
                   f->directory, f->directory, f->directory);
    sandbox_expect(f, script, 0);
    sandbox_check_output(f, "a\n");
    assert_non_null(strstr(f->records.data, "{\"denied\":"));
    assert_non_null(strstr(f->records.data, "data/b.txt"));
    sandbox_outside("test \"$(cat %s/data/a.csv)\" = a", f->directory);
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

/* What is not there at the start is not protected, by the broker either: `git init` works. What is
 * there is protected, and the broker reports who tried. */
static void a_broker_protects_a_git_only_where_there_is_one(void **state)
{
    sandbox_fixture *f = *state;
    char script[512];
    arcp_buf etc = arcp_buf_init();
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    use_etc(f, &etc);
    f->plan.abilities.values[ARCP__SANDBOX_ABILITY_BROKER] = 1;
    arcp__sandbox_plan *plan =
        use_lease(f, "{\"fs.read\":[\"@/tree/**\"],\"fs.write\":[\"@/tree/**\"]}");
    if (!plan->has_broker) {
        (void)fprintf(stderr, "NOT RUN: this host has no broker\n");
        arcp__sandbox_plan_free(plan);
        arcp_buf_fini(&etc);
        skip();
    }
    (void)snprintf(script, sizeof script,
                   "cd %s && mkdir -p .git/hooks && echo a > .git/config && echo a > .git/hooks/h",
                   f->tree);
    sandbox_expect(f, script, 0);
    assert_null(strstr(f->records.data, "{\"denied\":"));
    assert_non_null(strstr(f->records.data, "planted"));
    (void)snprintf(script, sizeof script,
                   "cd %s && echo b > .git/HEAD && for at in config hooks/h; "
                   "do (echo b > .git/$at) 2>/dev/null && exit 1; done; exit 0",
                   f->tree);
    sandbox_expect(f, script, 0);
    assert_non_null(strstr(f->records.data, "tree/.git/hooks/h"));
    sandbox_outside("test \"$(cat %s/.git/config %s/.git/hooks/h)\" = \"$(printf 'a\\na')\"",
                    f->tree, f->tree);
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

/* Replaces the file as another program of the host, once the sandbox's program has begun. */
static pid_t replace_later(const sandbox_fixture *f)
{
    char path[512];
    char command[1024];
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0) {
        return child;
    }
    (void)snprintf(path, sizeof path, "%s/ready", f->tree);
    while (access(path, F_OK) != 0) {
        (void)usleep(1000);
    }
    (void)snprintf(command, sizeof command,
                   "cd %s && echo after >../new && mv -f ../new own.yaml && touch done", f->tree);
    _exit(system(command) == 0 ? 0 : 1); /* NOLINT(cert-env33-c,concurrency-mt-unsafe) */
}

/* Without reports the broker sees no open of a directory that is mounted, so nothing has to be
 * raced. */
static void a_file_of_the_runtime_that_is_replaced_stays_hidden_without_reports(void **state)
{
    sandbox_fixture *f = *state;
    char script[1024];
    arcp_buf etc = arcp_buf_init();
    int status = 0;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    use_etc(f, &etc);
    own_file = sandbox_path(f, "tree/own.yaml");
    sandbox_outside("echo before > %s; chmod 666 %s", own_file, own_file);
    is_silent = true;
    arcp__sandbox_plan *plan =
        use_lease(f, "{\"fs.read\":[\"@/tree/**\"],\"fs.write\":[\"@/tree/**\"]}");
    (void)snprintf(script, sizeof script,
                   "cd %s; cat own.yaml; echo >ready; while ! [ -e done ]; do sleep 0.01; done; "
                   "cat own.yaml; echo x >>own.yaml; echo x >own.yaml.1; mv ready own.yaml; "
                   "rm own.yaml; ls",
                   f->tree);
    if (plan->has_broker) {
        const pid_t child = replace_later(f);
        sandbox_run(f, script);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_null(strstr(f->output.data, "before"));
        assert_null(strstr(f->output.data, "after"));
        assert_non_null(strstr(f->output.data, "done\nready\n"));
        sandbox_outside("cd %s && test \"$(cat own.yaml)\" = after && ! test -e own.yaml.1",
                        f->tree);
    } else {
        (void)fprintf(stderr, "NOT RUN: this host has no broker\n");
    }
    own_file = NULL;
    is_silent = false;
    arcp__sandbox_plan_free(plan);
    arcp_buf_fini(&etc);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(an_empty_lease_has_a_system_and_private_directories),
        SANDBOX_TEST(a_lease_of_everything_has_the_hosts_tree_but_proc_sys_dev_and_what_is_ours),
        SANDBOX_TEST(lines_of_a_lease_are_what_the_program_can_do),
        SANDBOX_TEST(the_fresh_directory_of_a_job_is_seen_as_job),
        SANDBOX_TEST(what_a_pattern_grants_is_opened_by_the_broker),
        SANDBOX_TEST(a_broker_protects_a_git_only_where_there_is_one),
        SANDBOX_TEST(a_file_of_the_runtime_that_is_replaced_stays_hidden_without_reports),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
