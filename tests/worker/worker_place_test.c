/* The names of the files by which a worker and a runtime find each other. */
#include "support/check.h"

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
    assert_true(arcp__worker_lock_path(state_directory, "s", path));
    state_directory[most] = 'x';
    state_directory[most + 1] = '\0';
    assert_false(arcp__worker_socket_path(state_directory, "s", path));
    assert_false(arcp__worker_lock_path(state_directory, "s", path));
    state_directory[most] = '\0';
    assert_true(arcp__worker_jobs_path(state_directory, "s", path));
    assert_string_equal(path + most, "/jobs-s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_cannot_leave_its_directory),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
    };
    const int failed = run_rows(socket_rows, sizeof socket_rows / sizeof socket_rows[0],
                                sizeof socket_rows[0], a_socket_names_its_store);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
