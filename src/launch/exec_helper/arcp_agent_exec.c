/* arcp-agent-exec: changes to the user of an agent and executes it. Started by arcpd, not by
 * people.
 *
 * Descriptor 3 is the error pipe, which exec closes; descriptor 4 holds the orders
 * (arcp__launch_orders). This is not a set-user-id program: it has only the rights of its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launcher_child.h"

/* Returns an errno; EINVAL: these are no orders. The memory that `child` points to is released by
 * exec. */
static int read_orders(arcp__launch_child *child)
{
    struct stat about;
    if (fstat(ARCP__LAUNCH_ORDERS_FD, &about) != 0 ||
        about.st_size <= (off_t)sizeof(arcp__launch_orders)) {
        return EINVAL;
    }
    const size_t size = (size_t)about.st_size;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, ARCP__LAUNCH_ORDERS_FD, 0);
    if (bytes == MAP_FAILED) {
        return errno;
    }
    if (bytes[size - 1] != '\0') {
        return EINVAL;
    }
    const arcp__launch_orders *orders = (const arcp__launch_orders *)(const void *)bytes;
    char *text = bytes + sizeof *orders;
    size_t count = 0;
    for (size_t i = sizeof *orders; i < size; i++) {
        count += bytes[i] == '\0' ? 1 : 0;
    }
    if (orders->struct_size != sizeof *orders || orders->parent <= 0 ||
        orders->group_count > ARCP__LAUNCH_GROUPS_MAX ||
        orders->limit_count > ARCP__LAUNCH_LIMITS_MAX || orders->argc == 0 ||
        orders->argc > count || orders->env_count > count ||
        count != 2 + orders->argc + orders->env_count) {
        return EINVAL;
    }
    /* The directory, the program, the arguments and NULL, the environment and NULL. */
    char **texts = mmap(NULL, (count + 2) * sizeof *texts, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (texts == MAP_FAILED) {
        return errno;
    }
    for (size_t i = 0; i < count; i++) {
        texts[i < 2 + orders->argc ? i : i + 1] = text;
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
    return close(ARCP__LAUNCH_ORDERS_FD) == 0 ? 0 : errno;
}

int main(void)
{
    arcp__launch_child child = {.error_fd = ARCP__LAUNCH_ERRORS_FD};
    const int number =
        fcntl(ARCP__LAUNCH_ERRORS_FD, F_SETFD, FD_CLOEXEC) != 0 ? EINVAL : read_orders(&child);
    if (number == EINVAL) {
        (void)fputs("arcp-agent-exec is started by arcpd, not by hand\n", stderr);
    }
    if (number != 0) {
        errno = number;
        arcp__launch_child_fail(&child, ARCP__LAUNCH_HELPER);
    }
    arcp__launch_child_run(&child);
}
