/* The names of the files by which a worker and a runtime find each other. */
#include "support/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "worker/worker_core.h"
#include "worker/worker_place.h"

#define ID_63 "012345678901234567890123456789012345678901234567890123456789012"

typedef struct socket_row {
    const char *name;
    const char *store; /* NULL: it is no socket of a worker */
} socket_row;

static const socket_row socket_rows[] = {
    {"worker-01STORE.sock", "01STORE"},
    {"worker-a_b-C.sock", "a_b-C"},
    {"worker-" ID_63 ".sock", ID_63},
    {"worker-" ID_63 "x.sock", NULL},
    {"worker-.sock", NULL},
    {"worker-a.lock", NULL},
    {"worker-a.b.sock", NULL},
    {"worker-a.sock.new", NULL},
    {"arcpd.sock", NULL},
    {"", NULL},
};

static void a_socket_names_its_store(void **state)
{
    const socket_row *row = *state;
    char store[ARCP__WORKER_ID_MAX + 1];
    char path[PATH_MAX];
    char wanted[PATH_MAX];
    assert_int_equal(arcp__worker_store_of(row->name, store), row->store != NULL);
    if (row->store != NULL) {
        assert_string_equal(store, row->store);
        assert_true(arcp__worker_socket_path("/state", store, path));
        (void)snprintf(wanted, sizeof wanted, "/state/%s", row->name);
        assert_string_equal(path, wanted);
    }
}

typedef struct lock_row {
    const char *name;
    const char *instance; /* of a life; NULL: it is none of the store "a" */
} lock_row;

static const lock_row lock_rows[] = {
    {"worker-a.0f.lock", "0f"},
    {"worker-a.x.y.lock", "x.y"},
    {"worker-a." ID_63 ".lock", ID_63},
    {"worker-a." ID_63 "x.lock", NULL},
    {"worker-a..lock", NULL},
    {"worker-a.lock", NULL},
    {"worker-b.0f.lock", NULL},
    {"worker-aa.0f.lock", NULL},
    {"worker-a.0f.sock", NULL},
    {"arcpd.a.0f.lock", NULL},
    {"", NULL},
};

static void a_lock_names_its_instance(void **state)
{
    const lock_row *row = *state;
    char instance[ARCP__WORKER_ID_MAX + 1];
    char path[PATH_MAX];
    char wanted[PATH_MAX];
    assert_int_equal(arcp__worker_instance_of(row->name, "a", instance), row->instance != NULL);
    if (row->instance != NULL) {
        assert_true(arcp__worker_lock_path("/state", "a", row->instance, path));
        (void)snprintf(wanted, sizeof wanted, "/state/%s", row->name);
        assert_string_equal(path, wanted);
    }
}

static void a_worker_without_others_has_a_lock_without_an_instance(void **state)
{
    char path[PATH_MAX];
    (void)state;
    assert_true(arcp__worker_lock_path("/state", "a", "", path));
    assert_string_equal(path, "/state/worker-a.lock");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void another_file_in_its_place_is_another_program(void **state)
{
    char path[] = "/tmp/arcp-program-XXXXXX";
    char fresh[sizeof path + 4];
    char first[ARCP__WORKER_ID_MAX + 1];
    char second[ARCP__WORKER_ID_MAX + 1];
    (void)state;
    assert_true(close(mkstemp(path)) == 0);
    arcp__worker_program_id(path, first);
    arcp__worker_program_id(path, second);
    assert_string_equal(first, second);
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    write_file(fresh, "");
    assert_int_equal(rename(fresh, path), 0);
    arcp__worker_program_id(path, second);
    assert_string_not_equal(first, second);
    assert_int_equal(unlink(path), 0);
    arcp__worker_program_id(path, second);
    assert_string_equal(second, "");
}

static void an_id_cannot_leave_its_directory(void **state)
{
    (void)state;
    assert_true(arcp__worker_is_store("a"));
    assert_true(arcp__worker_is_store(ID_63));
    assert_false(arcp__worker_is_store(ID_63 "x"));
    assert_false(arcp__worker_is_store(""));
    assert_false(arcp__worker_is_store("../a"));
    assert_false(arcp__worker_is_store("a/b"));
    assert_false(arcp__worker_is_store("."));
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char state_directory[PATH_MAX];
    char path[PATH_MAX];
    const size_t most = PATH_MAX - 1 - strlen("/worker-s.sock");
    (void)state;
    memset(state_directory, 'x', sizeof state_directory);
    state_directory[most] = '\0';
    assert_true(arcp__worker_socket_path(state_directory, "s", path));
    assert_true(arcp__worker_lock_path(state_directory, "s", "", path));
    state_directory[most] = 'x';
    state_directory[most + 1] = '\0';
    assert_false(arcp__worker_socket_path(state_directory, "s", path));
    assert_false(arcp__worker_lock_path(state_directory, "s", "", path));
    state_directory[most] = '\0';
    assert_true(arcp__worker_jobs_path(state_directory, "s", path));
    assert_string_equal(path + most, "/jobs-s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_cannot_leave_its_directory),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(a_worker_without_others_has_a_lock_without_an_instance),
        cmocka_unit_test(another_file_in_its_place_is_another_program),
    };
    int failed = run_rows(socket_rows, sizeof socket_rows / sizeof socket_rows[0],
                          sizeof socket_rows[0], a_socket_names_its_store);
    failed += run_rows(lock_rows, sizeof lock_rows / sizeof lock_rows[0], sizeof lock_rows[0],
                       a_lock_names_its_instance);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
