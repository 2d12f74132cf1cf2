#include "runtime/stray.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <arcp/json.h>

#include "runtime/proc_stat.h"

static bool read_boot_id(char out[ARCP__BOOT_ID_SIZE])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, out, ARCP__BOOT_ID_SIZE - 1);
    (void)close(fd);
    out[ARCP__BOOT_ID_SIZE - 1] = '\0';
    return size == ARCP__BOOT_ID_SIZE - 1;
}

bool arcp__stray_identify(pid_t pid, arcp__stray *out)
{
    arcp__proc_stat found;
    arcp__stray stray = {.pid = pid};
    if (!arcp__proc_stat_read(pid, &found) || !read_boot_id(stray.boot)) {
        return false;
    }
    stray.started = found.started;
    *out = stray;
    return true;
}

/* ---- as text ---- */

void arcp__stray_format(const arcp__stray *stray, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "pid");
    arcp_json_write_i64(&writer, stray->pid);
    arcp_json_name(&writer, "started");
    arcp_json_write_u64(&writer, stray->started);
    arcp_json_name(&writer, "boot");
    arcp_json_write_cstr(&writer, stray->boot);
    arcp_json_end_object(&writer);
}

arcp_status arcp__stray_parse(arcp_span text, arcp__stray *out, arcp_error *err)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    const arcp_json_limits limits = {8, 16, 4096};
    uint64_t pid = 0;
    arcp__stray stray = {0};
    arcp_status status = arcp_json_scan(&json, text, &limits, err);
    if (status == ARCP_OK) {
        arcp_json_ref boot_ref = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("boot"));
        arcp_span boot = arcp_json_string(&json, boot_ref, &scratch);
        bool is_one =
            arcp_json_u64(&json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("pid")),
                          &pid) &&
            arcp_json_u64(&json,
                          arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("started")),
                          &stray.started) &&
            pid > 1 && pid <= INT32_MAX && boot.size == ARCP__BOOT_ID_SIZE - 1;
        if (is_one) {
            stray.pid = (pid_t)pid;
            memcpy(stray.boot, boot.data, boot.size);
            *out = stray;
        } else {
            status = arcp_error_set(err, ARCP_E_CORRUPT, "not a note of a process");
        }
    } else if (status != ARCP_E_NO_MEMORY) {
        status = arcp_error_set(err, ARCP_E_CORRUPT, "not a note of a process");
    }
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
    return status;
}

/* ---- ending them ---- */

/* The descriptor pins the process: the second look is at what will get the signal. Where
 * there are none (see launcher_watch.h), the number has to do. */
static bool kill_exactly(pid_t pid, uint64_t started, bool whole_group)
{
    arcp__proc_stat found;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool has_fd = fd >= 0 || (errno != ENOSYS && errno != EPERM);
    bool is_it = arcp__proc_stat_read(pid, &found) && found.started == started;
    bool killed = is_it && whole_group && found.group == pid && kill(-pid, SIGKILL) == 0;
    if (is_it && !killed) {
        killed = has_fd ? syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0
                        : kill(pid, SIGKILL) == 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return killed;
}

typedef struct search {
    const arcp__stray *strays;
    size_t count;
    const char *boot;
    arcp_span directory;
    size_t killed;
} search;

static bool is_marked(const search *s, const arcp__proc_stat *process)
{
    char job[256];
    return arcp__proc_is_inside(process->pid, s->directory) ||
           arcp__proc_variable(process->pid, "ARCP_JOB_ID", job, sizeof(job));
}

static bool on_process(void *user, const arcp__proc_stat *process)
{
    search *s = user;
    if (process->pid == getpid() || process->state == 'Z') {
        return true;
    }
    for (size_t at = 0; at < s->count; at++) {
        const arcp__stray *stray = &s->strays[at];
        if (process->group == stray->pid && process->pid != stray->pid &&
            process->started >= stray->started && strcmp(stray->boot, s->boot) == 0 &&
            is_marked(s, process)) {
            s->killed += kill_exactly(process->pid, process->started, false) ? 1 : 0;
            break;
        }
    }
    return true;
}

size_t arcp__stray_kill(const arcp__stray *strays, size_t count, arcp_span directory)
{
    char boot[ARCP__BOOT_ID_SIZE];
    if (count == 0 || !read_boot_id(boot)) {
        return 0;
    }
    search s = {.strays = strays, .count = count, .boot = boot, .directory = directory};
    for (size_t at = 0; at < count; at++) {
        if (strcmp(strays[at].boot, boot) == 0) {
            s.killed += kill_exactly(strays[at].pid, strays[at].started, true) ? 1 : 0;
        }
    }
    arcp__proc_each(on_process, &s);
    return s.killed;
}
