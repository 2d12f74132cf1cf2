/* The sandbox of a process: the socket that its records come from, and its directory for HOME and
 * TMPDIR. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "launch/sandbox_record.h"
#include "process/process_state.h"

#define RECORD_BYTES_MAX 65536
#define RECORDS_MAX      64 /* taken at once, so that the loop is not held */
/* After the end no more records arrive than the socket holds. */
#define DRAIN_ROUNDS_MAX 64

/* ---- its directory ---- */

static arcp_status make_scratch(const char *path, const char *user, arcp_error *err)
{
    static const char *const names[] = {"home", "tmp"};
    char below[4096];
    arcp_status status = arcp__directory_make(path, user, err);
    for (size_t i = 0; i < 2 && status == ARCP_OK; i++) {
        const int written = snprintf(below, sizeof below, "%s/%s", path, names[i]);
        status =
            written < 0 || (size_t)written >= sizeof below
                ? arcp_error_set(err, ARCP_E_USAGE, "the path of the work directory is too long")
                : arcp__directory_make(below, user, err);
        if (status != ARCP_OK) {
            arcp__directory_remove(path);
        }
    }
    return status;
}

/* ---- records ---- */

static void take_record(arcp__agent_process *process, arcp_span record)
{
    arcp__process_sandbox *sandbox = process->sandbox;
    const arcp__sandbox_record type = arcp__sandbox_record_type(record);
    if (type == ARCP__SANDBOX_RECORD_OTHER || process->is_reported) {
        return;
    }
    if (type == ARCP__SANDBOX_RECORD_FAILED && sandbox->step == NULL) {
        sandbox->step = arcp__sandbox_record_failure(record, &sandbox->failure);
    }
    if (process->callbacks.record != NULL) {
        process->callbacks.record(process->callbacks.user, record);
    }
}

/* Takes what has arrived, at most RECORDS_MAX; false at its end. Then the handle is closed before
 * the descriptor: libuv would stop watching the next file that gets the number. */
static bool take_records(arcp__agent_process *process)
{
    static _Thread_local char record[RECORD_BYTES_MAX];
    arcp__process_sandbox *sandbox = process->sandbox;
    for (int i = 0; i < RECORDS_MAX; i++) {
        const ssize_t size =
            recv(sandbox->control, record, sizeof record, MSG_DONTWAIT | MSG_TRUNC);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            return true;
        }
        if (size <= 0) {
            if (!uv_is_closing((uv_handle_t *)&sandbox->poll)) {
                uv_close((uv_handle_t *)&sandbox->poll, arcp__agent_process_handle_closed);
            }
            arcp__close(sandbox->control);
            sandbox->control = -1;
            return false;
        }
        if ((size_t)size <= sizeof record) { /* a longer one is none of arcp-sandbox's */
            take_record(process, arcp_span_make(record, (size_t)size));
        }
    }
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)take_records(poll->data);
}

void arcp__process_sandbox_watch(arcp__agent_process *process)
{
    arcp__process_sandbox *sandbox = process->sandbox;
    sandbox->poll.data = process;
    /* This cannot fail: the socket is open, and epoll can watch it. */
    (void)uv_poll_init(process->table->loop, &sandbox->poll, sandbox->control);
    (void)uv_poll_start(&sandbox->poll, UV_READABLE, on_readable);
}

void arcp__process_sandbox_drain(arcp__agent_process *process)
{
    for (int i = 0; i < DRAIN_ROUNDS_MAX && process->sandbox->control >= 0; i++) {
        (void)take_records(process);
    }
}

/* ---- the sandbox ---- */

arcp_status arcp__process_sandbox_new(const arcp__process_confinement *confinement,
                                      const char *user, arcp__process_sandbox **out,
                                      arcp_error *err)
{
    arcp__process_sandbox *sandbox = arcp__alloc(sizeof *sandbox);
    int ends[2];
    if (sandbox == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    sandbox->has_processes = confinement->has_processes;
    sandbox->failure = arcp_buf_init();
    sandbox->theirs = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        arcp__free(sandbox);
        return arcp_error_set(err, ARCP_E_IO, "cannot create a socket: %s", strerror(errno));
    }
    sandbox->theirs = ends[1];
    sandbox->control = ends[0];
    arcp_status status = ARCP_OK;
    if (confinement->scratch != NULL) {
        status = make_scratch(confinement->scratch, user, err);
        sandbox->scratch =
            status != ARCP_OK ? NULL
                              : arcp__copy_cstr(confinement->scratch, strlen(confinement->scratch));
        if (status == ARCP_OK && sandbox->scratch == NULL) {
            arcp__directory_remove(confinement->scratch);
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    if (status != ARCP_OK) {
        arcp__process_sandbox_free(sandbox);
        return status;
    }
    *out = sandbox;
    return ARCP_OK;
}

void arcp__process_sandbox_close_theirs(arcp__process_sandbox *sandbox)
{
    arcp__close(sandbox->theirs);
    sandbox->theirs = -1;
}

void arcp__process_sandbox_free(arcp__process_sandbox *sandbox)
{
    if (sandbox == NULL) {
        return;
    }
    arcp__process_sandbox_close_theirs(sandbox);
    arcp__close(sandbox->control);
    arcp_buf_fini(&sandbox->failure);
    arcp__free(sandbox->scratch);
    arcp__free(sandbox);
}

arcp_span arcp__agent_process_failure(const arcp__agent_process *process, const char **step)
{
    const arcp__process_sandbox *sandbox = process->sandbox;
    const bool has_failed = sandbox != NULL && sandbox->step != NULL;
    if (step != NULL) {
        *step = has_failed ? sandbox->step : "";
    }
    return has_failed ? arcp_buf_span(&sandbox->failure) : arcp_span_make(NULL, 0);
}
