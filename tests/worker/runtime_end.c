#include "worker/runtime_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosting/agent_row.h"
#include "stream/local_socket.h"
#include "support/process_support.h"

#define PATIENCE_MS 60000
#define PROGRAM     ARCP_BINARY_DIR "/bin/arcp-worker"

/* ---- the worker ---- */

void runtime_end_open(runtime_end *r)
{
    *r = (runtime_end){.listener = -1, .fd = -1, .reader = {.line_bytes_max = 1048576}};
    make_temporary(r->state);
    (void)snprintf(r->errors, sizeof r->errors, "%s/errors", r->state);
}

void runtime_end_close(runtime_end *r)
{
    if (r->worker != 0) {
        (void)kill(r->worker, SIGKILL);
        (void)runtime_end_wait(r->worker);
    }
    runtime_end_leave(r);
    arcp__worker_reader_fini(&r->reader);
    arcp_buf_fini(&r->input);
    remove_temporary(r->state);
}

pid_t runtime_end_spawn(runtime_end *r, const char *const *more)
{
    const char *arguments[12] = {PROGRAM, "--local", r->state};
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        arguments[3 + i] = more[i];
    }
    union {
        const char **from;
        char *const *to;
    } argv = {arguments};
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int null = open("/dev/null", O_RDWR);
        const int errors = open(r->errors, O_WRONLY | O_CREAT | O_APPEND, 0600);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        (void)dup2(errors, 2);
        if (r->user != 0 && setuid(r->user) != 0) {
            _exit(126);
        }
        (void)execv(PROGRAM, argv.to);
        _exit(127);
    }
    r->worker = pid;
    return pid;
}

pid_t runtime_end_spawn_with_store(runtime_end *r)
{
    static const char *const store[] = {"--store", STORE, NULL};
    return runtime_end_spawn(r, store);
}

int runtime_end_wait(pid_t worker)
{
    int status = 0;
    wait_for_end(worker);
    assert_int_equal(waitpid(worker, &status, 0), worker);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void runtime_end_close_ended(runtime_end *r)
{
    assert_int_equal(runtime_end_wait(r->worker), 0);
    r->worker = 0;
    runtime_end_close(r);
}

size_t runtime_end_log_count(const runtime_end *r, const char *word)
{
    arcp_buf text = arcp_buf_init();
    size_t count = 0;
    const int fd = open(r->errors, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    read_all(fd, &text);
    for (const char *at = strstr(arcp_buf_cstr(&text), word); at != NULL;
         at = strstr(at + 1, word)) {
        count++;
    }
    (void)close(fd);
    arcp_buf_fini(&text);
    return count;
}

/* ---- the link ---- */

static void await(int fd, short events)
{
    struct pollfd waited = {.fd = fd, .events = events};
    if (poll(&waited, 1, PATIENCE_MS) != 1) {
        fail_msg("the worker has done nothing for a minute");
    }
}

void runtime_end_listen(runtime_end *r)
{
    char path[128];
    arcp_error error = {0};
    (void)snprintf(path, sizeof path, "%s/worker-" STORE ".sock", r->state);
    check_ok(arcp__local_socket_listen(path, 0600, &r->listener, &error), &error);
}

void runtime_end_cut(runtime_end *r)
{
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    r->fd = -1;
    r->taken = 0;
    arcp_buf_clear(&r->input);
}

void runtime_end_leave(runtime_end *r)
{
    char path[128];
    runtime_end_cut(r);
    if (r->listener >= 0) {
        (void)snprintf(path, sizeof path, "%s/worker-" STORE ".sock", r->state);
        (void)unlink(path);
        (void)close(r->listener);
    }
    r->listener = -1;
}

void runtime_end_accept_raw(runtime_end *r)
{
    runtime_end_cut(r);
    await(r->listener, POLLIN);
    r->fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(r->fd >= 0);
}

void runtime_end_accept(runtime_end *r)
{
    runtime_end_accept_raw(r);
    (void)runtime_end_next(r, ARCP__WORKER_HELLO);
}

void runtime_end_await_cut(runtime_end *r)
{
    char bytes[4096];
    ssize_t size = 1;
    while (size > 0) {
        await(r->fd, POLLIN);
        size = read(r->fd, bytes, sizeof bytes);
    }
}

/* ---- messages out ---- */

void runtime_end_send_bytes(const runtime_end *r, arcp_span bytes)
{
    /* The worker may have closed its end. */
    (void)!send(r->fd, bytes.data, bytes.size, MSG_NOSIGNAL);
}

static void send_message(const runtime_end *r, arcp_span text)
{
    arcp_buf frame = arcp_buf_init();
    for (unsigned i = 0; i < ARCP__WORKER_PREFIX; i++) {
        arcp_buf_append_byte(&frame, (char)(unsigned char)(text.size >> (24 - 8 * i)));
    }
    arcp_buf_append(&frame, text);
    runtime_end_send_bytes(r, arcp_buf_span(&frame));
    arcp_buf_fini(&frame);
}

void runtime_end_send(const runtime_end *r, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(size, 1, sizeof text - 1);
    send_message(r, arcp_span_make(text, (size_t)size));
}

void runtime_end_welcome(const runtime_end *r, unsigned keep_ms, unsigned grace_ms,
                         const char *rows)
{
    runtime_end_send(r,
                     "{\"type\":\"welcome\",\"v\":1,\"store\":\"" STORE "\",\"keep_ms\":%u,"
                     "\"grace_ms\":%u,\"line_bytes\":65536,\"unkept_bytes\":8388608,"
                     "\"unkept_total_bytes\":268435456}\n%s",
                     keep_ms, grace_ms, rows);
}

void runtime_end_forget(const runtime_end *r, const char *job)
{
    runtime_end_send(r, "{\"type\":\"forget\",\"job\":\"%s\"}\n", job);
}

void runtime_end_start(const runtime_end *r, const char *job, bool is_plain, const char *script)
{
    char variable[64];
    char cwd[160];
    const char *const command[] = {"/bin/sh", "-c", script, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", variable, NULL};
    arcp_buf text = arcp_buf_init();
    arcp_buf row = arcp_buf_init();
    arcp_error error = {0};
    (void)snprintf(variable, sizeof variable, "ARCP_JOB_ID=%s", job);
    (void)snprintf(cwd, sizeof cwd, "%s/%s", r->state, job);
    const arcp__agent_row agent = {.command = command, .is_plain = is_plain};
    arcp__environment none = {0};
    arcp_buf registration = arcp_buf_init();
    check_ok(arcp__agent_row_write(&agent, &none, &registration, &error), &error);
    const arcp__start_row start_row = {.agent = arcp_buf_span(&registration),
                                       .host = ARCP_SPAN_LITERAL("{\"line_bytes\":4096}"),
                                       .env = env,
                                       .cwd = arcp_span_cstr(cwd),
                                       .owns_cwd = true};
    check_ok(arcp__start_row_write(&start_row, &row, &error), &error);
    arcp_buf_fini(&registration);
    const arcp__worker_message start = {
        .kind = ARCP__WORKER_START,
        .start = {.job = arcp_span_cstr(job),
                  .agent = ARCP_SPAN_LITERAL("a"),
                  .row = arcp_buf_span(&row)},
        .body = ARCP_SPAN_LITERAL("{\"type\":\"job.start\",\"payload\":{\"input\":\"in\"}}")};
    arcp__worker_message_write(&start, &text);
    send_message(r, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    arcp_buf_fini(&row);
}

/* ---- messages in ---- */

/* Takes a whole message from the input. False: there is none. */
static bool take(runtime_end *r)
{
    arcp_error error = {0};
    size_t size = 0;
    arcp_buf_consume(&r->input, r->taken);
    r->taken = 0;
    if (r->input.size < ARCP__WORKER_PREFIX) {
        return false;
    }
    check_ok(arcp__worker_frame_size(arcp_buf_span(&r->input), 1048576, &size, &error), &error);
    if (r->input.size - ARCP__WORKER_PREFIX < size) {
        return false;
    }
    r->taken = ARCP__WORKER_PREFIX + size;
    const arcp_span text =
        arcp_span_first(arcp_span_from(arcp_buf_span(&r->input), ARCP__WORKER_PREFIX), size);
    check_ok(
        arcp__worker_message_read(&r->reader, ARCP__WORKER_SIDE_WORKER, text, &r->message, &error),
        &error);
    return true;
}

static void read_more(runtime_end *r)
{
    char bytes[65536];
    await(r->fd, POLLIN);
    const ssize_t size = read(r->fd, bytes, sizeof bytes);
    if (size <= 0) {
        fail_msg("the worker has closed the link");
    }
    arcp_buf_append(&r->input, arcp_span_make(bytes, (size_t)size));
}

const arcp__worker_message *runtime_end_next(runtime_end *r, arcp__worker_kind kind)
{
    for (;;) {
        while (!take(r)) {
            read_more(r);
        }
        if (r->message.kind == ARCP__WORKER_PING) {
            runtime_end_send(r, "{\"type\":\"pong\",\"number\":%llu}\n",
                             (unsigned long long)r->message.ping.number);
        } else if (r->message.kind == kind ||
                   (r->message.kind != ARCP__WORKER_LOG && r->message.kind != ARCP__WORKER_USAGE)) {
            break; /* a log and the usage may come at any time */
        }
    }
    if (r->message.kind != kind) {
        fail_msg("the worker has sent %s, not %s", arcp__worker_kind_name(r->message.kind),
                 arcp__worker_kind_name(kind));
    }
    return &r->message;
}

uint64_t runtime_end_lines(runtime_end *r, uint64_t first, const char *wanted)
{
    arcp_buf lines = arcp_buf_init();
    while (lines.size < strlen(wanted)) {
        const arcp__worker_message *items = runtime_end_next(r, ARCP__WORKER_ITEMS);
        assert_int_equal(items->items.first, first);
        arcp_buf_append(&lines, items->body);
        first += items->items.count;
    }
    check_span(arcp_buf_span(&lines), wanted);
    arcp_buf_fini(&lines);
    return first - 1;
}

arcp__worker_job_row runtime_end_row(const runtime_end *r)
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

/* ---- all together ---- */

void runtime_end_open_linked(runtime_end *r, unsigned keep_ms, unsigned grace_ms)
{
    runtime_end_open(r);
    runtime_end_listen(r);
    runtime_end_spawn_with_store(r);
    runtime_end_accept(r);
    runtime_end_welcome(r, keep_ms, grace_ms, "");
}

pid_t runtime_end_run(runtime_end *r, const char *job, const char *script)
{
    runtime_end_start(r, job, false, script);
    return (pid_t)runtime_end_next(r, ARCP__WORKER_STARTED)->started.pid;
}

void runtime_end_go_on(runtime_end *r, const char *job)
{
    char rows[128];
    (void)snprintf(rows, sizeof rows, "{\"job\":\"%s\",\"what\":\"go_on\"}\n", job);
    runtime_end_welcome(r, KEEP_MS, GRACE_MS, rows);
    runtime_end_next(r, ARCP__WORKER_STARTED);
}

pid_t runtime_end_open_job(runtime_end *r, unsigned grace_ms, const char *script)
{
    runtime_end_open_linked(r, KEEP_MS, grace_ms);
    return runtime_end_run(r, "j", script);
}
