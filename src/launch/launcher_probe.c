#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory.h"
#include "base/libexec.h"
#include "launch/launch.h"

#define PROGRAM     "arcp-sandbox"
#define OUTPUT_MAX  65536
#define DEADLINE_MS 10000 /* it takes 20 ms; if it takes this long, something has stopped it */

/* Reads to the end. Returns 0 or an errno. */
static int read_output(int fd, arcp_buf *out)
{
    const int64_t until_ns = arcp__clock_ns(CLOCK_MONOTONIC) + DEADLINE_MS * ARCP_NS_PER_MS;
    const size_t start = out->size;
    for (;;) {
        char bytes[4096];
        struct pollfd waited = {.fd = fd, .events = POLLIN};
        const int64_t left_ns = until_ns - arcp__clock_ns(CLOCK_MONOTONIC);
        const int ready = left_ns <= 0 ? 0 : poll(&waited, 1, (int)(left_ns / ARCP_NS_PER_MS) + 1);
        const ssize_t got = ready <= 0 ? ready : read(fd, bytes, sizeof bytes);
        if (ready == 0) {
            return ETIMEDOUT;
        }
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        if (ready > 0 && got == 0) {
            return 0;
        }
        if (got > 0) {
            arcp_buf_append(out, arcp_span_make(bytes, (size_t)got));
        }
        if (out->size - start > OUTPUT_MAX || out->failed) {
            return EFBIG;
        }
    }
}

static int spawn(const char *path, int output, pid_t *pid)
{
    char *const argv[] = {(char[]){PROGRAM}, (char[]){"--probe"}, NULL};
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);
    if (number != 0) {
        return number;
    }
    number = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (number == 0) {
        number = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    }
    if (number == 0) {
        number = posix_spawn(pid, path, &actions, NULL, argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return number;
}

static arcp_status probe(const char *path, arcp_buf *out, arcp_error *err)
{
    int pipes[2];
    pid_t pid = -1;
    int status = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", strerror(errno));
    }
    int number = spawn(path, pipes[1], &pid);
    (void)close(pipes[1]);
    if (number == 0) {
        number = read_output(pipes[0], out);
        if (number != 0) {
            (void)kill(pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    (void)close(pipes[0]);
    if (number != 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s --probe: %s", path, strerror(number));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s --probe ended with %s %d", path,
                              WIFEXITED(status) ? "status" : "signal",
                              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return ARCP_OK;
}

arcp_status arcp__launch_probe(const char *path, arcp_buf *out, arcp_error *err)
{
    arcp_buf found = arcp_buf_init();
    arcp_status status;
    if (path != NULL || arcp__libexec_find(PROGRAM, &found)) {
        status = probe(path != NULL ? path : found.data, out, err);
    } else if (found.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else {
        status = arcp_error_set(err, ARCP_E_NOT_FOUND,
                                "the program " PROGRAM " is not installed; searched %.*s",
                                (int)found.size, found.data);
    }
    arcp_buf_fini(&found);
    return status;
}
