/* The sandbox of a process: the socket that its records and the sockets of its network come from,
 * and its directory for HOME and TMPDIR. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "launch/sandbox_record.h"
#include "process/process_state.h"

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

bool arcp__agent_process_has_run_out(const arcp__agent_process *process)
{
    return process->has_run_out;
}

/* `step` is one of launch_stage.def. */
static void fail(arcp__agent_process *process, const char *step, const char *what, const char *why)
{
    arcp__process_sandbox *sandbox = process->sandbox;
    if (sandbox != NULL && sandbox->step == NULL) {
        sandbox->step = step;
        arcp_buf_append_format(&sandbox->failure, "%s: %s", what, why);
    }
    arcp__agent_process_kill(process);
}

void arcp__agent_process_fail_network(arcp__agent_process *process, const char *why)
{
    fail(process, "listeners", "network", why);
}

/* Whether the sandbox should have a network, and its sockets have not arrived. */
static bool lacks_listeners(const arcp__process_sandbox *sandbox)
{
    return sandbox->has_network && !sandbox->control.has_listeners;
}

static void on_record(void *user, arcp_span record)
{
    arcp__agent_process *process = user;
    arcp__process_sandbox *sandbox = process->sandbox;
    const arcp__sandbox_record type = arcp__sandbox_record_type(record);
    if (type == ARCP__SANDBOX_RECORD_OTHER || process->is_reported) {
        return;
    }
    if (type == ARCP__SANDBOX_RECORD_LEASED) {
        if (sandbox->awaits_lease && process->callbacks.leased != NULL) {
            sandbox->awaits_lease = false;
            process->callbacks.leased(process->callbacks.user);
        }
        return;
    }
    if (type == ARCP__SANDBOX_RECORD_DENIED && sandbox->awaits_lease) {
        return; /* of no job */
    }
    if (type == ARCP__SANDBOX_RECORD_FAILED && sandbox->step == NULL) {
        sandbox->step = arcp__sandbox_record_failure(record, &sandbox->failure);
    } else if (type == ARCP__SANDBOX_RECORD_RUNNING && lacks_listeners(sandbox)) {
        arcp__agent_process_fail_network(process, "its sockets did not arrive");
    }
    if (process->callbacks.record != NULL) {
        process->callbacks.record(process->callbacks.user, record);
    }
}

static void pass_listeners(const arcp__agent_process *process, const int *sockets, size_t count)
{
    const char *secret = process->sandbox->control.secret;
    process->callbacks.listeners(process->callbacks.user, sockets, count,
                                 secret[0] == '\0' ? NULL : secret);
}

static void close_sockets(const int *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp__close(sockets[i]);
    }
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    const arcp__agent_process *process = user;
    arcp__process_sandbox *sandbox = process->sandbox;
    if (!process->is_reported && process->callbacks.listeners != NULL) {
        pass_listeners(process, sockets, count);
        return;
    }
    if (!process->is_reported && sandbox->awaits_lease) {
        sandbox->kept = arcp__alloc_array(count, sizeof *sandbox->kept);
    }
    if (sandbox->kept == NULL) {
        close_sockets(sockets, count);
        return;
    }
    memcpy(sandbox->kept, sockets, count * sizeof *sockets);
    sandbox->kept_count = count;
}

void arcp__agent_process_take_listeners(arcp__agent_process *process)
{
    arcp__process_sandbox *sandbox = process->sandbox;
    if (sandbox == NULL || sandbox->kept == NULL || process->callbacks.listeners == NULL) {
        return;
    }
    int *kept = sandbox->kept;
    sandbox->kept = NULL;
    pass_listeners(process, kept, sandbox->kept_count);
    arcp__free(kept);
}

arcp_status arcp__agent_process_lease(arcp__agent_process *process, arcp_span plan, arcp_error *err)
{
    const arcp__process_sandbox *sandbox = process->sandbox;
    return sandbox == NULL ? arcp_error_set(err, ARCP_E_IO, "the process is not confined")
                           : arcp__launch_control_lease(&sandbox->control, plan, err);
}

void arcp__agent_process_revoke(arcp__agent_process *process)
{
    arcp_error err = {0};
    if (process->sandbox != NULL &&
        arcp__launch_control_revoke(&process->sandbox->control, &err) != ARCP_OK) {
        fail(process, "lease", "lease", err.message);
    }
}

static void on_refused(void *user, const char *reason)
{
    arcp__agent_process *process = user;
    if (lacks_listeners(process->sandbox)) {
        arcp__agent_process_fail_network(process, reason);
    }
}

static void on_ended(void *user)
{
    const arcp__agent_process *process = user;
    uv_handle_t *poll = (uv_handle_t *)&process->sandbox->poll;
    if (!uv_is_closing(poll)) {
        uv_close(poll, arcp__agent_process_handle_closed);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    const arcp__agent_process *process = poll->data;
    (void)arcp__launch_control_take(&process->sandbox->control);
}

void arcp__process_sandbox_watch(arcp__agent_process *process)
{
    arcp__process_sandbox *sandbox = process->sandbox;
    const arcp__launch_control_events events = {.record = on_record,
                                                .listeners = on_listeners,
                                                .refused = on_refused,
                                                .ended = on_ended,
                                                .user = process};
    arcp__launch_control_init(&sandbox->control, sandbox->control.fd, &events);
    sandbox->poll.data = process;
    /* This cannot fail: the socket is open, and epoll can watch it. */
    (void)uv_poll_init(process->table->loop, &sandbox->poll, sandbox->control.fd);
    (void)uv_poll_start(&sandbox->poll, UV_READABLE, on_readable);
}

void arcp__process_sandbox_drain(arcp__agent_process *process)
{
    for (int i = 0; i < DRAIN_ROUNDS_MAX && arcp__launch_control_take(&process->sandbox->control);
         i++) {
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
    sandbox->has_network = confinement->has_network;
    sandbox->awaits_lease = confinement->is_late;
    sandbox->control.fd = -1;
    sandbox->failure = arcp_buf_init();
    sandbox->theirs = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        arcp__free(sandbox);
        return arcp_error_set(err, ARCP_E_IO, "cannot create a socket: %s", strerror(errno));
    }
    sandbox->theirs = ends[1];
    sandbox->control.fd = ends[0];
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
    if (sandbox->kept != NULL) {
        close_sockets(sandbox->kept, sandbox->kept_count);
        arcp__free(sandbox->kept);
    }
    arcp__launch_control_fini(&sandbox->control);
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
