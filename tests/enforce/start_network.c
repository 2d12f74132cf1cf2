#include "enforce/start_network.h"

#include <err.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include <arcp/gate.h>

#include "egress/egress.h"
#include "launch/launcher_control.h"
#include "launch/sandbox_record.h"

enum { TAKES_MAX = 64 };

typedef struct network {
    uv_loop_t loop;
    uv_poll_t control_poll, exit_poll;
    arcp__launch_control control;
    arcp__egress *egress;
    const arcp_lease *lease;
    arcp_process *process;
    arcp_process_exit *end;
    int leased; /* a byte is written here when the program has its lease; -1: it had it before */
} network;

static void check(arcp_status status, const arcp_error *error)
{
    if (status != ARCP_OK) {
        errx(125, "%s", error->message);
    }
}

static void on_record(void *user, arcp_span record)
{
    const network *here = user;
    (void)fprintf(stderr, "%.*s\n", (int)record.size, record.data);
    if (here->leased >= 0 && arcp__sandbox_record_type(record) == ARCP__SANDBOX_RECORD_LEASED &&
        write(here->leased, "", 1) != 1) {
        errx(125, "the program cannot go on");
    }
}

static void on_refused(void *user, const char *reason)
{
    (void)user;
    (void)fprintf(stderr, "refused: %s\n", reason);
}

static void on_denied(void *user, const arcp__egress_denial *denial)
{
    (void)user;
    (void)fprintf(stderr, "{\"denied\":1,\"capability\":\"%.*s\",\"target\":\"%.*s\"} %s\n",
                  (int)denial->capability.size, denial->capability.data, (int)denial->target.size,
                  denial->target.data, denial->reason);
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    network *here = user;
    arcp_error error;
    arcp_authority *authority = NULL;
    arcp__egress_job *job = NULL;
    const arcp_authority_options options = arcp_authority_options_init();
    check(arcp_authority_new(here->lease, &options, &authority, &error), &error);
    const arcp__egress_job_options job_options = {
        .authority = authority,
        .sockets = sockets,
        .socket_count = count,
        .proxy_secret = here->control.secret[0] == '\0' ? NULL : here->control.secret,
        .denied = on_denied};
    check(arcp__egress_open(here->egress, &job_options, &job, &error), &error);
    arcp_authority_unref(authority);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
    network *here = poll->data;
    (void)status;
    (void)events;
    (void)arcp__launch_control_take(&here->control);
}

static void on_ended(void *user)
{
    network *here = user;
    (void)uv_poll_stop(&here->control_poll);
}

static void on_exit_readable(uv_poll_t *poll, int status, int events)
{
    network *here = poll->data;
    (void)status;
    (void)events;
    if (here->process->ops->take_exit(here->process, here->end)) {
        uv_stop(&here->loop);
    }
}

static void watch(network *here, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
    if (uv_poll_init(&here->loop, poll, fd) != 0 ||
        uv_poll_start(poll, UV_READABLE, callback) != 0) {
        errx(125, "a descriptor cannot be watched");
    }
    poll->data = here;
}

void start_network_run(arcp_process *process, int control, const arcp_lease *lease, int leased,
                       arcp_process_exit *end)
{
    arcp_error error;
    network here = {.lease = lease, .process = process, .end = end, .leased = leased};
    const arcp__egress_options options = {.idle_ms = 0};
    const arcp__launch_control_events events = {.record = on_record,
                                                .listeners = on_listeners,
                                                .refused = on_refused,
                                                .ended = on_ended,
                                                .user = &here};
    if (uv_loop_init(&here.loop) != 0) {
        errx(125, "no loop can be made");
    }
    check(arcp__egress_new(&here.loop, &options, &here.egress, &error), &error);
    arcp__launch_control_init(&here.control, control, &events);
    watch(&here, &here.control_poll, control, on_control);
    watch(&here, &here.exit_poll, process->exit_fd, on_exit_readable);
    (void)uv_run(&here.loop, UV_RUN_DEFAULT);
    /* What was written before the end is still to be read. */
    (void)uv_poll_stop(&here.control_poll);
    for (int i = 0; i < TAKES_MAX && arcp__launch_control_take(&here.control); i++) {
    }
    arcp__egress_free(here.egress);
    uv_close((uv_handle_t *)&here.control_poll, NULL);
    uv_close((uv_handle_t *)&here.exit_poll, NULL);
    (void)uv_run(&here.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&here.loop);
    arcp__launch_control_fini(&here.control);
}
