#include "support/process_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

#include "launch/proc_stat.h"

#define PATIENCE_MS 60000

size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count;
}

/* How many entries do not begin with a dot; `last` is the name of the last one, or empty. */
static size_t list(const char *path, char last[256])
{
    size_t count = 0;
    DIR *entries = opendir(path);
    assert_non_null(entries);
    last[0] = '\0';
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_name[0] != '.') {
            count++;
            (void)snprintf(last, 256, "%s", entry->d_name);
        }
    }
    (void)closedir(entries);
    return count;
}

size_t entries_of(const char *path)
{
    char last[256];
    return list(path, last);
}

void only_entry_of(const char *path, char entry[300])
{
    char name[256];
    assert_int_equal(list(path, name), 1);
    assert_in_range(snprintf(entry, 300, "%s/%s", path, name), 1, 299);
}

bool has_children(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

int watch_process(pid_t pid)
{
    char path[64];
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 && errno == ENOSYS) { /* under valgrind */
        (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0 && errno != ESRCH) {
        fail_msg("pidfd_open(%d): %s", (int)pid, strerror(errno));
    }
    return fd;
}

/* Of a process whose directory in /proc is open; it can be no other process's. */
static bool still_runs(int directory)
{
    char text[512];
    arcp__proc_stat found;
    const int fd = openat(directory, "stat", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[size < 0 ? 0 : size] = '\0';
    return size > 0 && arcp__proc_stat_parse(text, &found) && found.state != 'Z';
}

void wait_for_watched(int fd)
{
    struct stat about;
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    if (fd < 0) {
        return;
    }
    assert_int_equal(fstat(fd, &about), 0);
    int ready = 0;
    if (S_ISDIR(about.st_mode)) {
        for (int i = 0; i < PATIENCE_MS / 10 && still_runs(fd); i++) {
            (void)poll(NULL, 0, 10);
        }
        ready = still_runs(fd) ? 0 : 1;
    } else {
        ready = poll(&waited, 1, PATIENCE_MS);
    }
    (void)close(fd);
    assert_int_equal(ready, 1);
}

void wait_for_exit(const arcp_process *process)
{
    struct pollfd waited = {.fd = process->exit_fd, .events = POLLIN};
    assert_int_equal(poll(&waited, 1, PATIENCE_MS), 1);
}

void wait_for_end(pid_t pid)
{
    wait_for_watched(watch_process(pid));
}

void read_all(int fd, arcp_buf *out)
{
    char chunk[4096];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0) {
        arcp_buf_append(out, arcp_span_make(chunk, (size_t)got));
    }
}

arcp_status run_program(arcp_launcher *launcher, arcp_launch_spec *spec, arcp_buf *output,
                        arcp_process_exit *end, arcp_error *err)
{
    int out[2];
    arcp_process *process = NULL;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    spec->stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    spec->stdout_fd = out[1];
    spec->stderr_fd = out[1];
    const arcp_status status = launcher->ops->start(launcher, spec, &process, err);
    (void)close(spec->stdin_fd);
    (void)close(out[1]);
    if (status == ARCP_OK) {
        read_all(out[0], output);
        wait_for_exit(process);
        end->struct_size = sizeof *end;
        assert_true(process->ops->take_exit(process, end));
        process->ops->free(process);
    }
    (void)close(out[0]);
    arcp_buf_append_byte(output, '\0');
    return status;
}

void run_shell(const char *command)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    arcp_launch_spec spec = arcp_launch_spec_init();
    arcp_launcher *launcher = NULL;
    arcp_process_exit end = {0};
    arcp_error error = {0};
    arcp_buf output = arcp_buf_init();
    spec.argv = argv;
    spec.env = environment;
    check_ok(arcp_launcher_new_direct(NULL, &launcher, &error), &error);
    check_ok(run_program(launcher, &spec, &output, &end, &error), &error);
    if (end.by_signal || end.code != 0) {
        fail_msg("%s: %s", command, output.data);
    }
    arcp_buf_fini(&output);
    arcp_launcher_free(launcher);
}

const char *line_after(const arcp_buf *text, const char *prefix)
{
    static char found[4096];
    const size_t size = strlen(prefix);
    for (const char *rest = text->data; rest != NULL && *rest != '\0';) {
        const size_t line = strcspn(rest, "\n");
        if (strncmp(rest, prefix, size) == 0) {
            (void)snprintf(found, sizeof found, "%.*s", (int)(line - size), rest + size);
            return found;
        }
        rest += line + (rest[line] == '\n');
    }
    return NULL;
}

static bool join(int directory_fd)
{
    const int fd = openat(directory_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return write(fd, "0", 1) == 1 && close(fd) == 0;
}

int start_hidden(int directory_fd, pid_t *pid)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    const pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        const bool joined = directory_fd < 0 || join(directory_fd);
        if (!joined || fork() != 0) {
            _exit(joined ? 0 : 1);
        }
        (void)setsid();
        pid_t self = getpid();
        (void)signal(SIGTERM, SIG_IGN);
        if (write(out[1], &self, sizeof self) == sizeof self) {
            for (;;) {
                (void)pause();
            }
        }
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(status, 0);
    assert_int_equal(read(out[0], pid, sizeof *pid), sizeof *pid);
    (void)close(out[0]);
    (void)close(out[1]);
    const int watched = watch_process(*pid);
    assert_true(watched >= 0);
    return watched;
}

pid_t number_in(const char *text)
{
    assert_non_null(text);
    return (pid_t)strtol(text, NULL, 10);
}

void make_temporary(char path[64])
{
    (void)snprintf(path, 64, "/tmp/arcp-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void remove_temporary(const char *path)
{
    assert_int_equal(remove_tree(path), 0);
}
