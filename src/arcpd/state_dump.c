/* On SIGUSR1, writes the state of sessions, jobs and queues to a file in the state directory.
 *
 * `arcp debug dump` finds this process by arcpd.pid there: it asks the kernel which process holds
 * a lock on the file, so that a number that an earlier arcpd left has no effect. The text is
 * formatted on the loop's thread and written by a thread of libuv, so that a slow disk does not
 * delay the loop. */
#include "arcpd/arcpd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "file/private_file.h"
#include "json/json_put.h"

/* Per kind of line, oldest first, because what is stuck is old. A line takes some 5 us of the
 * loop's time. */
#define LINES_MAX 2000u

static void write_state(arcp__state_dump *dump);

/* The only place where arcpd uses this lock: closing any descriptor of the file would drop it. */
static int lock_pid_file(const char *path)
{
    char text[32];
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -1;
    }
    const int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (fcntl(fd, F_SETLK, &lock) != 0 || ftruncate(fd, 0) != 0 ||
        pwrite(fd, text, (size_t)size, 0) != size) {
        const int number = errno;
        (void)close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

static void on_work(uv_work_t *work)
{
    arcp__state_dump *dump = work->data;
    const arcp__private_file file = {.what = "state file", .path = dump->path};
    dump->status = arcp__private_file_replace(&file, arcp_buf_span(&dump->text), &dump->error);
}

static void on_written(uv_work_t *work, int status)
{
    arcp__state_dump *dump = work->data;
    (void)status; /* work is not cancelled */
    if (dump->status == ARCP_OK) {
        arcp__logger_format(dump->logger, ARCP_LOG_INFO,
                            "SIGUSR1: wrote the state to %s (%zu bytes)", dump->path,
                            dump->text.size);
    } else {
        arcp__logger_format(dump->logger, ARCP_LOG_ERROR, "SIGUSR1: %s", dump->error.message);
    }
    arcp_buf_fini(&dump->text);
    dump->is_writing = false;
    if (dump->is_requested_again) {
        dump->is_requested_again = false;
        write_state(dump);
    }
}

static void write_state(arcp__state_dump *dump)
{
    if (dump->runtime == NULL) {
        return;
    }
    if (dump->is_writing) {
        dump->is_requested_again = true; /* the state that is being written is out of date by now */
        return;
    }
    char time[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(arcp__clock_now().wall_ns, time);
    arcp_json_writer writer = arcp__put_begin(&dump->text);
    arcp__put_cstr(&writer, "kind", "arcpd");
    arcp__put_i64(&writer, "pid", getpid());
    arcp__put_string(&writer, "written_at", arcp_span_make(time, sizeof time));
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&dump->text, '\n');
    if (arcp_runtime_write_state(dump->runtime, LINES_MAX, &dump->text) != ARCP_OK ||
        uv_queue_work(dump->signal.loop, &dump->work, on_work, on_written) != 0) {
        arcp__logger_log(dump->logger, ARCP_LOG_ERROR, "SIGUSR1: out of memory for the state");
        arcp_buf_fini(&dump->text);
        return;
    }
    dump->is_writing = true;
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    write_state(handle->data);
}

void arcp__state_dump_open(arcp__state_dump *dump, uv_loop_t *loop, const char *directory,
                           arcp_runtime *runtime, arcp__logger *logger)
{
    char path[sizeof dump->path];
    dump->runtime = runtime;
    dump->logger = logger;
    dump->work.data = dump;
    dump->is_open = true;
    (void)snprintf(dump->path, sizeof dump->path, "%s/state.jsonl", directory);
    (void)snprintf(path, sizeof path, "%s/arcpd.pid", directory);
    (void)uv_signal_init(loop, &dump->signal);
    dump->signal.data = dump;
    (void)uv_signal_start(&dump->signal, on_signal, SIGUSR1);
    uv_unref((uv_handle_t *)&dump->signal);
    dump->pid_fd = lock_pid_file(path);
    if (dump->pid_fd < 0) {
        const bool is_taken = errno == EACCES || errno == EAGAIN;
        arcp__logger_format(logger, ARCP_LOG_WARN,
                            "%s cannot be locked (%s): `arcp debug dump` will not find this arcpd, "
                            "but SIGUSR1 still works",
                            path, is_taken ? "another arcpd has locked it" : strerror(errno));
    }
}

void arcp__state_dump_close(arcp__state_dump *dump)
{
    if (!dump->is_open) {
        return;
    }
    dump->runtime =
        NULL; /* a signal has no effect; if its handle were closed, it would end arcpd */
    if (dump->pid_fd >= 0) {
        (void)close(dump->pid_fd);
    }
}
