#include "process/work_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/directory.h"
#include "launch/proc_stat.h"

bool arcp__boot_id_read(char out[ARCP__BOOT_ID_SIZE])
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t size = read(fd, out, ARCP__BOOT_ID_SIZE - 1);
    (void)close(fd);
    out[ARCP__BOOT_ID_SIZE - 1] = '\0';
    return size == ARCP__BOOT_ID_SIZE - 1;
}

bool arcp__orphan_identify(pid_t pid, arcp__orphan *out)
{
    arcp__proc_stat found;
    arcp__orphan orphan = {.pid = pid};
    if (!arcp__proc_stat_read(pid, &found) || !arcp__boot_id_read(orphan.boot)) {
        return false;
    }
    orphan.started = found.started;
    *out = orphan;
    return true;
}

/* ---- as text ---- */

size_t arcp__orphan_format(const arcp__orphan *orphan, char out[ARCP__ORPHAN_TEXT_SIZE])
{
    return (size_t)snprintf(out, ARCP__ORPHAN_TEXT_SIZE, "%d %llu %s\n", (int)orphan->pid,
                            (unsigned long long)orphan->started, orphan->boot);
}

/* Decimal digits and the space that follows them. */
static bool take_number(arcp_span *text, uint64_t *out)
{
    if (!arcp__digits_take(text, out) || text->size == 0 || text->data[0] != ' ') {
        return false;
    }
    *text = arcp_span_from(*text, 1);
    return true;
}

bool arcp__orphan_parse(arcp_span text, arcp__orphan *out)
{
    uint64_t pid = 0;
    arcp__orphan orphan = {0};
    if (!take_number(&text, &pid) || !take_number(&text, &orphan.started) || pid <= 1 ||
        pid > INT32_MAX || text.size != ARCP__BOOT_ID_SIZE ||
        text.data[ARCP__BOOT_ID_SIZE - 1] != '\n') {
        return false;
    }
    orphan.pid = (pid_t)pid;
    memcpy(orphan.boot, text.data, ARCP__BOOT_ID_SIZE - 1);
    *out = orphan;
    return true;
}

/* ---- killing ---- */

/* The pidfd refers to one process, so after it was opened, the check of the start time is about the
 * process that gets the signal. Without pidfds (see launcher_watch.h) the pid is used. */
static bool kill_exactly(pid_t pid, uint64_t started, bool whole_group)
{
    arcp__proc_stat found;
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    const bool has_fd = fd >= 0 || (errno != ENOSYS && errno != EPERM);
    const bool is_it = arcp__proc_stat_read(pid, &found) && found.started == started;
    bool killed = is_it && whole_group && found.group == pid && kill(-pid, SIGKILL) == 0;
    if (is_it && !killed) {
        killed = has_fd ? syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0
                        : kill(pid, SIGKILL) == 0;
    }
    arcp__close(fd);
    return killed;
}

typedef struct search {
    const arcp__orphan *orphans;
    size_t count;
    const char *boot;
    arcp_span directory;
    size_t killed;
} search;

static void on_process(void *user, const arcp__proc_stat *process)
{
    search *s = user;
    char job[256];
    if (process->pid == getpid() || process->state == 'Z') {
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        const arcp__orphan *orphan = &s->orphans[i];
        if (process->group == orphan->pid && process->pid != orphan->pid &&
            process->started >= orphan->started && strcmp(orphan->boot, s->boot) == 0 &&
            (arcp__proc_is_inside(process->pid, s->directory) ||
             arcp__proc_variable(process->pid, "ARCP_JOB_ID", job, sizeof job))) {
            s->killed += kill_exactly(process->pid, process->started, false) ? 1 : 0;
            return;
        }
    }
}

size_t arcp__orphan_kill(const arcp__orphan *orphans, size_t count, arcp_span directory)
{
    char boot[ARCP__BOOT_ID_SIZE];
    if (count == 0 || !arcp__boot_id_read(boot)) {
        return 0;
    }
    search s = {.orphans = orphans, .count = count, .boot = boot, .directory = directory};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(orphans[i].boot, boot) == 0) {
            s.killed += kill_exactly(orphans[i].pid, orphans[i].started, true) ? 1 : 0;
        }
    }
    arcp__proc_each(on_process, &s);
    return s.killed;
}
