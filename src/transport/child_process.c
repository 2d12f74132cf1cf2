#include "transport/child_process.h"

#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"

struct arcp__child_process {
    uv_process_t process;
    arcp__child_exited exited;
    void *user;
    bool running;
    bool released;
};

static void on_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    arcp__child_process *child = process->data;
    child->running = false;
    if (child->released) {
        uv_close((uv_handle_t *)process, on_closed);
    } else if (child->exited != NULL) {
        child->exited(child->user, status, signal);
    }
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* Two pipes: input[0] and output[1] are the program's. */
static arcp_status open_pipes(int input[2], int output[2], arcp_error *err)
{
    int result = uv_pipe(input, 0, UV_NONBLOCK_PIPE);
    if (result == 0) {
        result = uv_pipe(output, UV_NONBLOCK_PIPE, 0);
        if (result != 0) {
            close_pair(input);
        }
    }
    if (result != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot make a pipe: %s", uv_strerror(result));
    }
    return ARCP_OK;
}

static int spawn(arcp__child_process *child, uv_loop_t *loop, char *const *words, int input,
                 int output)
{
    uv_stdio_container_t files[3] = {
        {.flags = UV_INHERIT_FD, .data.fd = input},
        {.flags = UV_INHERIT_FD, .data.fd = output},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit,
        .file = words[0],
        .args = (char **)words,
        .flags = UV_PROCESS_DETACHED, /* a session, so a group, of its own */
        .stdio = files,
        .stdio_count = 3,
    };
    return uv_spawn(loop, &child->process, &options);
}

arcp_status arcp__child_process_start(uv_loop_t *loop, char *const *words,
                                      arcp__child_process **out, arcp__child_pipes *pipes,
                                      arcp_error *err)
{
    arcp__child_process *child = arcp__alloc(sizeof(*child));
    if (child == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a process");
    }
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    arcp_status status = open_pipes(input, output, err);
    if (status != ARCP_OK) {
        arcp__free(child);
        return status;
    }
    child->process.data = child;
    int result = spawn(child, loop, words, input[0], output[1]);
    close(input[0]);
    close(output[1]);
    if (result != 0) {
        close(input[1]);
        close(output[0]);
        uv_close((uv_handle_t *)&child->process, on_closed);
        return arcp_error_set(err, ARCP_E_IO, "cannot start %s: %s", words[0], uv_strerror(result));
    }
    child->running = true;
    *pipes = (arcp__child_pipes){.to = input[1], .from = output[0]};
    *out = child;
    return ARCP_OK;
}

void arcp__child_process_watch(arcp__child_process *child, arcp__child_exited exited, void *user)
{
    child->exited = exited;
    child->user = user;
}

void arcp__child_process_release(arcp__child_process *child)
{
    if (child == NULL) {
        return;
    }
    child->released = true;
    if (!child->running) {
        uv_close((uv_handle_t *)&child->process, on_closed);
        return;
    }
    /* Its exit comes later, and frees it. Until then the process id cannot be another's. */
    kill(-uv_process_get_pid(&child->process), SIGKILL);
}
