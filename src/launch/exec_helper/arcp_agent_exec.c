/* arcp-agent-exec: becomes an agent of another user. Started by arcpd, not by people.
 *
 * Descriptor 3 takes the reason when that fails, and closes when it does not; descriptor 4 has what
 * to do (arcp__launch_orders). It is no set-user-id program and has no more rights than who starts
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launcher_child.h"

/* What `child` gets lives until exec. */
static bool read_orders(arcp__launch_child *child)
{
    struct stat about;
    if (fstat(ARCP__LAUNCH_ORDERS_FD, &about) != 0 ||
        about.st_size <= (off_t)sizeof(arcp__launch_orders)) {
        return false;
    }
    const size_t size = (size_t)about.st_size;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, ARCP__LAUNCH_ORDERS_FD, 0);
    if (bytes == MAP_FAILED || bytes[size - 1] != '\0') {
        return false;
    }
    const arcp__launch_orders *orders = (const arcp__launch_orders *)(const void *)bytes;
    char *text = bytes + sizeof(*orders);
    size_t count = 0;
    for (size_t at = sizeof(*orders); at < size; at++) {
        count += bytes[at] == '\0' ? 1 : 0;
    }
    if (orders->struct_size != sizeof(*orders) || orders->parent <= 0 ||
        orders->group_count > ARCP__LAUNCH_GROUPS_MAX ||
        orders->limit_count > ARCP__LAUNCH_LIMITS_MAX || orders->argc == 0 ||
        orders->argc > count || orders->env_count > count ||
        count != 2 + orders->argc + orders->env_count) {
        return false;
    }
    /* The directory, the program, the arguments and NULL, the environment and NULL. */
    char **texts = mmap(NULL, (count + 2) * sizeof(*texts), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (texts == MAP_FAILED) {
        return false;
    }
    for (size_t at = 0; at < count; at++) {
        texts[at < 2 + orders->argc ? at : at + 1] = text;
        text += strlen(text) + 1;
    }
    *child = (arcp__launch_child){
        .program = texts[1],
        .argv = texts + 2,
        .env = texts + 3 + orders->argc,
        .cwd = texts[0][0] == '\0' ? NULL : texts[0],
        .limits = orders->limits,
        .limit_count = orders->limit_count,
        .switch_user = true,
        .uid = orders->uid,
        .gid = orders->gid,
        .groups = orders->groups,
        .group_count = orders->group_count,
        .parent = orders->parent,
        .error_fd = ARCP__LAUNCH_ERRORS_FD,
    };
    return close(ARCP__LAUNCH_ORDERS_FD) == 0;
}

int main(void)
{
    arcp__launch_child child = {.error_fd = ARCP__LAUNCH_ERRORS_FD};
    if (fcntl(ARCP__LAUNCH_ERRORS_FD, F_SETFD, FD_CLOEXEC) != 0 || !read_orders(&child)) {
        (void)fputs("arcp-agent-exec is started by arcpd, not by hand\n", stderr);
        errno = EINVAL;
        arcp__launch_child_fail(&child, ARCP__LAUNCH_HELPER);
    }
    arcp__launch_child_run(&child);
}
