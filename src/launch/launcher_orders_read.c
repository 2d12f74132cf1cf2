#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launcher_orders.h"

int arcp__launch_orders_read(arcp__launch_child *child, arcp__launch_view *view)
{
    const size_t before = 4; /* the directory, the view, the program */
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
        count != before + orders->argc + orders->env_count) {
        return EINVAL;
    }
    /* The texts before the arguments, the arguments and NULL, the environment and NULL. */
    char **texts = mmap(NULL, (count + 2) * sizeof *texts, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (texts == MAP_FAILED) {
        return errno;
    }
    for (size_t i = 0; i < count; i++) {
        texts[i < before + orders->argc ? i : i + 1] = text;
        text += strlen(text) + 1;
    }
    *view = (arcp__launch_view){.etc = texts[1], .ca_certificate = texts[2]};
    *child = (arcp__launch_child){
        .program = texts[3],
        .argv = texts + before,
        .env = texts + before + 1 + orders->argc,
        .cwd = texts[0][0] == '\0' ? NULL : texts[0],
        .limits = orders->limits,
        .limit_count = orders->limit_count,
        .switch_user = orders->switch_user,
        .uid = orders->uid,
        .gid = orders->gid,
        .groups = orders->groups,
        .group_count = orders->group_count,
        .parent = orders->parent,
        .error_fd = ARCP__LAUNCH_ERRORS_FD,
    };
    return close(ARCP__LAUNCH_ORDERS_FD) == 0 ? 0 : errno;
}
