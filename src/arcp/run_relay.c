/* Output of the command that passes through us, so that control characters can be shown. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/run_process.h"
#include "base/directory.h"

int arcp__run_relay_open(arcp__run_relay *relay, int to)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    relay->from = ends[0];
    relay->to = to;
    return ends[1];
}

/* Reads once from the pipe; false when nothing was there. */
static bool take(arcp__run_relay *relay)
{
    char bytes[16384];
    arcp_buf shown = arcp_buf_init();
    const ssize_t size = relay->from < 0 ? -1 : read(relay->from, bytes, sizeof bytes);
    if (size < 0) {
        return relay->from >= 0 && errno == EINTR;
    }
    arcp__append_shown(&shown, arcp_span_make(bytes, (size_t)size), &relay->held, size == 0);
    (void)arcp__write_all(relay->to,
                          arcp_buf_span(&shown)); /* a reader that has closed it is no error */
    arcp_buf_fini(&shown);
    if (size == 0) {
        arcp__run_unwatch(&relay->poll);
        arcp__close(relay->from);
        relay->from = -1;
    }
    return size > 0;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)take(poll->data);
}

arcp_status arcp__run_relay_start(uv_loop_t *loop, arcp__run_relay *relay, arcp_error *err)
{
    return relay->from < 0
               ? ARCP_OK
               : arcp__run_watch(loop, &relay->poll, relay->from, on_readable, relay, err);
}

/* The pipe does not block: at level landlock a process that the command left behind may still hold
 * it. */
void arcp__run_relay_drain(arcp__run_relay *relay)
{
    while (take(relay)) {
    }
}

void arcp__run_relay_fini(arcp__run_relay *relay)
{
    arcp__run_unwatch(&relay->poll);
    arcp__close(relay->from);
    relay->from = -1;
    arcp_buf_fini(&relay->held);
}
