/* Processes that outlived the run that started them, and their work directories: both are cleaned
 * up when a table is created and freed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#include "launch/proc_stat.h"
#include "process/process.h"
#include "process/work_directory.h"
#include "support/process_support.h"

static char base[64];
static size_t descriptors;

static int set_up(void **state)
{
    (void)state;
    make_temporary(base);
    descriptors = open_descriptors();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_temporary(base);
    assert_int_equal(open_descriptors(), descriptors);
    return 0;
}

/* ---- notes ---- */

static void a_note_is_read_as_it_was_written(void **state)
{
    (void)state;
    arcp__orphan before;
    arcp__orphan after;
    char text[ARCP__ORPHAN_TEXT_SIZE];
    assert_true(arcp__orphan_identify(getpid(), &before));
    const size_t size = arcp__orphan_format(&before, text);
    assert_true(arcp__orphan_parse(arcp_span_make(text, size), &after));
    assert_int_equal(after.pid, before.pid);
    assert_int_equal(after.started, before.started);
    assert_string_equal(after.boot, before.boot);
}

static void a_file_that_is_not_a_note_is_refused(void **state)
{
    (void)state;
#define BOOT "01234567-89ab-cdef-0123-456789abcdef\n"
    static const struct {
        const char *text;
        bool is_note;
    } rows[] = {
        {"2 0 " BOOT, true},
        {"2147483647 18446744073709551615 " BOOT, true},
        {"2147483648 1 " BOOT, false},
        {"2 18446744073709551616 " BOOT, false},
        {"1 1 " BOOT, false}, /* never the first process */
        {"0 1 " BOOT, false},
        {"-2 1 " BOOT, false},
        {"+2 1 " BOOT, false},
        {" 2 1 " BOOT, false},
        {"2  1 " BOOT, false},
        {"\"2\" 1 " BOOT, false},
        {"2 " BOOT, false},
        {"2 1 short\n", false},
        {"2 1 " BOOT "x", false},
        {"2 1 01234567-89ab-cdef-0123-456789abcdef", false}, /* truncated */
        {"2 1 ", false},
        {"2 1", false},
        {"2", false},
        {"{}\n", false},
        {"", false},
    };
#undef BOOT
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__orphan orphan;
        if (arcp__orphan_parse(arcp_span_cstr(rows[i].text), &orphan) != rows[i].is_note) {
            fail_msg("%s", rows[i].text);
        }
    }
}

/* ---- killing orphans ---- */

/* A process in a group of its own that waits, and has a child there that waits too. It
 * works in `directory` (NULL: here) and has `variable` (NULL: none). */
typedef struct couple {
    pid_t leader;
    pid_t member;
} couple;

static couple start_couple(const char *directory, const char *variable)
{
    int report[2];
    couple made = {0, 0};
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    made.leader = fork();
    if (made.leader == 0) {
        const char *const environment[] = {variable, NULL};
        (void)setpgid(0, 0);
        if ((directory == NULL || chdir(directory) == 0) && dup2(report[1], 1) == 1) {
            (void)execle("/bin/sh", "sh", "-c", "sleep 1000 & echo $!; wait", NULL, environment);
        }
        _exit(127);
    }
    (void)close(report[1]);
    char text[16] = "";
    assert_true(read(report[0], text, sizeof text - 1) > 0);
    (void)close(report[0]);
    made.member = number_in(text);
    assert_true(made.member > 0);
    return made;
}

static bool runs(pid_t pid)
{
    arcp__proc_stat found;
    return arcp__proc_stat_read(pid, &found) && found.state != 'Z';
}

static void end_couple(couple made)
{
    const int watched = watch_process(made.member);
    (void)kill(made.leader, SIGKILL);
    (void)kill(made.member, SIGKILL);
    wait_for_watched(watched);
    (void)waitpid(made.leader, NULL, 0);
}

static void only_exactly_the_noted_process_is_killed(void **state)
{
    (void)state;
    arcp__orphan orphan;
    const couple made = start_couple(NULL, NULL);
    assert_true(arcp__orphan_identify(made.leader, &orphan));
    arcp__orphan earlier = orphan;
    arcp__orphan later = orphan;
    arcp__orphan other_boot = orphan;
    arcp__orphan nobody = orphan;
    earlier.started--;
    later.started++;
    other_boot.boot[0] = orphan.boot[0] == 'f' ? 'e' : 'f';
    nobody.pid = 0x7ffffff0;
    const arcp__orphan wrong[] = {earlier, later, other_boot, nobody};
    assert_int_equal(arcp__orphan_kill(wrong, 4, arcp_span_make(NULL, 0)), 0);
    assert_int_equal(arcp__orphan_kill(NULL, 0, arcp_span_make(NULL, 0)), 0);
    assert_true(runs(made.leader) && runs(made.member));
    const int watched = watch_process(made.member);
    assert_int_equal(arcp__orphan_kill(&orphan, 1, arcp_span_make(NULL, 0)), 1);
    wait_for_watched(watched); /* killed with its group */
    assert_int_equal(waitpid(made.leader, NULL, 0), made.leader);
}

static void members_of_a_group_without_its_first_are_killed_when_they_are_marked(void **state)
{
    (void)state;
    char other[128];
    (void)snprintf(other, sizeof other, "%sx", base); /* another directory with the same prefix */
    assert_int_equal(mkdir(other, 0700), 0);
    const struct {
        const char *name;
        const char *cwd;
        const char *variable;
        int64_t started; /* added to what is noted */
        bool is_killed;
    } rows[] = {
        {"no mark", NULL, NULL, 0, false},
        {"directory", base, NULL, 0, true},
        {"another directory", other, NULL, 0, false},
        {"variable", NULL, "ARCP_JOB_ID=job_1", 0, true},
        {"another variable", NULL, "ARCP_JOB_IDX=job_1", 0, false},
        {"older than the noted", base, "ARCP_JOB_ID=job_1", 1000000, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__orphan orphan;
        const couple made = start_couple(rows[i].cwd, rows[i].variable);
        assert_true(arcp__orphan_identify(made.leader, &orphan));
        orphan.started += (uint64_t)rows[i].started;
        assert_int_equal(kill(made.leader, SIGKILL), 0);
        assert_int_equal(waitpid(made.leader, NULL, 0), made.leader);
        const int watched = watch_process(made.member);
        const size_t killed = arcp__orphan_kill(&orphan, 1, arcp_span_cstr(base));
        if (killed != (rows[i].is_killed ? 1 : 0)) {
            fail_msg("%s: %zu", rows[i].name, killed);
        }
        if (!rows[i].is_killed) {
            assert_true(runs(made.member));
            assert_int_equal(kill(made.member, SIGKILL), 0);
        }
        wait_for_watched(watched);
    }
    assert_int_equal(rmdir(other), 0);
}

/* ---- runs and their directories ---- */

static size_t count_in(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return (size_t)about.st_nlink - 2; /* directories in it */
}

static void a_run_has_a_directory_that_others_pass_through_and_cannot_list(void **state)
{
    (void)state;
    arcp__work_directory *run = NULL;
    arcp_error error = {0};
    struct stat about;
    size_t killed = 99;
    check_ok(arcp__work_directory_open(base, &run, &killed, &error), &error);
    assert_int_equal(killed, 0);
    const char *path = arcp__work_directory_path(run);
    assert_int_equal(strncmp(path, base, strlen(base)), 0);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0711);
    arcp__work_directory_close(run);
    assert_int_equal(count_in(base), 0);
}

static void runs_in_one_base_directory_do_not_touch_each_other(void **state)
{
    (void)state;
    arcp__work_directory *first = NULL;
    arcp__work_directory *second = NULL;
    arcp_error error = {0};
    char job[256];
    size_t killed = 0;
    const couple made = start_couple(base, NULL);
    check_ok(arcp__work_directory_open(base, &first, NULL, &error), &error);
    (void)snprintf(job, sizeof job, "%s/job", arcp__work_directory_path(first));
    check_ok(arcp__directory_make(job, NULL, &error), &error);
    arcp__work_directory_note(first, made.leader);
    check_ok(arcp__work_directory_open(base, &second, &killed, &error), &error);
    assert_int_equal(killed, 0);
    assert_true(runs(made.leader));
    assert_int_equal(access(job, F_OK), 0);
    arcp__work_directory_forget(first, made.leader);
    arcp__work_directory_close(first);
    arcp__work_directory_close(second);
    end_couple(made);
}

static void the_next_run_cleans_up_after_a_killed_run(void **state)
{
    (void)state;
    arcp__work_directory *run = NULL;
    arcp_error error = {0};
    size_t killed = 0;
    const couple made = start_couple(NULL, NULL);
    const int watched = watch_process(made.member);
    const pid_t daemon = fork();
    if (daemon == 0) {
        char job[256];
        if (arcp__work_directory_open(base, &run, NULL, NULL) == ARCP_OK) {
            (void)snprintf(job, sizeof job, "%s/job", arcp__work_directory_path(run));
            if (arcp__directory_make(job, NULL, NULL) == ARCP_OK) {
                arcp__work_directory_note(run, made.leader);
            }
        }
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(daemon, NULL, 0), daemon);
    assert_int_equal(count_in(base), 1);
    check_ok(arcp__work_directory_open(base, &run, &killed, &error), &error);
    assert_int_equal(killed, 1);
    assert_int_equal(count_in(base), 1); /* the new one */
    wait_for_watched(watched);
    assert_int_equal(waitpid(made.leader, NULL, 0), made.leader);
    arcp__work_directory_close(run);
}

static void invalid_notes_are_ignored(void **state)
{
    (void)state;
    arcp__work_directory *run = NULL;
    arcp_error error = {0};
    char path[256];
    char note[300];
    size_t killed = 1;
    (void)snprintf(path, sizeof path, "%s/run-left", base);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(note, sizeof note, "%s/process-7", path);
    assert_int_equal(mkfifo(note, 0600), 0); /* opening it must not wait */
    (void)snprintf(note, sizeof note, "%s/process-8", path);
    assert_int_equal(symlink("/etc/passwd", note), 0);
    (void)snprintf(note, sizeof note, "%s/process-9", path);
    FILE *file = fopen(note, "we");
    (void)fputs("17 98765 01234567", file);
    (void)fclose(file);
    (void)snprintf(note, sizeof note, "%s/not-a-run", base);
    assert_int_equal(mkdir(note, 0700), 0);
    check_ok(arcp__work_directory_open(base, &run, &killed, &error), &error);
    assert_int_equal(killed, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(note, F_OK), 0); /* of another process */
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    arcp__work_directory_close(run);
}

static void an_unusable_base_directory_is_reported(void **state)
{
    (void)state;
    arcp__work_directory *run = NULL;
    arcp_error error = {0};
    char deep[128];
    assert_int_equal(arcp__work_directory_open("/no/such/base", &run, NULL, &error), ARCP_E_IO);
    assert_non_null(strstr(error.message, "/no/such/base"));
    assert_int_equal(arcp__work_directory_open("/dev/null", &run, NULL, &error), ARCP_E_IO);
    (void)snprintf(deep, sizeof deep, "%s/made", base); /* one level is made */
    check_ok(arcp__work_directory_open(deep, &run, NULL, &error), &error);
    arcp__work_directory_close(run);
}

/* ---- removing ---- */

static void a_tree_is_removed_with_any_content(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "mkdir t",
        "mkdir -p t/a/b/c && touch t/f t/a/f t/a/b/f && mkfifo t/p",
        "mkdir t && touch t/f && chmod 0500 t",
        "mkdir -p t/a/b && touch t/a/b/f && chmod 0 t/a/b t/a",
        "mkdir -p t outside && touch outside/f && ln -s ../outside t/l && ln -s / t/root",
        "mkdir t && cd t && for i in $(seq 300); do mkdir d && cd d && touch f; done",
        "mkdir t && i=0 && while [ $i -lt 500 ]; do : > t/$i; i=$((i+1)); done",
        "mkdir -p t/.deep-0/x t/.hidden && touch t/.deep-0/x/f",
    };
    char tree[128];
    char outside[128];
    (void)snprintf(tree, sizeof tree, "%s/t", base);
    (void)snprintf(outside, sizeof outside, "%s/outside/f", base);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command, "cd %s && %s", base, rows[i]);
        run_shell(command);
        arcp__directory_remove(tree);
        if (access(tree, F_OK) == 0) {
            fail_msg("is still there: %s", rows[i]);
        }
    }
    assert_int_equal(access(outside, F_OK), 0);
}

static void a_link_in_place_of_a_directory_is_not_followed(void **state)
{
    (void)state;
    char command[256];
    char path[128];
    (void)snprintf(command, sizeof command, "cd %s && mkdir kept && touch kept/f && ln -s kept l",
                   base);
    run_shell(command);
    (void)snprintf(path, sizeof path, "%s/l", base);
    arcp__directory_remove(path);
    (void)snprintf(path, sizeof path, "%s/kept/f", base);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_directory_for_a_user_is_accessible_to_that_user_only(void **state)
{
    (void)state;
    arcp_error error = {0};
    struct stat about;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/d", base);
    assert_int_equal(arcp__directory_make(path, "no-such-user", &error), ARCP_E_USAGE);
    assert_int_equal(access(path, F_OK), -1);
    if (geteuid() == 0) {
        check_ok(arcp__directory_make(path, "nobody", &error), &error);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 07777, 0700);
        assert_int_not_equal(about.st_uid, 0);
        assert_int_equal(arcp__directory_make(path, NULL, &error), ARCP_E_IO); /* it exists */
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_note_is_read_as_it_was_written),
        TEST(a_file_that_is_not_a_note_is_refused),
        TEST(only_exactly_the_noted_process_is_killed),
        TEST(members_of_a_group_without_its_first_are_killed_when_they_are_marked),
        TEST(a_run_has_a_directory_that_others_pass_through_and_cannot_list),
        TEST(runs_in_one_base_directory_do_not_touch_each_other),
        TEST(the_next_run_cleans_up_after_a_killed_run),
        TEST(invalid_notes_are_ignored),
        TEST(an_unusable_base_directory_is_reported),
        TEST(a_tree_is_removed_with_any_content),
        TEST(a_link_in_place_of_a_directory_is_not_followed),
        TEST(a_directory_for_a_user_is_accessible_to_that_user_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
