/* arcp-worker with real programs, against a scripted runtime. */
#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/local_socket.h"
#include "support/process_support.h"
#include "worker/runtime_end.h"
#include "worker/worker_place.h"

#define KEEP_MS    600000u
#define GRACE_MS   600000u
#define OTHER_USER 65534u

static const char *const with_store[] = {"--store", STORE, NULL};

/* A worker with a link, whose keep_ms and grace_ms these are. */
static void open_linked(runtime_end *r, unsigned keep_ms, unsigned grace_ms)
{
    runtime_end_open(r);
    runtime_end_listen(r);
    runtime_end_spawn(r, with_store);
    runtime_end_accept(r);
    runtime_end_welcome(r, keep_ms, grace_ms, "");
}

/* The row of the only job in the hello that was just taken. */
static arcp__worker_job_row row_of(runtime_end *r)
{
    static char job[64]; /* the row borrows from the message */
    arcp__worker_reader reader = {.line_bytes_max = 0};
    arcp__worker_job_row row;
    arcp_error error = {0};
    arcp_span rest = r->message.body;
    check_ok(arcp__worker_job_row_read(&reader, &rest, &row, &error), &error);
    assert_int_equal(rest.size, 0);
    (void)snprintf(job, sizeof job, "%.*s", (int)row.job.size, row.job.data);
    row.job = arcp_span_cstr(job);
    row.store = arcp_span_make(NULL, 0);
    arcp__worker_reader_fini(&reader);
    return row;
}

static void go_on(runtime_end *r, unsigned keep_ms, const char *job)
{
    char rows[128];
    (void)snprintf(rows, sizeof rows, "{\"job\":\"%s\",\"what\":\"go_on\"}\n", job);
    runtime_end_welcome(r, keep_ms, GRACE_MS, rows);
}

static void forget(const runtime_end *r, const char *job)
{
    runtime_end_send(r, "{\"type\":\"forget\",\"job\":\"%s\"}\n", job);
}

/* Reads items from the number `first` on until there are `bytes` of lines. */
static uint64_t await_lines(runtime_end *r, uint64_t first, const char *wanted)
{
    arcp_buf lines = arcp_buf_init();
    uint64_t last = first - 1;
    while (lines.size < strlen(wanted)) {
        last = runtime_end_items(r, last + 1, &lines);
    }
    check_span(arcp_buf_span(&lines), wanted);
    arcp_buf_fini(&lines);
    return last;
}

/* ---- one job ---- */

static void a_program_gets_its_input_and_its_lines_come_with_numbers(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open(&r);
    runtime_end_listen(&r);
    const pid_t worker = runtime_end_spawn(&r, with_store);
    runtime_end_accept(&r);
    const arcp__worker_hello *hello = &r.message.hello;
    assert_int_equal(hello->pid, worker);
    assert_int_equal(hello->v_low, 1);
    check_span(hello->name, "local");
    assert_int_equal(hello->instance.size, 32);
    assert_true(hello->boot_id.size != 0);
    assert_memory_equal(hello->work.data, r.state, strlen(r.state));
    assert_int_equal(r.message.body.size, 0);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    runtime_end_start(&r, "j", false, "read line; echo \"$line\"; echo two; echo no >&2; exit 7");
    const arcp__worker_started *started = &runtime_end_next(&r, ARCP__WORKER_STARTED)->started;
    check_span(started->job, "j");
    assert_true(started->pid != 0);
    await_lines(&r, 1, "{\"type\":\"job.start\",\"payload\":{\"input\":\"in\"}}\ntwo\n");
    const arcp__worker_message *end = runtime_end_next(&r, ARCP__WORKER_EXITED);
    assert_int_equal(end->exited.items, 2);
    assert_int_equal(end->exited.code, 7);
    assert_false(end->exited.by_signal);
    assert_int_equal(end->exited.why, ARCP__WORKER_END_ITSELF);
    check_span(end->body, "no\n");
    runtime_end_close(&r);
}

static void output_of_a_plain_program_is_counted_in_bytes(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", true, "cat; echo one >&2; echo two >&2");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    const arcp__worker_message *output = runtime_end_next(&r, ARCP__WORKER_OUTPUT);
    assert_int_equal(output->output.first, 0);
    check_span(output->body, "in");
    uint64_t lines = 0;
    while (lines < 2) {
        const arcp__worker_errors *errors = &runtime_end_next(&r, ARCP__WORKER_ERRORS)->errors;
        assert_int_equal(errors->first, lines + 1);
        lines += errors->count;
    }
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->bytes, 2);
    assert_int_equal(exited->errors, 2);
    runtime_end_close(&r);
}

static void a_line_that_is_too_long_is_an_item_without_text(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "printf '%5000s\\n' x");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    const arcp__worker_message *items = runtime_end_next(&r, ARCP__WORKER_ITEMS);
    assert_int_equal(items->items.what, ARCP__WORKER_ITEM_TOO_LONG);
    assert_int_equal(items->body.size, 0);
    runtime_end_close(&r);
}

static void a_program_that_cannot_be_started_is_refused(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_send(&r, "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\",\"row\":{\"command\":["
                         "\"/nonexistent\"],\"line_bytes\":10}}\n{}");
    const arcp__worker_refused *refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    assert_int_equal(refused->why, ARCP__WORKER_CANNOT_START);
    assert_non_null(memmem(refused->message.data, refused->message.size, "/nonexistent", 12));
    runtime_end_send(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    check_span(refused->job, "k");
    runtime_end_close(&r);
}

static void a_program_is_ended_before_the_worker_when_memory_runs_out(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(
        &r, "j", false,
        "echo $(($(cat /proc/self/oom_score_adj) - $(cat /proc/$PPID/oom_score_adj)))");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "300\n");
    runtime_end_close(&r);
}

static void a_job_that_is_forgotten_ends_with_its_program(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "exec sleep 1000");
    const pid_t pid = (pid_t)runtime_end_next(&r, ARCP__WORKER_STARTED)->started.pid;
    forget(&r, "j");
    wait_for_end(pid);
    runtime_end_close(&r);
}

/* ---- links that end ---- */

/* The program writes a line for each that it gets, so that the test knows what was written when. */
static void each_line_comes_once_over_links_that_are_cut(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false,
                      "read start; while read line; do echo \"$line\"; done; echo end");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\none");
    runtime_end_next(&r, ARCP__WORKER_GOT);
    assert_int_equal(await_lines(&r, 1, "one\n"), 1);

    runtime_end_accept(&r); /* cuts the link; the item was not kept */
    arcp__worker_job_row row = row_of(&r);
    check_span(row.job, "j");
    assert_int_equal(row.items_first, 1);
    assert_int_equal(row.items_last, 1);
    assert_int_equal(row.at, 1);
    go_on(&r, KEEP_MS, "j");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "one\n");
    runtime_end_send(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1,\"stored\":1}\n");
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\none"); /* it has that */
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":2}\ntwo");
    runtime_end_next(&r, ARCP__WORKER_GOT);
    assert_int_equal(await_lines(&r, 2, "two\n"), 2);

    runtime_end_leave(&r); /* the runtime is away, and comes back */
    runtime_end_listen(&r);
    runtime_end_accept(&r);
    row = row_of(&r);
    assert_int_equal(row.items_first, 2);
    assert_int_equal(row.stored, 1);
    go_on(&r, KEEP_MS, "j");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 2, "two\n");
    runtime_end_close(&r);
}

static void a_program_goes_on_while_the_runtime_is_away(void **state)
{
    runtime_end r;
    char fifo[128];
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", r.state);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    runtime_end_start(&r, "j", false, "read start; echo one; read line <../fifo; echo \"$line\"");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "one\n");
    runtime_end_leave(&r);
    const int fd = open(fifo, O_WRONLY | O_CLOEXEC); /* the program has opened it, too */
    assert_int_equal(write(fd, "alone\n", 6), 6);
    (void)close(fd);
    runtime_end_listen(&r);
    arcp__worker_job_row row;
    do { /* until its end was seen */
        runtime_end_accept(&r);
        row = row_of(&r);
    } while (!row.has_exited);
    assert_int_equal(row.items_last, 2);
    go_on(&r, KEEP_MS, "j");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "one\nalone\n");
    runtime_end_next(&r, ARCP__WORKER_EXITED);
    forget(&r, "j");
    runtime_end_send(&r, "{\"type\":\"ping\",\"number\":1}\n");
    runtime_end_next(&r, ARCP__WORKER_PONG);
    runtime_end_accept(&r);
    assert_int_equal(r.message.body.size, 0);
    runtime_end_close(&r);
}

typedef struct hostile_row {
    const char *name;
    const char *bytes, *message; /* one of them */
} hostile_row;

#define LONG_ID "0123456789012345678901234567890123456789012345678901234567890123"

static const hostile_row hostile_rows[] = {
    {"a size that no message has", "\xff\xff\xff\xff", NULL},
    {"no JSON", NULL, "???\n"},
    {"a message of a worker", NULL, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n"},
    {"a second welcome", NULL,
     "{\"type\":\"welcome\",\"v\":1,\"store\":\"x\",\"keep_ms\":1,\"line_bytes\":1,"
     "\"unkept_bytes\":1,\"unkept_total_bytes\":1}\n"},
    {"an answer to a ping that was not sent", NULL, "{\"type\":\"pong\",\"number\":1000000}\n"},
    {"a job that it has already", NULL, "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\"}\n{}"},
    {"an id that is too long for a job", NULL,
     "{\"type\":\"start\",\"job\":\"" LONG_ID "\",\"agent\":\"a\"}\n{}"},
    {"a number that there is not", NULL, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1000}\n"},
};

/* The link ends, and nothing else: the worker connects again, and its job has gone on. */
static void what_does_not_conform_ends_the_link_alone(void **state)
{
    const hostile_row *row = *state;
    runtime_end r;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "read start; read line; echo \"$line\"; exec sleep 1000");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    if (row->bytes != NULL) {
        runtime_end_send_bytes(&r, arcp_span_cstr(row->bytes));
    } else {
        runtime_end_send(&r, "%s", row->message);
    }
    runtime_end_await_cut(&r);
    runtime_end_accept(&r);
    check_span(row_of(&r).job, "j");
    go_on(&r, KEEP_MS, "j");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\"}\nmore");
    await_lines(&r, 1, "more\n");
    runtime_end_close(&r);
}

/* ---- its place ---- */

static void a_second_worker_of_a_store_is_refused(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    const pid_t first = r.worker;
    assert_int_equal(runtime_end_wait(runtime_end_spawn(&r, with_store)), 1);
    assert_int_equal(runtime_end_log_count(&r, "another worker of this store runs"), 1);
    /* Also one that finds the store by itself. */
    assert_int_equal(runtime_end_wait(runtime_end_spawn(&r, NULL)), 1);
    assert_int_equal(runtime_end_log_count(&r, "another worker of this store runs"), 2);
    r.worker = first;
    runtime_end_start(&r, "j", false, "echo one");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "one\n");
    runtime_end_close(&r);
}

/* A job's directory that has a file. */
static void make_left(const char *path)
{
    char command[2 * PATH_MAX + 64];
    (void)snprintf(command, sizeof command, "mkdir -p '%s' && touch '%s/file'", path, path);
    run_shell(command);
}

/* And what that has left. */
static void the_next_worker_gets_the_lock_of_one_that_was_killed(void **state)
{
    runtime_end r;
    char work[80];
    char jobs[PATH_MAX];
    char left[PATH_MAX + 2];
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "exec sleep 1000");
    const pid_t pid = (pid_t)runtime_end_next(&r, ARCP__WORKER_STARTED)->started.pid;
    assert_int_equal(kill(r.worker, SIGKILL), 0);
    assert_int_equal(runtime_end_wait(r.worker), 128 + SIGKILL);
    wait_for_end(pid); /* its programs end with it */
    (void)snprintf(work, sizeof work, "%s/%s", r.state, "work");
    assert_true(arcp__worker_jobs_path(work, STORE, jobs));
    (void)snprintf(left, sizeof left, "%s/j", jobs);
    make_left(left);
    runtime_end_spawn(&r, with_store);
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
    runtime_end_spawn(&r, with_store);
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
    runtime_end_spawn(&r, with_store);
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
    {"a word", {"word"}, 0700, "absolute path"},
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

/* ---- its end ---- */

static void sigterm_cancels_its_jobs_and_waits_for_them(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "read start; read line; echo \"$line\"; exit 3");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    await_lines(&r, 1,
                "{\"type\":\"job.cancel\",\"payload\":{\"reason\":\"shutdown\",\"grace_ms\":600000}"
                "}\n");
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_KILLED);
    assert_int_equal(exited->code, 3);
    forget(&r, "j");
    assert_int_equal(runtime_end_wait(r.worker), 0);
    r.worker = 0;
    runtime_end_close(&r);
}

static void a_worker_that_stops_takes_no_job(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "read start; read line; echo stop; exec sleep 1000");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    await_lines(&r, 1, "stop\n");
    runtime_end_start(&r, "k", false, "echo no");
    const arcp__worker_refused *refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    check_span(refused->job, "k");
    assert_int_equal(refused->why, ARCP__WORKER_BUSY);
    runtime_end_close(&r);
}

static void what_does_not_end_in_time_is_killed(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, 1);
    runtime_end_start(&r, "j", false, "exec sleep 1000");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_KILLED);
    assert_int_equal(exited->code, SIGKILL);
    /* The runtime says nothing more. */
    assert_int_equal(runtime_end_wait(r.worker), 0);
    r.worker = 0;
    runtime_end_close(&r);
}

static void a_second_sigterm_kills_at_once(void **state)
{
    runtime_end r;
    (void)state;
    open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", false, "read start; read line; echo stop; exec sleep 1000");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    await_lines(&r, 1, "stop\n");
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    assert_int_equal(runtime_end_next(&r, ARCP__WORKER_EXITED)->exited.code, SIGKILL);
    assert_int_equal(runtime_end_wait(r.worker), 0);
    r.worker = 0;
    runtime_end_close(&r);
}

static void a_log_that_is_not_read_stops_nothing(void **state)
{
    static char filling[65536];
    runtime_end r;
    int pipe_fds[2];
    (void)state;
    runtime_end_open(&r);
    runtime_end_listen(&r);
    (void)unlink(r.errors);
    assert_int_equal(mkfifo(r.errors, 0600), 0);
    pipe_fds[0] = open(r.errors, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    while (write(pipe_fds[0], filling, sizeof filling) > 0) {
    }
    runtime_end_spawn(&r, with_store);
    runtime_end_accept(&r); /* each link that ends is a line of its log */
    runtime_end_accept(&r);
    runtime_end_accept(&r);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    runtime_end_start(&r, "j", false, "echo one");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    await_lines(&r, 1, "one\n");
    (void)close(pipe_fds[0]);
    runtime_end_close(&r);
}

/* Started first, because they take ten seconds in which they do nothing. */
static runtime_end idle, alone;
static pid_t alone_program;

static int start_slow(void **state)
{
    (void)state;
    runtime_end_open(&idle);
    runtime_end_spawn(&idle, with_store);
    /* More than the time between two pings. */
    open_linked(&alone, 7000, GRACE_MS);
    runtime_end_start(&alone, "j", false, "exec sleep 1000");
    alone_program = (pid_t)runtime_end_next(&alone, ARCP__WORKER_STARTED)->started.pid;
    runtime_end_leave(&alone);
    return 0;
}

static void all_is_killed_when_the_runtime_is_away_for_too_long(void **state)
{
    arcp__worker_job_row row;
    (void)state;
    wait_for_end(alone_program);
    runtime_end_listen(&alone);
    do {
        runtime_end_accept(&alone);
        row = row_of(&alone);
    } while (!row.has_exited);
    go_on(&alone, KEEP_MS, "j");
    runtime_end_next(&alone, ARCP__WORKER_STARTED);
    const arcp__worker_exited *exited = &runtime_end_next(&alone, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_ALONE);
    assert_int_equal(exited->code, SIGKILL);
    runtime_end_close(&alone);
}

static void it_ends_when_it_has_neither_a_job_nor_a_runtime(void **state)
{
    (void)state;
    assert_int_equal(runtime_end_wait(idle.worker), 0);
    assert_int_equal(runtime_end_log_count(&idle, "neither a job nor an arcpd"), 1);
    idle.worker = 0;
    runtime_end_close(&idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_gets_its_input_and_its_lines_come_with_numbers),
        cmocka_unit_test(output_of_a_plain_program_is_counted_in_bytes),
        cmocka_unit_test(a_line_that_is_too_long_is_an_item_without_text),
        cmocka_unit_test(a_program_that_cannot_be_started_is_refused),
        cmocka_unit_test(a_program_is_ended_before_the_worker_when_memory_runs_out),
        cmocka_unit_test(a_job_that_is_forgotten_ends_with_its_program),
        cmocka_unit_test(each_line_comes_once_over_links_that_are_cut),
        cmocka_unit_test(a_program_goes_on_while_the_runtime_is_away),
        cmocka_unit_test(a_second_worker_of_a_store_is_refused),
        cmocka_unit_test(the_next_worker_gets_the_lock_of_one_that_was_killed),
        cmocka_unit_test(it_finds_the_store_of_the_runtime_that_listens),
        cmocka_unit_test(a_socket_of_another_user_is_not_used),
        cmocka_unit_test(a_process_of_its_user_cannot_read_its_memory),
        cmocka_unit_test(sigterm_cancels_its_jobs_and_waits_for_them),
        cmocka_unit_test(a_worker_that_stops_takes_no_job),
        cmocka_unit_test(what_does_not_end_in_time_is_killed),
        cmocka_unit_test(a_second_sigterm_kills_at_once),
        cmocka_unit_test(a_log_that_is_not_read_stops_nothing),
        cmocka_unit_test(all_is_killed_when_the_runtime_is_away_for_too_long),
        cmocka_unit_test(it_ends_when_it_has_neither_a_job_nor_a_runtime),
    };
    int failed = run_rows(hostile_rows, sizeof hostile_rows / sizeof hostile_rows[0],
                          sizeof hostile_rows[0], what_does_not_conform_ends_the_link_alone);
    failed += run_rows(usage_rows, sizeof usage_rows / sizeof usage_rows[0], sizeof usage_rows[0],
                       wrong_usage_is_refused);
    return cmocka_run_group_tests(tests, start_slow, NULL) + failed;
}
