/* openat2, which libc does not have. */
#ifndef ARCP_LAUNCH_HELPER_OPEN_H
#define ARCP_LAUNCH_HELPER_OPEN_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens a path close-on-exec, never through a magic link of /proc. -1 sets errno. */
static inline int arcp__helper_open(int at, const char *path, uint64_t flags, uint64_t resolve)
{
    const struct open_how how = {.flags = flags | O_CLOEXEC,
                                 .resolve = resolve | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

#endif
