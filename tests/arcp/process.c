#include "arcp/process.h"

#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void set_environment(const char *const *environment)
{
    for (; environment != NULL && *environment != NULL; environment++) {
        char name[64];
        const char *equals = strchr(*environment, '=');
        const size_t size = (size_t)(equals - *environment);
        if (equals == NULL || size >= sizeof name) {
            _exit(126);
        }
        memcpy(name, *environment, size);
        name[size] = '\0';
        (void)setenv(name, equals + 1, 1);
    }
}

#define ERRORS_BYTES 1048576

/* The pointed-to data is not modified. */
static void execute(const char *const *words)
{
    (void)execv(words[0], (char *const *)(const void *)words);
    _exit(127);
}

/* Descriptor of a file with the text, positioned at its start. */
static int input_file(const char *text)
{
    char path[] = "/tmp/arcp-input-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* `in` is its standard input, which is closed here. */
static void start_with(process *p, const char *const *words, const char *const *environment, int in)
{
    int out[2];
    int err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    /* A daemon drops log lines that are not read for long. */
    (void)fcntl(err[1], F_SETPIPE_SZ, ERRORS_BYTES);
    *p = (process){.output = out[0], .errors = err[0]};
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        (void)dup2(in, STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        set_environment(environment);
        execute(words);
    }
    close(in);
    close(out[1]);
    close(err[1]);
}

void process_start(process *p, const char *const *words, const char *const *environment,
                   const char *input)
{
    start_with(p, words, environment, input_file(input == NULL ? "" : input));
}

int process_start_dialogue(process *p, const char *const *words, const char *const *environment)
{
    int in[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    start_with(p, words, environment, in[0]);
    return in[1];
}

void process_start_on_terminal(process *p, const char *const *words, const char *const *environment,
                               unsigned columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int terminal = -1;
    const pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    assert_true(pid >= 0);
    if (pid == 0) {
        set_environment(environment);
        execute(words);
    }
    *p = (process){.pid = pid, .output = terminal, .errors = -1};
    assert_int_equal(fcntl(terminal, F_SETFD, FD_CLOEXEC), 0);
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads what is available; sets the descriptor to -1 at its end. */
static void take(int *fd, arcp_buf *to)
{
    char bytes[4096];
    const ssize_t got = read(*fd, bytes, sizeof bytes);
    if (got > 0) {
        arcp_buf_append(to, arcp_span_make(bytes, (size_t)got));
        assert_true(arcp_buf_reserve(to, 1));
        to->data[to->size] = '\0'; /* so that tests can read it as text */
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        close(*fd); /* a terminal whose other side has closed returns EIO */
        *fd = -1;
    }
}

static const char *text_of(const arcp_buf *read)
{
    return read->size == 0 ? "" : read->data;
}

/* Waits for more output of either; false at the end of both. */
static bool read_more(process *p, int64_t until_ms)
{
    struct pollfd fds[2] = {{.fd = p->output, .events = POLLIN},
                            {.fd = p->errors, .events = POLLIN}};
    if (p->output < 0 && p->errors < 0) {
        return false;
    }
    const int64_t left = until_ms - now_ms();
    const int ready = left <= 0 ? 0 : poll(fds, 2, (int)left);
    if (ready == 0) {
        fail_msg("timed out; so far:\n%s\n%s", text_of(&p->out), text_of(&p->err));
    }
    if (p->output >= 0 && fds[0].revents != 0) {
        take(&p->output, &p->out);
    }
    if (p->errors >= 0 && fds[1].revents != 0) {
        take(&p->errors, &p->err);
    }
    return true;
}

static bool contains(const arcp_buf *text, const char *part)
{
    return text->size != 0 && memmem(text->data, text->size, part, strlen(part)) != NULL;
}

void process_await(process *p, bool in_errors, const char *text)
{
    const int64_t until_ms = now_ms() + PROCESS_DEADLINE_MS;
    const arcp_buf *where = in_errors ? &p->err : &p->out;
    while (!contains(where, text)) {
        if (!read_more(p, until_ms)) {
            fail_msg("\"%s\" was not printed:\n%s\n%s", text, text_of(&p->out), text_of(&p->err));
        }
    }
}

int process_finish(process *p)
{
    const int64_t until_ms = now_ms() + PROCESS_DEADLINE_MS;
    while (read_more(p, until_ms)) {
    }
    int status = 0;
    struct rusage used = {0};
    while (!p->has_ended) {
        const pid_t ended = wait4(p->pid, &status, 0, &used);
        assert_true(ended == p->pid || errno == EINTR);
        p->has_ended = ended == p->pid;
    }
    p->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    p->max_rss_kib = used.ru_maxrss;
    return p->exit_status;
}

void process_signal(process *p, int number)
{
    assert_int_equal(kill(p->pid, number), 0);
}

void process_fini(process *p)
{
    if (!p->has_ended && p->pid > 0) {
        (void)kill(p->pid, SIGKILL);
        (void)waitpid(p->pid, NULL, 0);
    }
    if (p->output >= 0) {
        close(p->output);
    }
    if (p->errors >= 0) {
        close(p->errors);
    }
    arcp_buf_fini(&p->out);
    arcp_buf_fini(&p->err);
    *p = (process){.output = -1, .errors = -1, .has_ended = true};
}
