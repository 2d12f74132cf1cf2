/* The program's memory. What is read here may change at once: nothing that the kernel decides later
 * rests on it, and what the broker carries out, it carries out on its own copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "broker/broker_task.h"

enum { PAGE_BYTES = 4096 }; /* no machine has smaller pages, so a read of one never crosses two */

int arcp__broker_memory_read(pid_t thread, uint64_t address, void *out, size_t size)
{
    const struct iovec local = {.iov_base = out, .iov_len = size};
    struct iovec remote = {.iov_len = size};
    memcpy(&remote.iov_base, &address, sizeof remote.iov_base); /* not a pointer of ours */
    const ssize_t got = process_vm_readv(thread, &local, 1, &remote, 1, 0);
    if (got < 0) {
        return errno;
    }
    return (size_t)got == size ? 0 : EFAULT;
}

int arcp__broker_memory_path(pid_t thread, uint64_t address, char *out, size_t *size)
{
    size_t at = 0;
    while (at < ARCP__BROKER_PATH_MAX) {
        /* Up to the end of the page: the one after the NUL may not be there. */
        size_t chunk = PAGE_BYTES - (size_t)((address + at) % PAGE_BYTES);
        if (chunk > ARCP__BROKER_PATH_MAX - at) {
            chunk = ARCP__BROKER_PATH_MAX - at;
        }
        const int error = arcp__broker_memory_read(thread, address + at, out + at, chunk);
        if (error != 0) {
            return error;
        }
        const char *end = memchr(out + at, '\0', chunk);
        if (end != NULL) {
            *size = (size_t)(end - out);
            return 0;
        }
        at += chunk;
    }
    return ENAMETOOLONG;
}

int arcp__broker_memory_write(arcp__broker_task *task, uint64_t address, const void *data,
                              size_t size)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/mem", (int)task->request->pid);
    const int fd = open(name, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return EFAULT;
    }
    /* The descriptor is of one address space. It is the program's if the call still waits now, even
     * if its number is another process's later. */
    int error = arcp__broker_task_is_valid(task) ? 0 : ESRCH;
    if (error == 0 && pwrite(fd, data, size, (off_t)address) != (ssize_t)size) {
        error = EFAULT;
    }
    (void)close(fd);
    return error;
}
