/* The files with which `arcp cancel` finds a session: private, complete at any time, and used by
 * one process at a time. */
#include "support/check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "arcp/command.h"
#include "arcp/temp_tree.h"

#define URL ARCP_SPAN_LITERAL("ws://127.0.0.1:1/arcp")

static char directory[64];

static int set_up(void **state)
{
    temp_tree_make(directory, sizeof directory);
    return 0;
}

static int tear_down(void **state)
{
    return temp_tree_remove(directory);
}

static arcp_span place(void)
{
    return arcp_span_cstr(directory);
}

static arcp__session_file *new_file(const char *session, const char *token)
{
    arcp_error err = {0};
    arcp__session_file *file = arcp__session_file_new(place(), URL);
    assert_non_null(file);
    const arcp_session_state state = {arcp_span_cstr(session), arcp_span_cstr(token), 0};
    check_ok(arcp__session_file_set_session(file, &state, &err), &err);
    return file;
}

static void add_job(arcp__session_file *file, const char *job)
{
    arcp_error err = {0};
    check_ok(arcp__session_file_add_job(file, arcp_span_cstr(job), &err), &err);
}

/* Counts the names in the folder with this ending; writes the path of the last one to `path`. */
static unsigned count_files(const char *suffix, char *path, size_t room)
{
    char folder[96];
    unsigned count = 0;
    snprintf(folder, sizeof folder, "%s/sessions", directory);
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const size_t size = strlen(entry->d_name);
        if (size > strlen(suffix) && strcmp(entry->d_name + size - strlen(suffix), suffix) == 0) {
            count++;
            if (path != NULL) {
                snprintf(path, room, "%s/%s", folder, entry->d_name);
            }
        }
    }
    closedir(entries);
    return count;
}

static void check_mode(const char *path, mode_t mode)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, mode);
}

static void a_session_is_kept_from_its_first_job_on_and_for_its_owner_only(void **state)
{
    char path[512];
    arcp__session_file *file = new_file("sess_1", "rt_1");
    assert_int_equal(count_files(".json", NULL, 0), 0);
    add_job(file, "job_1");
    assert_int_equal(count_files(".json", path, sizeof path), 1);
    check_mode(path, 0600);
    snprintf(path, sizeof path, "%s/sessions", directory);
    check_mode(path, 0700);
    arcp__session_file_free(file);
}

static void a_session_is_found_by_its_job_and_url(void **state)
{
    arcp_error err = {0};
    arcp__session_file *found = NULL;
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    add_job(file, "job_\"2\"");
    check_ok(arcp__session_file_set_seq(file, 41, &err), &err);
    arcp__session_file_free(file);

    check_ok(arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_\"2\""), &found, &err),
             &err);
    const arcp_session_state saved = arcp__session_file_state(found);
    check_span(saved.session_id, "sess_1");
    check_span(saved.resume_token, "rt_1");
    assert_int_equal(saved.last_event_seq, 41);
    arcp__session_file_free(found);

    assert_int_equal(
        arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_3"), &found, &err),
        ARCP_E_NOT_FOUND);
    assert_int_equal(arcp__session_file_find(place(), ARCP_SPAN_LITERAL("ws://other"),
                                             ARCP_SPAN_LITERAL("job_1"), &found, &err),
                     ARCP_E_NOT_FOUND);
}

/* Names are times in milliseconds. */
static void pass_a_millisecond(void)
{
    struct timespec now;
    struct timespec then;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &then), 0);
    do {
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    } while (now.tv_sec == then.tv_sec && now.tv_nsec / 1000000 == then.tv_nsec / 1000000);
}

static void the_youngest_of_several_is_found(void **state)
{
    arcp_error err = {0};
    arcp__session_file *found = NULL;
    for (int age = 0; age < 5; age++) {
        char session[32];
        snprintf(session, sizeof session, "sess_%d", age);
        arcp__session_file *file = new_file(session, "t");
        add_job(file, "job_1");
        arcp__session_file_free(file);
        pass_a_millisecond();
    }
    check_ok(arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &found, &err), &err);
    check_span(arcp__session_file_state(found).session_id, "sess_4");
    arcp__session_file_free(found);
}

static void a_new_token_of_another_process_is_read(void **state)
{
    arcp_error err = {0};
    arcp__session_file *other = NULL;
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    check_ok(arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &other, &err), &err);
    const arcp_session_state newer = {ARCP_SPAN_LITERAL("sess_1"), ARCP_SPAN_LITERAL("rt_2"), 0};
    check_ok(arcp__session_file_set_session(other, &newer, &err), &err);
    check_ok(arcp__session_file_reload(file, &err), &err);
    check_span(arcp__session_file_state(file).resume_token, "rt_2");
    arcp__session_file_free(other);
    arcp__session_file_free(file);
}

static void numbers_never_go_back(void **state)
{
    arcp_error err = {0};
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    check_ok(arcp__session_file_set_seq(file, 7, &err), &err);
    check_ok(arcp__session_file_set_seq(file, 3, &err), &err);
    assert_int_equal(arcp__session_file_state(file).last_event_seq, 7);
    arcp__session_file_free(file);
}

static void the_lock_keeps_other_processes_out(void **state)
{
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    assert_true(arcp__session_file_lock(file));
    assert_true(arcp__session_file_lock(file));
    const pid_t child = fork();
    if (child == 0) {
        arcp__session_file *mine = NULL;
        const bool ok = arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &mine,
                                                NULL) == ARCP_OK &&
                        !arcp__session_file_lock(mine);
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    arcp__session_file_unlock(file);
    arcp__session_file *other = NULL;
    arcp_error err = {0};
    check_ok(arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &other, &err), &err);
    assert_true(arcp__session_file_lock(other));
    assert_false(arcp__session_file_lock(file));
    arcp__session_file_free(other);
    assert_true(arcp__session_file_lock(file));
    arcp__session_file_free(file);
}

static void a_finished_session_leaves_nothing(void **state)
{
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    assert_true(arcp__session_file_lock(file));
    arcp__session_file_remove(file);
    assert_int_equal(count_files("", NULL, 0), 2); /* . and .. */
    arcp__session_file_free(file);
}

static void damaged_files_are_passed_over(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"url\":\"ws://127.0.0.1:1/arcp\",\"jobs\":[\"job_1\"]}",
        "{\"url\":\"ws://127.0.0.1:1/arcp\",\"session_id\":\"\",\"resume_token\":\"x\","
        "\"last_event_seq\":0,\"jobs\":[\"job_1\"]}",
        "{\"url\":\"ws://127.0.0.1:1/arcp\",\"session_id\":\"s\",\"resume_token\":\"x\","
        "\"last_event_seq\":-1,\"jobs\":[\"job_1\"]}",
    };
    char path[512];
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    assert_int_equal(count_files(".json", path, sizeof path), 1);
    for (size_t row = 0; row < sizeof texts / sizeof texts[0]; row++) {
        arcp__session_file *found = NULL;
        arcp_error err = {0};
        FILE *out = fopen(path, "we");
        assert_non_null(out);
        assert_true(fputs(texts[row], out) >= 0);
        fclose(out);
        assert_int_equal(
            arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &found, &err),
            ARCP_E_NOT_FOUND);
    }
    arcp__session_file_free(file);
}

static void a_symbolic_link_is_not_followed(void **state)
{
    char path[512];
    char moved[600];
    arcp__session_file *found = NULL;
    arcp_error err = {0};
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    arcp__session_file_free(file);
    assert_int_equal(count_files(".json", path, sizeof path), 1);
    snprintf(moved, sizeof moved, "%s/elsewhere", directory);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(
        arcp__session_file_find(place(), URL, ARCP_SPAN_LITERAL("job_1"), &found, &err),
        ARCP_E_NOT_FOUND);
}

static void old_files_are_swept_and_young_ones_stay(void **state)
{
    char path[512];
    arcp__session_file *file = new_file("sess_1", "rt_1");
    add_job(file, "job_1");
    arcp__session_file_free(file);
    assert_int_equal(count_files(".json", path, sizeof path), 1);
    arcp__session_file_sweep(place(), 3600);
    assert_int_equal(count_files(".json", NULL, 0), 1);
    const struct utimbuf old = {1000, 1000};
    assert_int_equal(utime(path, &old), 0);
    arcp__session_file_sweep(place(), 3600);
    assert_int_equal(count_files(".json", NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_session_is_kept_from_its_first_job_on_and_for_its_owner_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_session_is_found_by_its_job_and_url, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_youngest_of_several_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_token_of_another_process_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_never_go_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_lock_keeps_other_processes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_finished_session_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_symbolic_link_is_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_files_are_swept_and_young_ones_stay, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
