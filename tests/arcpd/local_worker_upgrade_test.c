/* Another program in the place of the worker of this machine, under running jobs: these go on where
 * they are, and new ones go to a new worker beside it, also while a real arcpd is killed (-9). */
#include "support/check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/counting_jobs.h"
#include "stream/local_socket.h"
#include "support/process_support.h"
#include "worker/worker_core.h"
#include "worker/worker_place.h"

#define OLDER ARCP_BINARY_DIR "/tests/older/arcp-worker" /* says version 0.0.1-older */

/* Programs in a directory of their own, in which the worker can be replaced. */
typedef struct programs {
    char directory[128];
    char arcpd[160];
} programs;

static void put_worker(const programs *p, const char *from)
{
    char command[512];
    (void)snprintf(command, sizeof command, "cp '%s' '%s/new' && mv '%s/new' '%s/arcp-worker'",
                   from, p->directory, p->directory, p->directory);
    run_shell(command);
}

static void programs_open(programs *p, const char *worker)
{
    char command[512];
    (void)snprintf(p->directory, sizeof p->directory, ARCP_BINARY_DIR "/tests/upgrade-%d",
                   (int)getpid());
    (void)snprintf(p->arcpd, sizeof p->arcpd, "%s/arcpd", p->directory);
    (void)snprintf(command, sizeof command,
                   "mkdir '%s' && cd " ARCP_BINARY_DIR
                   "/bin && ln arcpd arcp-agent-exec arcp-sandbox '%s'",
                   p->directory, p->directory);
    run_shell(command);
    put_worker(p, worker);
}

static void programs_close(const programs *p)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -r '%s'", p->directory);
    run_shell(command);
}

/* ---- another program ---- */

static void another_release_is_started(counting_rig *r, const programs *p)
{
    daemon_kill(&r->daemon);
    r->daemon.options.program = NULL; /* arcpd of this build, with its worker */
    counting_begin_again(r);
}

static void the_program_is_replaced(counting_rig *r, const programs *p)
{
    put_worker(p, ARCP_BINARY_DIR "/bin/arcp-worker");
    assert_int_equal(kill(r->daemon.pid, SIGHUP), 0);
}

static void an_operator_drains_it(counting_rig *r, const programs *p)
{
    char command[256];
    (void)snprintf(command, sizeof command,
                   ARCP_BINARY_DIR "/bin/arcp workers --url unix:%s/arcpd.sock drain local",
                   r->daemon.directory);
    run_shell(command);
}

typedef struct renewal_row {
    const char *name;
    const char *worker; /* the program before */
    void (*renew)(counting_rig *r, const programs *p);
} renewal_row;

static const renewal_row renewal_rows[] = {
    {"arcpd of another release is started", OLDER, another_release_is_started},
    {"SIGHUP after the program was replaced", ARCP_BINARY_DIR "/bin/arcp-worker",
     the_program_is_replaced},
    {"an operator drains the worker", ARCP_BINARY_DIR "/bin/arcp-worker", an_operator_drains_it},
};

static void take_until_ended(counting_rig *r, size_t job)
{
    while (!r->jobs[job].has_ended) {
        counting_take(r, wire_await(&r->wire));
    }
}

static void its_jobs_go_on_and_new_ones_go_to_a_new_worker(void **state)
{
    static const daemon_options options = {
        .config = "workers: {local: spawn, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"};
    const renewal_row *row = *state;
    counting_rig r;
    programs p;
    daemon_options first = options;
    programs_open(&p, row->worker);
    first.program = p.arcpd;
    counting_open_with(&r, &first, 150);
    counting_submit(&r, 10000);
    counting_take_until(&r, 10);
    const pid_t old = counting_worker(&r);
    row->renew(&r, &p);
    counting_take_until(&r, r.lines + 10);
    assert_int_equal(kill(old, SIGSTOP), 0); /* it takes part in nothing for a while */
    counting_submit(&r, 0);
    take_until_ended(&r, 1);
    const pid_t new = counting_worker(&r);
    assert_int_not_equal(new, old);
    assert_false(r.jobs[0].has_ended);
    assert_int_equal(kill(old, SIGCONT), 0);
    counting_submit(&r, 10000);
    for (size_t i = 0; i < 3; i++) { /* both workers come back, in any order */
        counting_take_until(&r, r.lines + 30);
        daemon_kill(&r.daemon);
        counting_begin_again(&r);
    }
    take_until_ended(&r, 0);
    wait_for_end(old);
    counting_submit(&r, 0);
    counting_take_until(&r, UINT64_MAX);
    assert_int_equal(r.ended, 4);
    char *errors = daemon_errors(&r.daemon);
    assert_null(strstr(errors, "its jobs are lost"));
    free(errors);
    r.worker = new;
    assert_int_equal(kill(new, 0), 0);
    assert_int_equal(kill(new, SIGTERM), 0);
    wait_for_end(new);
    wire_close(&r.wire);
    daemon_end(&r.daemon);
    programs_close(&p);
}

/* ---- a release that is too old ---- */

#define HEAD(v)                                                                                    \
    "{\"type\":\"hello\",\"v\":[" v "," v "],\"version\":\"0.0.0\",\"name\":\"local\","            \
    "\"instance\":\"ancient\",\"boot_id\":\"b\"}\n"

/* A worker that is scripted, in a process of its own, which holds a lock. */
static int ancient_connect(const counting_rig *r, const char *head)
{
    char path[128];
    int fd = -1;
    const size_t size = strlen(head);
    const unsigned char prefix[ARCP__WORKER_PREFIX] = {0, 0, (unsigned char)(size >> 8),
                                                       (unsigned char)size};
    counting_find_socket(r, path);
    if (arcp__local_socket_connect(path, &fd, NULL) != ARCP_OK || fcntl(fd, F_SETFL, 0) != 0 ||
        write(fd, prefix, sizeof prefix) != (ssize_t)sizeof prefix ||
        write(fd, head, size) != (ssize_t)size) {
        _exit(3);
    }
    return fd;
}

static void ancient_lock(const counting_rig *r)
{
    char path[PATH_MAX];
    char socket[128];
    char store[ARCP__WORKER_ID_MAX + 1];
    counting_find_socket(r, socket);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!arcp__worker_store_of(strrchr(socket, '/') + 1, store) ||
        !arcp__worker_lock_path(r->daemon.directory, store, "ancient", path) ||
        flock(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX) != 0) {
        _exit(4);
    }
}

static bool daemon_says(const counting_rig *r, const char *text)
{
    char *errors = daemon_errors(&r->daemon);
    const bool says = strstr(errors, text) != NULL;
    free(errors);
    return says;
}

static void a_worker_that_is_too_old_and_has_no_job_is_ended(void **state)
{
    counting_rig r;
    int status = 0;
    (void)state;
    counting_open(&r, 1);
    (void)counting_await_worker(&r);
    const pid_t ancient = fork();
    if (ancient == 0) {
        char byte;
        (void)signal(SIGTERM, SIG_DFL);
        ancient_lock(&r);
        (void)!read(ancient_connect(&r, HEAD("99")), &byte, 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(waitpid(ancient, &status, 0), ancient);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    counting_close(&r);
}

/* It is welcomed, given the job, and then arcpd is of a release that speaks another protocol. */
static void jobs_of_a_worker_that_is_too_old_have_time_and_others_go_to_a_new_one(void **state)
{
    static const daemon_options external = {
        .config = "workers: {local: external, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"};
    counting_rig r;
    int told[2];
    char byte = 0;
    (void)state;
    counting_open_with(&r, &external, 5);
    assert_int_equal(pipe(told), 0);
    const pid_t ancient = fork();
    if (ancient == 0) {
        ancient_lock(&r);
        const int fd = ancient_connect(&r, HEAD("1"));
        char read_bytes[65536];
        arcp_buf got = arcp_buf_init();
        while (got.size == 0 || memmem(got.data, got.size, "\"start\"", 7) == NULL) {
            const ssize_t size = read(fd, read_bytes, sizeof read_bytes);
            arcp_buf_append(&got, arcp_span_make(read_bytes, size < 0 ? 0 : (size_t)size));
        }
        (void)!write(told[1], "s", 1);
        while (read(fd, read_bytes, sizeof read_bytes) > 0) {
        }
        (void)!write(told[1], "e", 1);
        (void)pause();
        _exit(0);
    }
    (void)close(told[1]); /* so that its end is seen */
    counting_submit(&r, 0);
    assert_int_equal(read(told[0], &byte, 1), 1); /* it has the job */
    daemon_kill(&r.daemon);
    assert_int_equal(read(told[0], &byte, 1), 1);
    r.daemon.options.config = COUNTING_CONFIG;
    counting_begin_again(&r);
    (void)wire_await_type(&r.wire, "job.accepted"); /* again: no event of it has come */
    for (size_t i = 0; i < 2; i++) {                /* it is logged once */
        const int fd = ancient_connect(&r, HEAD("99"));
        assert_int_equal(read(fd, &byte, 1), 0);
        (void)close(fd);
    }
    assert_true(daemon_says(&r, "its 1 jobs have 60 s to end by themselves"));
    counting_submit(&r, 0);
    take_until_ended(&r, 1);
    assert_false(r.jobs[0].has_ended);
    assert_int_not_equal(counting_worker(&r), ancient);
    assert_int_equal(kill(ancient, SIGKILL), 0);
    assert_int_equal(waitpid(ancient, NULL, 0), ancient);
    const arcp_span frame = counting_take_error(&r);
    check_span(wire_text(frame, "reason"), "worker_too_old");
    (void)close(told[0]);
    counting_close(&r);
}

/* ---- as many as can be ---- */

#define WORKERS_MAX 16u

typedef struct draining {
    int lock, link;
} draining;

/* A life that drains, of this process. */
static draining begin_draining(const counting_rig *r, unsigned number)
{
    char instance[16];
    char path[PATH_MAX];
    char socket[128];
    char head[256];
    char store[ARCP__WORKER_ID_MAX + 1];
    char byte;
    (void)snprintf(instance, sizeof instance, "life-%u", number);
    (void)snprintf(head, sizeof head,
                   "{\"type\":\"hello\",\"v\":[1,1],\"version\":\"0.0.0\",\"name\":\"local\","
                   "\"instance\":\"%s\",\"boot_id\":\"b\",\"drains_ms\":1}\n",
                   instance);
    counting_find_socket(r, socket);
    assert_true(arcp__worker_store_of(strrchr(socket, '/') + 1, store));
    assert_true(arcp__worker_lock_path(r->daemon.directory, store, instance, path));
    const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    const int link = ancient_connect(r, head);
    assert_int_equal(read(link, &byte, 1), 1); /* it is welcome */
    return (draining){lock, link};
}

static void await_log(const counting_rig *r, const char *text)
{
    const int64_t end_ns = daemon_now_ns() + INT64_C(60000000000);
    while (!daemon_says(r, text)) {
        assert_true(daemon_now_ns() < end_ns);
        (void)poll(NULL, 0, 10);
    }
}

static void at_most_16_workers_live_at_the_same_time(void **state)
{
    counting_rig r;
    draining all[WORKERS_MAX];
    (void)state;
    counting_open(&r, 1);
    const pid_t worker = counting_await_worker(&r);
    for (unsigned i = 0; i < WORKERS_MAX; i++) {
        all[i] = begin_draining(&r, i);
    }
    assert_int_equal(kill(worker, SIGKILL), 0);
    await_log(&r, "16 workers of this machine drain");
    (void)close(all[0].link);
    (void)close(all[0].lock);
    assert_int_not_equal(counting_await_worker(&r), worker);
    for (unsigned i = 1; i < WORKERS_MAX; i++) {
        (void)close(all[i].link);
        (void)close(all[i].lock);
    }
    counting_close(&r);
}

int main(void)
{
    const struct CMUnitTest few[] = {
        cmocka_unit_test(a_worker_that_is_too_old_and_has_no_job_is_ended),
        cmocka_unit_test(jobs_of_a_worker_that_is_too_old_have_time_and_others_go_to_a_new_one),
        cmocka_unit_test(at_most_16_workers_live_at_the_same_time),
    };
    const int failed =
        run_rows(renewal_rows, sizeof renewal_rows / sizeof renewal_rows[0], sizeof renewal_rows[0],
                 its_jobs_go_on_and_new_ones_go_to_a_new_worker);
    return cmocka_run_group_tests(few, NULL, NULL) + failed;
}
