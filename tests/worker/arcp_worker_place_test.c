/* What arcp-worker finds, and what it refuses: the state directory, its lock, the runtime's socket;
 * and its arguments. */
#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/local_socket.h"
#include "support/process_support.h"
#include "worker/runtime_end.h"
#include "worker/worker_place.h"

#define OTHER_USER 65534u

/* A job's directory that has a file. */
static void make_left(const char *path)
{
    char command[2 * PATH_MAX + 64];
    (void)snprintf(command, sizeof command, "mkdir -p '%s' && touch '%s/file'", path, path);
    run_shell(command);
}

static void find_left(const runtime_end *r, char left[PATH_MAX + 2])
{
    char work[80];
    char jobs[PATH_MAX];
    (void)snprintf(work, sizeof work, "%s/%s", r->state, "work");
    assert_true(arcp__worker_jobs_path(work, STORE, jobs));
    (void)snprintf(left, PATH_MAX + 2, "%s/j", jobs);
}

/* Its jobs and their directories stay, and it ends when no arcpd takes it. */
static void a_second_worker_of_a_store_leaves_the_first_alone(void **state)
{
    runtime_end r;
    char left[PATH_MAX + 2];
    (void)state;
    runtime_end_open(&r);
    find_left(&r, left);
    make_left(left); /* the directory of jobs is there */
    runtime_end_listen(&r);
    const pid_t first = runtime_end_spawn_with_store(&r);
    runtime_end_accept(&r);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    assert_int_equal(access(left, F_OK), -1); /* it was alone */
    make_left(left);
    runtime_end_run(&r, "j", "echo one; exec sleep 1000");
    const pid_t second = runtime_end_spawn(&r, NULL); /* it finds the store by itself */
    runtime_end_lines(&r, 1, "one\n");
    const int link = r.fd;
    r.fd = -1;
    runtime_end_cut(&r);
    runtime_end_accept(&r);
    assert_int_equal(r.message.hello.pid, second);
    assert_int_equal(access(left, F_OK), 0);
    assert_int_equal(kill(second, SIGTERM), 0);
    assert_int_equal(runtime_end_wait(second), 0);
    (void)close(link);
    r.worker = first;
    runtime_end_close(&r);
}

/* And what that has left. */
static void the_next_worker_gets_the_lock_of_one_that_was_killed(void **state)
{
    runtime_end r;
    char left[PATH_MAX + 2];
    (void)state;
    const pid_t pid = runtime_end_open_job(&r, GRACE_MS, "exec sleep 1000");
    assert_int_equal(kill(r.worker, SIGKILL), 0);
    assert_int_equal(runtime_end_wait(r.worker), 128 + SIGKILL);
    wait_for_end(pid); /* its programs end with it */
    find_left(&r, left);
    make_left(left);
    runtime_end_spawn_with_store(&r);
    runtime_end_cut(&r);
    runtime_end_accept(&r);
    assert_int_equal(r.message.body.size, 0);
    assert_int_equal(access(left, F_OK), -1);
    runtime_end_close(&r);
}

static void it_finds_the_store_of_the_runtime_that_listens(void **state)
{
    runtime_end r;
    char other[128];
    int fd = -1;
    (void)state;
    runtime_end_open(&r);
    /* No process listens there any more. */
    (void)snprintf(other, sizeof other, "%s/worker-OLD.sock", r.state);
    assert_int_equal(arcp__local_socket_listen(other, 0600, &fd, NULL), ARCP_OK);
    (void)close(fd);
    runtime_end_spawn(&r, NULL);
    runtime_end_listen(&r);
    runtime_end_accept(&r);
    runtime_end_close(&r);
}

/* Listens as another user, if this is root. */
static void listen_as(runtime_end *r, uid_t user)
{
    assert_int_equal(chown(r->state, user, (gid_t)-1), 0);
    assert_int_equal(seteuid(user), 0);
    runtime_end_listen(r);
    assert_int_equal(seteuid(0), 0);
}

static void a_socket_of_another_user_is_not_used(void **state)
{
    runtime_end r;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    runtime_end_open(&r);
    listen_as(&r, OTHER_USER);
    assert_int_equal(chown(r.state, 0, (gid_t)-1), 0);
    runtime_end_spawn_with_store(&r);
    for (size_t i = 0; i < 2; i++) { /* the log line of the first try comes before the second */
        runtime_end_accept_raw(&r);
        runtime_end_await_cut(&r);
    }
    assert_int_equal(runtime_end_log_count(&r, "another user listens there"), 1);
    runtime_end_leave(&r);
    runtime_end_listen(&r); /* as its own user */
    runtime_end_accept(&r);
    runtime_end_close(&r);
}

/* The files of a process that may not be traced by its own user are root's. */
static void a_process_of_its_user_cannot_read_its_memory(void **state)
{
    runtime_end r;
    char path[64];
    struct stat about;
    (void)state;
    runtime_end_open(&r);
    if (geteuid() == 0) {
        r.user = OTHER_USER;
        listen_as(&r, OTHER_USER);
    } else {
        runtime_end_listen(&r);
    }
    runtime_end_spawn_with_store(&r);
    runtime_end_accept(&r);
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)r.worker);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, 0);
    runtime_end_close(&r);
}

typedef struct usage_row {
    const char *name;
    const char *arguments[5];
    mode_t mode; /* of the state directory */
    const char *why;
} usage_row;

static const usage_row usage_rows[] = {
    {"a directory that others can write", {"--store", STORE}, 0770, "no other user can write"},
    {"no id of a store", {"--store", "../x"}, 0700, "is not a store's id"},
    {"an empty id", {"--store", ""}, 0700, "is not a store's id"},
    {"a relative directory", {"--local", "state"}, 0700, "absolute path"},
    {"an option that there is not", {"--port", "1"}, 0700, "unknown option"},
    {"a relative directory for jobs", {"--work", "jobs"}, 0700, "--work: \"jobs\" is not"},
    {"a word", {"word"}, 0700, "unexpected argument: word"},
};

static void wrong_usage_is_refused(void **state)
{
    const usage_row *row = *state;
    runtime_end r;
    runtime_end_open(&r);
    assert_int_equal(chmod(r.state, row->mode), 0);
    assert_int_equal(runtime_end_wait(runtime_end_spawn(&r, row->arguments)), 2);
    assert_int_equal(runtime_end_log_count(&r, row->why), 1);
    r.worker = 0;
    runtime_end_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_worker_of_a_store_leaves_the_first_alone),
        cmocka_unit_test(the_next_worker_gets_the_lock_of_one_that_was_killed),
        cmocka_unit_test(it_finds_the_store_of_the_runtime_that_listens),
        cmocka_unit_test(a_socket_of_another_user_is_not_used),
        cmocka_unit_test(a_process_of_its_user_cannot_read_its_memory),
    };
    const int failed = run_rows(usage_rows, sizeof usage_rows / sizeof usage_rows[0],
                                sizeof usage_rows[0], wrong_usage_is_refused);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
