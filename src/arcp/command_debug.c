/* `arcp debug dump`: has the arcpd of a state directory write its state, and prints it.
 *
 * That arcpd is the process that holds the lock on arcpd.pid in the directory, according to the
 * kernel. The process id in the file is not used: the process may have ended, and its id may be in
 * use again. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/clock.h"
#include "file/private_file.h"

#define TIMEOUT_NS    (10 * ARCP_NS_PER_SEC)
#define LOOK_EVERY_MS 10
#define BYTES_MAX     268435456u

/* The process that holds the lock on the file. */
static arcp_status find_holder(const char *path, pid_t *out, arcp_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return arcp_error_set(err, errno == ENOENT ? ARCP_E_NOT_FOUND : ARCP_E_IO,
                              "%s cannot be read: %s; %s", path, strerror(errno),
                              errno == EACCES ? "run this as arcpd's user or as root"
                                              : "use --state-dir to name arcpd's state directory");
    }
    const bool is_held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
    if (!is_held) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "no running arcpd holds %s", path);
    }
    if (lock.l_pid <= 0) { /* of another PID namespace */
        return arcp_error_set(err, ARCP_E_NOT_FOUND,
                              "the arcpd that holds %s runs in another container: send SIGUSR1 to "
                              "it there, and read state.jsonl",
                              path);
    }
    *out = lock.l_pid;
    return ARCP_OK;
}

/* Signals the holder of the lock. The holder is looked up again after pidfd_open: if it is still
 * the same, the descriptor cannot refer to another process that got the same id. */
static arcp_status signal_holder(const char *path, arcp_error *err)
{
    pid_t pid = 0;
    pid_t again = 0;
    arcp_status status = find_holder(path, &pid, err);
    if (status != ARCP_OK) {
        return status;
    }
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int number = fd < 0 ? errno : 0;
    if (number == 0) {
        status = find_holder(path, &again, err);
        if (status == ARCP_OK && again != pid) {
            number = ESRCH;
        } else if (status == ARCP_OK && syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0) != 0) {
            number = errno;
        }
        (void)close(fd);
    }
    if (number != 0) {
        status = arcp_error_set(err, ARCP_E_IO, "arcpd (process %ld) cannot be signalled: %s%s",
                                (long)pid, strerror(number),
                                number == EPERM ? "; run this as arcpd's user or as root" : "");
    }
    return status;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Waits until arcpd has replaced the old file. */
static arcp_status await_file(const char *path, const struct stat *old, arcp_error *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * ARCP_NS_PER_MS};
    const int64_t until_ns = arcp__clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;
    struct stat about;
    while (stat(path, &about) != 0 || is_same_file(&about, old)) {
        if (arcp__clock_ns(CLOCK_MONOTONIC) > until_ns) {
            return arcp_error_set(err, ARCP_E_IO,
                                  "arcpd has not written %s within 10 s: it is busy, or its log "
                                  "has the reason",
                                  path);
        }
        (void)nanosleep(&pause, NULL);
    }
    return ARCP_OK;
}

/* Appends the path of a file in the state directory, NUL-terminated. */
static arcp_status file_path(const arcp__program *program, const char *name, arcp_buf *out,
                             arcp_error *err)
{
    const char *given = arcp__value(&program->arguments, ARCP__OPTION_STATE_DIRECTORY);
    if (given != NULL) {
        arcp_buf_append_cstr(out, given);
    } else {
        (void)arcp__state_directory(true, out);
    }
    if (out->size == 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND,
                              "no state directory found: use --state-dir to name it");
    }
    arcp_buf_append_format(out, "/%s", name);
    arcp_buf_append_byte(out, '\0');
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

int arcp__command_debug(arcp__program *program)
{
    arcp_buf pid_path = arcp_buf_init();
    arcp_buf state_path = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    struct stat old = {0};
    if (strcmp(program->arguments.words[0], "dump") != 0) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "unknown debug command '%s' (expected dump)",
                             program->arguments.words[0]);
        return arcp__program_usage(program, &err);
    }
    arcp_status status = file_path(program, "arcpd.pid", &pid_path, &err);
    if (status == ARCP_OK) {
        status = file_path(program, "state.jsonl", &state_path, &err);
    }
    if (status == ARCP_OK) {
        (void)stat(state_path.data, &old); /* if it fails, any file is a new one */
        status = signal_holder(pid_path.data, &err);
    }
    if (status == ARCP_OK) {
        status = await_file(state_path.data, &old, &err);
    }
    if (status == ARCP_OK) {
        const arcp__private_file file = {
            .what = "state file", .path = state_path.data, .bytes_max = BYTES_MAX};
        status = arcp__private_file_read(&file, &text, &err);
    }
    int exit_status = ARCP__EXIT_SUCCESS;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else if (!arcp__program_print(program, arcp_buf_span(&text))) {
        exit_status = ARCP__EXIT_ERROR;
    }
    arcp_buf_fini(&pid_path);
    arcp_buf_fini(&state_path);
    arcp_buf_fini(&text);
    return exit_status;
}
