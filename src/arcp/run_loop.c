/* The loop of `arcp run`. */
#include <errno.h>
#include <sys/socket.h>

#include "arcp/run_process.h"
#include "base/directory.h"

#define RECORD_MAX 65536

/* ---- descriptors ---- */

arcp_status arcp__run_watch(uv_loop_t *loop, uv_poll_t *poll, int fd, uv_poll_cb callback,
                            void *user, arcp_error *err)
{
    int result = uv_poll_init(loop, poll, fd);
    if (result == 0) {
        poll->data = user;
        result = uv_poll_start(poll, UV_READABLE, callback);
    }
    return result == 0 ? ARCP_OK
                       : arcp_error_set(err, ARCP_E_IO, "a descriptor cannot be watched: %s",
                                        uv_strerror(result));
}

static void unwatch(uv_handle_t *handle)
{
    if (handle->loop != NULL && !uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void arcp__run_unwatch(uv_poll_t *poll)
{
    unwatch((uv_handle_t *)poll);
}

/* ---- events ---- */

static void take_records(arcp__running *running)
{
    char record[RECORD_MAX];
    ssize_t size;
    do {
        size = recv(running->control, record, sizeof record, MSG_DONTWAIT | MSG_TRUNC);
        if (size > 0 && (size_t)size <= sizeof record) {
            arcp__run_report_record(running->report, arcp_span_make(record, (size_t)size));
        }
    } while (size > 0 || (size < 0 && errno == EINTR));
    if (size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        arcp__run_unwatch(&running->control_poll);
        arcp__close(running->control);
        running->control = -1;
    }
}

static void on_control(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    take_records(poll->data);
}

static void on_signal(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    arcp__run_take_signals(poll->data);
}

static void on_exit_readable(uv_poll_t *poll, int status, int events)
{
    arcp__running *running = poll->data;
    (void)status;
    (void)events;
    running->has_ended = running->process->ops->take_exit(running->process, &running->end);
    if (running->has_ended) {
        uv_stop(&running->loop);
    }
}

/* ---- running ---- */

static arcp_status watch_all(arcp__running *running, arcp_error *err)
{
    uv_loop_t *loop = &running->loop;
    arcp_status status =
        arcp__run_watch(loop, &running->signals_poll, running->signals, on_signal, running, err);
    if (status == ARCP_OK) {
        status = arcp__run_watch(loop, &running->control_poll, running->control, on_control,
                                 running, err);
    }
    if (status == ARCP_OK) {
        status = arcp__run_watch(loop, &running->exit_poll, running->process->exit_fd,
                                 on_exit_readable, running, err);
    }
    for (size_t i = 0; i < ARCP__RUN_RELAYS && status == ARCP_OK; i++) {
        status = arcp__run_relay_start(loop, &running->relays[i], err);
    }
    return status;
}

arcp_status arcp__run_loop(arcp__running *running, arcp_error *err)
{
    const arcp_status status = watch_all(running, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__run_time_start(running);
    while (!running->has_ended) {
        (void)uv_run(&running->loop, UV_RUN_DEFAULT);
    }
    if (running->control >= 0) {
        take_records(running);
    }
    for (size_t i = 0; i < ARCP__RUN_RELAYS; i++) {
        arcp__run_relay_drain(&running->relays[i]);
    }
    return ARCP_OK;
}

void arcp__run_loop_fini(arcp__running *running)
{
    arcp__run_unwatch(&running->signals_poll);
    arcp__run_unwatch(&running->control_poll);
    arcp__run_unwatch(&running->exit_poll);
    unwatch((uv_handle_t *)&running->timer);
    for (size_t i = 0; i < ARCP__RUN_RELAYS; i++) {
        arcp__run_unwatch(&running->relays[i].poll);
    }
    (void)uv_run(&running->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&running->loop);
}
