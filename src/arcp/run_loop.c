/* The loop of `arcp run`. */
#include "arcp/run_learn.h"
#include "arcp/run_process.h"

/* After the end: enough for all denials that arcp-sandbox reports, each with a last count. */
#define RECORD_TURNS_MAX 64
#define CLOSING_TURNS    8 /* each handle needs one */

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

/* Whether the sandbox should have a network, and its sockets have not arrived. */
static bool lacks_listeners(const arcp__running *running)
{
    const arcp__sandbox_plan *plan = running->run->plan;
    return (plan->port_count != 0 || plan->has_proxy) && !running->control.has_listeners;
}

static void on_record(void *user, arcp_span record)
{
    arcp__running *running = user;
    if (running->run->learn != NULL && arcp__run_learn_record(running->run->learn, record)) {
        return;
    }
    arcp__run_report_record(running->report, record);
    if (running->report->is_running && lacks_listeners(running)) {
        arcp__run_network_fail(running, "its sockets did not arrive");
    }
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    arcp__run_network_open(user, sockets, count);
}

static void on_refused(void *user, const char *reason)
{
    arcp__running *running = user;
    if (lacks_listeners(running)) {
        arcp__run_network_fail(running, reason);
    }
}

static void on_ended(void *user)
{
    arcp__running *running = user;
    arcp__run_unwatch(&running->control_poll);
}

void arcp__run_control_init(arcp__running *running, int fd)
{
    const arcp__launch_control_events events = {.record = on_record,
                                                .listeners = on_listeners,
                                                .refused = on_refused,
                                                .ended = on_ended,
                                                .user = running};
    arcp__launch_control_init(&running->control, fd, &events);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    arcp__running *running = poll->data;
    (void)arcp__launch_control_take(&running->control);
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
        status = arcp__run_watch(loop, &running->control_poll, running->control.fd, on_control,
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
    arcp__run_network_close(running);
    for (size_t i = 0; i < RECORD_TURNS_MAX && arcp__launch_control_take(&running->control); i++) {
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
    arcp__egress_free(running->egress);
    unwatch((uv_handle_t *)&running->timer);
    for (size_t i = 0; i < ARCP__RUN_RELAYS; i++) {
        arcp__run_unwatch(&running->relays[i].poll);
    }
    /* The resolver may take long for a name that is not needed any more. */
    for (size_t i = 0; i < CLOSING_TURNS && uv_loop_alive(&running->loop) != 0; i++) {
        (void)uv_run(&running->loop, UV_RUN_NOWAIT);
    }
    running->is_busy = uv_loop_close(&running->loop) != 0;
}
