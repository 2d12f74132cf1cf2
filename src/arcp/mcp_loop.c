/* The server's process, and the loop between it and the client.
 *
 *   client --stdin--> filter --pipe--> server          a side is read while less than QUEUED_MAX is
 *   client <--stdout-- filter <--pipe-- server         queued where its lines go
 *
 * The end has stages, each with a time limit (enter): the client closes its end, or goes away, or
 * we get a signal; the server's input is closed; it gets SIGTERM; it is killed; it has ended, and
 * what it has written is read; the client is sent what is queued for it. */
#include "arcp/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <arcp/sys/launcher.h>

#include "base/clock.h"
#include "base/directory.h"
#include "launch/launch.h"
#include "stream/stream.h"

#define QUEUED_MAX    ((size_t)1024 * 1024)
#define CLOSE_WAIT_MS 2000 /* from the end of its input to SIGTERM */
#define TERM_WAIT_MS  2000 /* from SIGTERM to SIGKILL */
#define DRAIN_WAIT_MS 1000 /* another process may still hold the server's output */
#define LEAVE_WAIT_MS 5000 /* for a client that does not read */
/* The wall clock may be set while we wait for the end of the lease. */
#define EXPIRY_WAIT_MS_MAX 1000
#define CLOSING_TURNS      8 /* each handle needs one */

typedef enum serving_stage {
    STAGE_SERVING,
    STAGE_CLOSING,     /* the server's input is, or will be, closed */
    STAGE_TERMINATING, /* it got SIGTERM */
    STAGE_KILLED,
    STAGE_DRAINING, /* it has ended; its output may not be read to the end */
    STAGE_LEAVING,  /* all is known: the client is sent the rest */
    STAGE_OVER
} serving_stage;

typedef struct serving serving;

/* The client, or the server. */
typedef struct side {
    serving *serving;
    arcp__mcp_side which;
    arcp__stream *in, *out; /* NULL: closed */
    arcp__mcp_lines lines;
    arcp_buf *queued; /* of the filter's output: for `out` */
    size_t writing;   /* bytes that `out` has taken over and not written */
    bool has_ended;   /* `in` */
} side;

struct serving {
    arcp__mcp *mcp;
    uv_loop_t loop;
    arcp__loop_share *share;
    arcp__mcp_output output;
    arcp__mcp_filter *filter;
    side client, server;
    arcp_process *process;
    arcp_process_exit end;
    uv_poll_t exit_poll;
    uv_timer_t timer;
    uv_signal_t signals[3];
    serving_stage stage;
    int64_t deadline_ms; /* of the stage, on the loop's clock; INT64_MAX: none */
    bool is_expired;
    arcp_status status; /* why serving has failed */
    arcp_error *err;
};

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};

static void enter(serving *s, serving_stage stage);

/* ---- bytes ---- */

static size_t queued(const side *to)
{
    return to->queued->size + to->writing;
}

static void fail(serving *s, arcp_status status)
{
    if (status != ARCP_OK && s->status == ARCP_OK) {
        s->status = status;
        enter(s, STAGE_OVER);
    }
}

/* The other end cannot be written any more: what is queued for it is lost. */
static void lose(side *to)
{
    arcp_buf_clear(to->queued);
    to->writing = 0;
    arcp__stream_close(&to->out);
    enter(to->serving, STAGE_CLOSING);
}

static void flush(side *to)
{
    if (to->out == NULL) {
        arcp_buf_clear(to->queued);
    } else if (to->writing == 0 && to->queued->size != 0) {
        const size_t size = to->queued->size;
        size_t written = 0;
        if (!to->out->ops->write(to->out, to->queued, &written)) {
            lose(to);
            return;
        }
        to->writing = size - written;
    }
}

static void read_while(side *from, bool may_read)
{
    if (from->in == NULL || from->has_ended) {
        return;
    }
    if (may_read) {
        from->in->ops->start(from->in);
    } else {
        from->in->ops->stop(from->in);
    }
}

/* After anything has happened: writes what can be written, and reads what has room. */
static void settle(serving *s)
{
    flush(&s->client);
    flush(&s->server);
    if (s->stage >= STAGE_CLOSING && s->server.out != NULL && queued(&s->server) == 0) {
        arcp__stream_close(&s->server.out);
    }
    if (s->stage == STAGE_LEAVING && queued(&s->client) == 0) {
        enter(s, STAGE_OVER);
    }
    const bool client_has_room = queued(&s->client) < QUEUED_MAX;
    s->output.is_server_behind = queued(&s->server) >= QUEUED_MAX;
    /* Messages of the client may be answered at once; the server is always read while the client
     * reads, so that the two cannot wait for each other. */
    read_while(&s->client,
               s->stage == STAGE_SERVING && client_has_room && !s->output.is_server_behind);
    read_while(&s->server, s->stage < STAGE_LEAVING && client_has_room);
}

static arcp_status take(side *from, arcp__mcp_line_event event, arcp_span line)
{
    serving *s = from->serving;
    const arcp_time now = arcp__clock_now();
    if (event == ARCP__MCP_LINE_NO_MEMORY) {
        return arcp_error_set(s->err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return event == ARCP__MCP_LINE_TOO_LONG
               ? arcp__mcp_filter_skip(s->filter, from->which, line, s->err)
           : from->which == ARCP__MCP_CLIENT
               ? arcp__mcp_filter_take_client(s->filter, now, line, s->err)
               : arcp__mcp_filter_take_server(s->filter, now, line, s->err);
}

static void on_bytes(void *user, arcp_span bytes)
{
    side *from = user;
    arcp_span line = {NULL, 0};
    arcp_status status = ARCP_OK;
    while (status == ARCP_OK) {
        const arcp__mcp_line_event event = arcp__mcp_lines_next(&from->lines, &bytes, &line);
        if (event == ARCP__MCP_LINE_NONE) {
            break;
        }
        status = take(from, event, line);
    }
    fail(from->serving, status);
    settle(from->serving);
}

static void on_ended(void *user, const arcp_error *why)
{
    side *from = user;
    serving *s = from->serving;
    arcp_span line = {NULL, 0};
    if (from->has_ended) {
        return;
    }
    from->has_ended = true;
    const arcp__mcp_line_event event = arcp__mcp_lines_last(&from->lines, &line);
    if (event != ARCP__MCP_LINE_NONE) {
        fail(s, take(from, event, line));
    }
    if (from->which == ARCP__MCP_SERVER && s->stage == STAGE_DRAINING) {
        enter(s, STAGE_LEAVING);
    }
    enter(s, STAGE_CLOSING);
    settle(s);
}

static void on_written(void *user, size_t size)
{
    side *to = user;
    to->writing -= size;
    settle(to->serving);
}

static void on_write_ended(void *user, const arcp_error *why)
{
    side *to = user;
    lose(to);
    settle(to->serving);
}

/* ---- stages and time ---- */

static void say_end(serving *s)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "the server has ended with %s %d",
                           s->end.by_signal ? "signal" : "status", s->end.code);
    fail(s, arcp__mcp_filter_end(s->filter, arcp_buf_cstr(&text), s->err));
    arcp_buf_fini(&text);
}

/* The one function that changes the stage; there is no way back. Requests that wait for a response
 * get an error when the server has ended, and not when it closes its output: its status is known
 * then. */
static void enter(serving *s, serving_stage stage)
{
    static const int64_t limits_ms[] = {
        [STAGE_SERVING] = INT64_MAX,        [STAGE_CLOSING] = CLOSE_WAIT_MS,
        [STAGE_TERMINATING] = TERM_WAIT_MS, [STAGE_KILLED] = INT64_MAX,
        [STAGE_DRAINING] = DRAIN_WAIT_MS,   [STAGE_LEAVING] = LEAVE_WAIT_MS,
        [STAGE_OVER] = INT64_MAX,
    };
    if (stage <= s->stage) {
        return;
    }
    s->stage = stage;
    uv_update_time(&s->loop);
    s->deadline_ms =
        limits_ms[stage] == INT64_MAX ? INT64_MAX : (int64_t)uv_now(&s->loop) + limits_ms[stage];
    switch (stage) {
    case STAGE_TERMINATING:
        s->process->ops->signal(s->process, SIGTERM);
        break;
    case STAGE_KILLED:
        s->process->ops->signal(s->process, SIGKILL);
        break;
    case STAGE_LEAVING:
        say_end(s);
        break;
    case STAGE_OVER:
        uv_stop(&s->loop);
        break;
    case STAGE_SERVING:
    case STAGE_CLOSING:
    case STAGE_DRAINING:
        break;
    }
}

static serving_stage next_of(serving_stage stage)
{
    return stage == STAGE_CLOSING       ? STAGE_TERMINATING
           : stage == STAGE_TERMINATING ? STAGE_KILLED
           : stage == STAGE_DRAINING    ? STAGE_LEAVING
                                        : STAGE_OVER;
}

static void check_expiry(serving *s)
{
    const arcp_time now = arcp__clock_now();
    size_t count = 0;
    if (!s->is_expired && arcp_authority_is_expired(s->mcp->authority, now)) {
        s->is_expired = true;
        fail(s, arcp__mcp_filter_expire(s->filter, now, &count, s->err));
        arcp__mcp_log_expiry(s->mcp, now, count);
    }
}

/* Milliseconds until the lease may have expired; at most EXPIRY_WAIT_MS_MAX. */
static int64_t expiry_wait_ms(const serving *s)
{
    const int64_t deadline_ns = arcp_authority_deadline_mono_ns(s->mcp->authority);
    if (s->is_expired || deadline_ns == ARCP_TIME_NEVER) {
        return INT64_MAX;
    }
    const int64_t left_ns = deadline_ns - arcp__clock_now().mono_ns;
    const int64_t left_ms = left_ns <= 0 ? 0 : (left_ns - 1) / ARCP_NS_PER_MS + 1;
    return left_ms < EXPIRY_WAIT_MS_MAX ? left_ms : EXPIRY_WAIT_MS_MAX;
}

static void on_time(uv_timer_t *timer)
{
    serving *s = timer->data;
    check_expiry(s);
    if ((int64_t)uv_now(&s->loop) >= s->deadline_ms) {
        enter(s, next_of(s->stage));
    }
    settle(s);
}

/* Runs before the loop waits, so that a stage that was just entered has its timer. */
static void set_timer(serving *s)
{
    const int64_t expiry_ms = expiry_wait_ms(s);
    const int64_t stage_ms =
        s->deadline_ms == INT64_MAX ? INT64_MAX : s->deadline_ms - (int64_t)uv_now(&s->loop);
    const int64_t wait_ms = expiry_ms < stage_ms ? expiry_ms : stage_ms;
    if (wait_ms == INT64_MAX) {
        (void)uv_timer_stop(&s->timer);
    } else {
        (void)uv_timer_start(&s->timer, on_time, wait_ms < 0 ? 0 : (uint64_t)wait_ms, 0);
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    serving *s = handle->data;
    enter(s, STAGE_TERMINATING);
    settle(s);
}

static void on_exit_readable(uv_poll_t *poll, int status, int events)
{
    serving *s = poll->data;
    if (s->process->ops->take_exit(s->process, &s->end)) {
        (void)uv_poll_stop(poll);
        enter(s, STAGE_DRAINING);
        if (s->server.has_ended) {
            enter(s, STAGE_LEAVING);
        }
        settle(s);
    }
}

/* ---- the beginning ---- */

static arcp_status open_stream(side *owner, int fd, bool is_input, arcp_error *err)
{
    arcp__stream **out = is_input ? &owner->in : &owner->out;
    const arcp_status status = arcp__fd_stream_new(owner->serving->share, fd, out, err);
    if (status == ARCP_OK) {
        (*out)->events = is_input ? (arcp__stream_events){on_bytes, on_ended, NULL, owner}
                                  : (arcp__stream_events){NULL, on_write_ended, on_written, owner};
    }
    return status;
}

/* Starts the server with the other ends of two pipes, and our standard error and environment. */
static arcp_status start(serving *s, const int input[2], const int output[2], arcp_error *err)
{
    const char *const *words = s->mcp->program->arguments.words;
    char path[ARCP__LAUNCH_PATH_MAX];
    arcp_launcher *launcher = NULL;
    arcp_launch_spec spec = arcp_launch_spec_init();
    spec.argv = words;
    spec.env = (const char *const *)environ;
    spec.stdin_fd = input[0];
    spec.stdout_fd = output[1];
    spec.stderr_fd = STDERR_FILENO;
    arcp_status status = arcp__launch_find(words[0], getenv("PATH"), path, err);
    if (status != ARCP_OK || access(path, F_OK) != 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "%.200s: there is no such program", words[0]);
    }
    if (access(path, X_OK) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "%.200s cannot be executed: %s", words[0],
                              strerror(errno));
    }
    status = arcp_launcher_new_direct(NULL, &launcher, err);
    if (status == ARCP_OK) {
        status = launcher->ops->start(launcher, &spec, &s->process, err);
    }
    arcp_launcher_free(launcher);
    return status;
}

static arcp_status open_all(serving *s, arcp_error *err)
{
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    arcp_status status = ARCP_OK;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
        status = arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", strerror(errno));
    }
    if (status == ARCP_OK) {
        status = start(s, input, output, err);
    }
    arcp__close(input[0]);
    arcp__close(output[1]);
    if (status == ARCP_OK) {
        status = open_stream(&s->server, input[1], false, err);
        input[1] = status == ARCP_OK ? -1 : input[1];
    }
    if (status == ARCP_OK) {
        status = open_stream(&s->server, output[0], true, err);
        output[0] = status == ARCP_OK ? -1 : output[0];
    }
    if (status == ARCP_OK) {
        status = open_stream(&s->client, STDIN_FILENO, true, err);
    }
    if (status == ARCP_OK) {
        status = open_stream(&s->client, STDOUT_FILENO, false, err);
    }
    arcp__close(input[1]);
    arcp__close(output[0]);
    return status;
}

/* Before the server is started, which a signal would leave behind. */
static arcp_status watch_signals(serving *s, arcp_error *err)
{
    int result = 0;
    for (size_t i = 0; i < 3 && result == 0; i++) {
        (void)uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        result = uv_signal_start(&s->signals[i], on_signal, watched[i]);
    }
    return result == 0 ? ARCP_OK
                       : arcp_error_set(err, ARCP_E_IO, "signals cannot be watched: %s",
                                        uv_strerror(result));
}

static arcp_status watch_server(serving *s, arcp_error *err)
{
    (void)uv_timer_init(&s->loop, &s->timer);
    s->timer.data = s;
    int result = uv_poll_init(&s->loop, &s->exit_poll, s->process->exit_fd);
    if (result == 0) {
        s->exit_poll.data = s;
        result = uv_poll_start(&s->exit_poll, UV_READABLE, on_exit_readable);
    }
    return result == 0 ? ARCP_OK
                       : arcp_error_set(err, ARCP_E_IO, "the server cannot be watched: %s",
                                        uv_strerror(result));
}

/* ---- the whole ---- */

static void close_handle(uv_handle_t *handle)
{
    if (handle->loop != NULL && !uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void fini(serving *s)
{
    side *const sides[] = {&s->client, &s->server};
    for (size_t i = 0; i < 2; i++) {
        arcp__stream_close(&sides[i]->in);
        arcp__stream_close(&sides[i]->out);
        arcp__mcp_lines_fini(&sides[i]->lines);
    }
    close_handle((uv_handle_t *)&s->timer);
    close_handle((uv_handle_t *)&s->exit_poll);
    for (size_t i = 0; i < 3; i++) {
        close_handle((uv_handle_t *)&s->signals[i]);
    }
    if (s->share != NULL) {
        arcp__loop_share_unref(s->share);
    }
    for (size_t i = 0; i < CLOSING_TURNS && uv_loop_alive(&s->loop) != 0; i++) {
        (void)uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    if (s->process != NULL) {
        s->process->ops->free(s->process);
    }
    (void)uv_loop_close(&s->loop);
    arcp__mcp_filter_free(s->filter);
    arcp_buf_fini(&s->output.to_client);
    arcp_buf_fini(&s->output.to_server);
}

static arcp_status begin(serving *s, arcp_error *err)
{
    const arcp__mcp_filter_options options = {
        .authority = s->mcp->authority,
        .name = arcp_span_cstr(s->mcp->name),
        .output = &s->output,
        .events = {arcp__mcp_on_decided, arcp__mcp_on_listed, arcp__mcp_on_dropped, s->mcp},
    };
    s->share = arcp__loop_share_new(&s->loop);
    if (s->share == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = arcp__mcp_filter_new(&options, &s->filter, err);
    if (status == ARCP_OK) {
        status = watch_signals(s, err);
    }
    if (status == ARCP_OK) {
        status = open_all(s, err);
    }
    return status == ARCP_OK ? watch_server(s, err) : status;
}

arcp_status arcp__mcp_serve(arcp__mcp *mcp, int *exit_status, arcp_error *err)
{
    serving s = {.mcp = mcp,
                 .client = {.which = ARCP__MCP_CLIENT},
                 .server = {.which = ARCP__MCP_SERVER},
                 .end = arcp_process_exit_init(),
                 .deadline_ms = INT64_MAX,
                 .err = err};
    s.client.serving = &s;
    s.server.serving = &s;
    s.client.queued = &s.output.to_client;
    s.server.queued = &s.output.to_server;
    const int result = uv_loop_init(&s.loop);
    if (result != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a loop: %s", uv_strerror(result));
    }
    arcp_status status = begin(&s, err);
    if (status == ARCP_OK) {
        settle(&s);
        while (s.stage != STAGE_OVER) {
            set_timer(&s);
            (void)uv_run(&s.loop, UV_RUN_ONCE);
        }
        status = s.status;
        *exit_status = s.end.by_signal ? 128 + s.end.code : s.end.code;
    }
    fini(&s);
    return status;
}
