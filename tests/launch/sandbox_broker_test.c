/* A program in a sandbox with a broker: what patterns grant, and what is reported. */
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/sandbox_fixture.h"

static arcp_span reads[8], writes[8];

static arcp_span pattern(sandbox_fixture *f, const char *name)
{
    return arcp_span_cstr(sandbox_path(f, name));
}

/* Takes a private directory away: the tests' own lies below /tmp. */
static void drop_private(sandbox_fixture *f, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->plan.mount_count; i++) {
        if (!arcp_span_equal_cstr(f->mounts[i].target, path)) {
            f->mounts[kept++] = f->mounts[i];
        }
    }
    f->plan.mount_count = kept;
    kept = 0;
    for (size_t i = 0; i < f->plan.rule_count; i++) {
        if (!arcp_span_equal_cstr(f->rules[i].path, path)) {
            f->rules[kept++] = f->rules[i];
        }
    }
    f->plan.rule_count = kept;
}

/* data/ *.csv are read, out/ *.log read and written; the tree is read and written. */
static void use_broker_below_private(sandbox_fixture *f)
{
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    if (!arcp__sandbox_has_broker(sandbox_abilities())) {
        (void)fputs("NOT RUN: no broker on this host\n", stderr);
        skip();
    }
    reads[0] = pattern(f, "data/*.csv");
    reads[1] = pattern(f, "out/*.log");
    reads[2] = pattern(f, "tree/**");
    writes[0] = pattern(f, "out/*.log");
    writes[1] = pattern(f, "tree/**");
    f->plan.has_broker = true;
    f->plan.reads = reads;
    f->plan.read_count = 3;
    f->plan.writes = writes;
    f->plan.write_count = 2;
    sandbox_outside(
        "cd %s && mkdir data out outside && echo a >data/a.csv && echo b >data/b.csv && "
        "echo secret >data/secret.txt && echo secret >outside/key && "
        "ln -s ../outside/key data/out.csv && ln -s ../outside/key tree/out && "
        "echo old >out/old.log && echo tree >tree/file && chmod -R a+rwX .",
        f->directory);
}

static void use_broker(sandbox_fixture *f)
{
    use_broker_below_private(f);
    drop_private(f, "/tmp");
}

/* Fails unless a denial of the capability and the name was reported. */
static void check_denied(const sandbox_fixture *f, const char *capability, const char *name)
{
    char want[512];
    (void)snprintf(want, sizeof want, "{\"denied\":{\"capability\":\"%s\",\"target\":\"%s\",",
                   capability, name);
    if (strstr(f->records.data, want) == NULL) {
        fail_msg("no %s in %s", want, f->records.data);
    }
}

static void check_no_denial(const sandbox_fixture *f)
{
    char below[128]; /* the plan of the tests has no /etc, which is denied */
    (void)snprintf(below, sizeof below, "\"target\":\"%s/", f->directory);
    if (strstr(f->records.data, below) != NULL) {
        fail_msg("%s", f->records.data);
    }
}

static void a_pattern_is_read_listed_and_written(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    sandbox_expect(f,
                   "cd ../data && cat a.csv b.csv && ls && cd ../out && echo new >new.log && "
                   "echo more >>old.log && cat *.log && mv old.log moved.log && ls && "
                   "rm moved.log && ls -l new.log | cut -c1-10",
                   0);
    sandbox_check_output(f, "a\nb\na.csv\nb.csv\nout.csv\nnew\nold\nmore\nmoved.log\nnew.log\n"
                            "-rw-r--r--\n");
    check_no_denial(f);
    sandbox_outside("cd %s/out && test \"$(cat new.log)\" = new && test ! -e old.log",
                    f->directory);
}

static void what_is_not_granted_is_denied_and_reported(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    sandbox_expect(f,
                   "for name in data/secret.txt outside/key data/out.csv tree/out outside/none "
                   "outside; do cat ../$name 2>&1 >/dev/null | sed 's/.*: //'; done;"
                   "echo x 2>&1 >../data/a.csv | sed 's/.*: //';"
                   "mkdir ../outside/new 2>&1 | sed 's/.*: //'",
                   0);
    sandbox_check_output(f, "Permission denied\nPermission denied\nPermission denied\n"
                            "Permission denied\nNo such file or directory\nPermission denied\n"
                            "Permission denied\nPermission denied\n");
    check_denied(f, "fs.read", sandbox_path(f, "data/secret.txt"));
    check_denied(f, "fs.read", sandbox_path(f, "outside/key"));
    check_denied(f, "fs.read", sandbox_path(f, "outside"));
    check_denied(f, "fs.write", sandbox_path(f, "data/a.csv"));
    check_denied(f, "fs.write", sandbox_path(f, "outside/new"));
    assert_null(strstr(f->records.data, "outside/none"));
    assert_non_null(strstr(f->records.data, "\"program\":\"cat\""));
}

static void a_pattern_below_a_private_directory_is_of_the_host(void **state)
{
    sandbox_fixture *f = *state;
    use_broker_below_private(f);
    sandbox_outside("echo host >%s/outside/host.log", f->directory);
    sandbox_expect(f,
                   "cat ../data/a.csv && echo private >../data/private && cat ../data/private && "
                   "echo new >../out/new.log && ls ../data ../out && cat ../data/secret.txt",
                   1);
    assert_non_null(strstr(f->output.data,
                           "a\nprivate\n../data:\na.csv\nb.csv\nout.csv\nprivate\n\n"
                           "../out:\nnew.log\nold.log\n"));
    assert_non_null(strstr(f->output.data, "secret.txt: No such file or directory"));
    check_denied(f, "fs.read", sandbox_path(f, "data/secret.txt"));
    sandbox_outside("cd %s && test \"$(cat out/new.log)\" = new && test ! -e data/private",
                    f->directory);
}

static void a_wide_pattern_leaves_private_directories_alone(void **state)
{
    sandbox_fixture *f = *state;
    use_broker_below_private(f);
    reads[0] = ARCP_SPAN_LITERAL("/**/*.csv");
    f->plan.read_count = 1;
    f->plan.write_count = 0;
    sandbox_expect(
        f,
        "cd /tmp && echo private >own.csv && cat own.csv && mkdir d && echo x >d/x.csv && "
        "ls d && rm own.csv && ls /home/agent",
        0);
    sandbox_check_output(f, "private\nx.csv\n");
    assert_null(strstr(f->records.data, "own.csv"));
}

static void names_below_a_listing_are_those_of_the_directory(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    char script[512];
    (void)snprintf(
        script, sizeof script,
        "cd / && find %s -name '*.csv' -o -name file -o -name '*.log' -o -name key | sort && "
        "grep -r -h tree %s/tree; ls -l %s | cut -c1 | tr -d '\n'",
        f->directory, f->directory, f->directory);
    sandbox_run(f, script);
    char want[1024];
    (void)snprintf(want, sizeof want,
                   "%s/data/a.csv\n%s/data/b.csv\n%s/data/out.csv\n%s/out/old.log\n%s/tree/file\n"
                   "tree\ntddd",
                   f->directory, f->directory, f->directory, f->directory, f->directory);
    sandbox_check_output(f, want);
}

static void a_plan_of_trees_reports_denials_too(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    f->plan.reads = reads + 2;
    f->plan.read_count = 1;
    f->plan.writes = writes + 1;
    f->plan.write_count = 1;
    sandbox_expect(
        f,
        "cat file && echo new >new && cat ../outside/key /etc/shadow; cat ../outside/none "
        "/home/agent/.netrc; ls / /home && echo x >/home/agent/x && cat /home/agent/x",
        0);
    check_denied(f, "fs.read", sandbox_path(f, "outside/key"));
    assert_null(strstr(f->records.data, "none"));
    assert_non_null(strstr(f->output.data, "home"));
}

/* The kernel decides the same, and its answers are not reported. */
static void a_silent_plan_of_trees_reports_nothing(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    f->plan.is_silent = true;
    f->plan.reads = reads + 2;
    f->plan.read_count = 1;
    f->plan.writes = writes + 1;
    f->plan.write_count = 1;
    sandbox_expect(f,
                   "cat file && echo new >new && cat ../outside/key /etc/shadow out; "
                   "echo x >/usr/new; echo x >../outside/new; exit 5",
                   5);
    assert_null(strstr(f->output.data, "secret"));
    assert_null(strstr(f->records.data, "denied"));
    sandbox_outside("grep -q new %s/tree/new && test ! -e %s/outside/new", f->directory,
                    f->directory);
}

static void a_silent_plan_with_a_pattern_has_its_broker(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    f->plan.is_silent = true;
    sandbox_expect(f, "cat ../data/a.csv && cat ../outside/key 2>/dev/null; exit 5", 5);
    sandbox_check_output(f, "a\n");
    check_denied(f, "fs.read", sandbox_path(f, "outside/key"));
}

static void what_is_hidden_does_not_exist(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    f->plan.hides = true;
    sandbox_expect(
        f,
        "cat ../outside/key 2>&1 | grep -q 'No such file' || exit 1; "
        "cat ../data/secret.txt 2>&1 | grep -q 'No such file' || exit 2; "
        "(echo x >../outside/new) 2>&1 | grep -qi 'no such file\\|nonexistent' || exit 3; "
        "cat ../data/a.csv file",
        0);
    sandbox_check_output(f, "a\ntree\n");
    check_denied(f, "fs.read", sandbox_path(f, "outside/key"));
    check_denied(f, "fs.read", sandbox_path(f, "data/secret.txt"));
}

static void descriptors_that_are_given_do_not_change_the_file(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    sandbox_outside("chmod 640 %s/data/a.csv", f->directory);
    sandbox_outside("chown %u %s/data/a.csv", (unsigned)getuid(), f->directory);
    sandbox_expect(
        f, "chmod 777 /proc/self/fd/3 3<../data/a.csv; touch /proc/self/fd/3 3<../data/a.csv", 1);
    assert_non_null(strstr(f->output.data, "Read-only file system"));
    struct stat about;
    assert_int_equal(stat(sandbox_path(f, "data/a.csv"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void the_directory_of_a_view_leads_nowhere(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    sandbox_expect(f,
                   "cat /proc/self/fd/3/../outside/key 3<../data; stat /proc/self/fd/3/../outside "
                   "3<../data; stat /proc/self/fd/3/../../outside/key 3<../data; "
                   "chmod 777 /proc/self/fd/3/../outside/key 3<../data",
                   1);
    assert_null(strstr(f->output.data, "secret"));
    assert_null(strstr(f->output.data, "Size"));
}

/* ---- sockets ---- */

static const char python[] = "import socket\n"
                             "def at(path):\n"
                             "    one = socket.socket(socket.AF_UNIX)\n"
                             "    try:\n"
                             "        one.connect(path)\n"
                             "        return 'connected'\n"
                             "    except OSError as error:\n"
                             "        return error.strerror\n"
                             "own = []\n"
                             "for path in ('/home/agent/own', 'own', '\\0own'):\n"
                             "    own.append(socket.socket(socket.AF_UNIX))\n"
                             "    own[-1].bind(path)\n"
                             "    own[-1].listen()\n"
                             "    print(at(path))\n"
                             "print(at('host'))\n"
                             "server = socket.create_server(('127.0.0.1', 0))\n"
                             "socket.create_connection(server.getsockname())\n"
                             "a, b = socket.socketpair()\n"
                             "a.send(b'pair')\n"
                             "print(b.recv(4).decode())\n";

static void own_sockets_are_connected_and_the_hosts_are_not(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int host = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", sandbox_path(f, "tree/host"));
    assert_int_equal(bind(host, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(host, 8), 0);
    sandbox_outside("chmod 777 %s/tree/host; cat >%s/tree/program.py <<'END'\n%sEND\n",
                    f->directory, f->directory, python);
    sandbox_expect(f, "/usr/bin/python3 program.py", 0);
    /* In a granted directory of a tmpfs of the host, own sockets cannot be distinguished from its.
     */
    struct statfs about;
    assert_int_equal(statfs(f->directory, &about), 0);
    sandbox_check_output(f,
                         about.f_type == TMPFS_MAGIC
                             ? "connected\nPermission denied\nconnected\nPermission denied\npair\n"
                             : "connected\nconnected\nconnected\nPermission denied\npair\n");
    check_denied(f, "connect", sandbox_path(f, "tree/host"));
    (void)close(host);
}

/* ---- limits of what is reported ---- */

static void the_records_of_a_flood_end_with_a_count(void **state)
{
    sandbox_fixture *f = *state;
    use_broker(f);
    sandbox_outside("cd %s/outside && for i in $(seq 1100); do : >$i; done && chmod -R a+rX .",
                    f->directory);
    sandbox_expect(f, "for i in $(seq 1100) 1; do true <../outside/$i; done 2>/dev/null; exit 0",
                   0);
    size_t count = 0;
    for (const char *at = f->records.data; (at = strstr(at, "\"fs.read\"")) != NULL; at++) {
        count++;
    }
    assert_in_range(count, 1024, 2048);
    /* Some of the 1 024 are others' (the plan of the tests has no /etc). */
    const char *rest = strstr(f->records.data, "{\"capability\":\"\",\"target\":\"\",\"count\":");
    assert_non_null(rest);
    assert_in_range(strtol(strrchr(rest, ':') + 1, NULL, 10), 76, 99);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !sandbox_use_user(argv[1])) {
        (void)printf("NOT RUN: not as %s\n", argv[1]);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        SANDBOX_TEST(a_pattern_is_read_listed_and_written),
        SANDBOX_TEST(what_is_not_granted_is_denied_and_reported),
        SANDBOX_TEST(a_pattern_below_a_private_directory_is_of_the_host),
        SANDBOX_TEST(a_wide_pattern_leaves_private_directories_alone),
        SANDBOX_TEST(names_below_a_listing_are_those_of_the_directory),
        SANDBOX_TEST(a_plan_of_trees_reports_denials_too),
        SANDBOX_TEST(a_silent_plan_of_trees_reports_nothing),
        SANDBOX_TEST(a_silent_plan_with_a_pattern_has_its_broker),
        SANDBOX_TEST(what_is_hidden_does_not_exist),
        SANDBOX_TEST(descriptors_that_are_given_do_not_change_the_file),
        SANDBOX_TEST(the_directory_of_a_view_leads_nowhere),
        SANDBOX_TEST(own_sockets_are_connected_and_the_hosts_are_not),
        SANDBOX_TEST(the_records_of_a_flood_end_with_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
