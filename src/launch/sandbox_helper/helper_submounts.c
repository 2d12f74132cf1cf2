#include "launch/sandbox_helper/helper_submounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"

/* Type in mountinfo, and f_type of statfs (0: like tmpfs). */
static const struct {
    const char *name;
    uint64_t magic;
} types[] = {
    {"proc", PROC_SUPER_MAGIC},
    {"sysfs", SYSFS_MAGIC},
    {"cgroup", CGROUP_SUPER_MAGIC},
    {"cgroup2", CGROUP2_SUPER_MAGIC},
    {"devtmpfs", 0},
    {"devpts", DEVPTS_SUPER_MAGIC},
    {"nsfs", NSFS_MAGIC},
    {"debugfs", DEBUGFS_MAGIC},
    {"tracefs", TRACEFS_MAGIC},
    {"securityfs", SECURITYFS_MAGIC},
    {"selinuxfs", SELINUX_MAGIC},
    {"smackfs", SMACK_MAGIC},
    {"bpf", BPF_FS_MAGIC},
    {"pstore", PSTOREFS_MAGIC},
    {"efivarfs", EFIVARFS_MAGIC},
    {"resctrl", RDTGROUP_SUPER_MAGIC},
    {"binfmt_misc", BINFMTFS_MAGIC},
    {"configfs", 0x62656570},
    {"mqueue", 0x19800202},
    {"fusectl", 0x65735543},
    {"rpc_pipefs", 0x67596969},
    {"nfsd", 0x6e667364},
    {"pidfs", 0x50494446},
};

bool arcp__helper_is_kernel_type(uint64_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].magic == type) {
            return type != 0;
        }
    }
    return false;
}

static bool is_kernel_name(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

char *arcp__helper_read_mountinfo(void)
{
    size_t capacity = 16384;
    size_t size = 0;
    char *text = NULL;
    const int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    for (;;) {
        char *grown = arcp__realloc(text, capacity + 1);
        if (grown == NULL) {
            break;
        }
        text = grown;
        const ssize_t got = read(fd, text + size, capacity - size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            text[size] = '\0';
            (void)close(fd);
            if (got < 0) {
                arcp__free(text);
            }
            return got < 0 ? NULL : text;
        }
        size += (size_t)got;
        capacity *= size == capacity ? 2 : 1;
    }
    arcp__free(text);
    (void)close(fd);
    errno = ENOMEM;
    return NULL;
}

/* Three octal digits after a backslash stand for a space, tab, line feed or backslash. */
static void unescape(const char *from, size_t size, char out[PATH_MAX])
{
    size_t written = 0;
    for (size_t i = 0; i < size && written < PATH_MAX - 1; i++) {
        if (from[i] == '\\' && i + 3 < size) {
            out[written++] = (char)(((from[i + 1] - '0') << 6) | ((from[i + 2] - '0') << 3) |
                                    (from[i + 3] - '0'));
            i += 3;
        } else {
            out[written++] = from[i];
        }
    }
    out[written] = '\0';
}

/* Reads one line: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS. Returns
 * the next line; NULL at the end. */
static const char *read_line(const char *line, char path[PATH_MAX],
                             char type[ARCP__HELPER_TYPE_MAX])
{
    const char *end = strchr(line, '\n');
    const char *at = line;
    path[0] = type[0] = '\0';
    if (end == NULL) {
        return NULL;
    }
    for (int i = 0; i < 4 && at < end; i++) {
        at += strcspn(at, " \n");
        at += *at == ' ' ? 1 : 0;
    }
    unescape(at, strcspn(at, " \n"), path);
    const char *dash = strstr(at, " - ");
    if (dash != NULL && dash < end) {
        (void)snprintf(type, ARCP__HELPER_TYPE_MAX, "%.*s", (int)strcspn(dash + 3, " \n"),
                       dash + 3);
    }
    return end + 1;
}

static bool is_below(const char *path, const char *directory)
{
    return strcmp(path, directory) != 0 && arcp__path_is_within_cstr(path, directory);
}

bool arcp__helper_is_in_kernel_mount(const char *mountinfo, const char *path)
{
    char point[PATH_MAX];
    char type[ARCP__HELPER_TYPE_MAX];
    size_t longest = 0;
    bool result = false;
    for (const char *at = read_line(mountinfo, point, type); at != NULL;
         at = read_line(at, point, type)) {
        if (arcp__path_is_within_cstr(path, point) && strlen(point) >= longest) {
            longest = strlen(point);
            result = is_kernel_name(type);
        }
    }
    return result;
}

arcp__helper_submounts arcp__helper_submounts_of(const char *mountinfo, const char *below)
{
    return (arcp__helper_submounts){.rest = mountinfo, .below = below, .last = ""};
}

bool arcp__helper_submounts_next(arcp__helper_submounts *list, char path[4096],
                                 char type[ARCP__HELPER_TYPE_MAX])
{
    while (list->rest != NULL) {
        list->rest = read_line(list->rest, path, type);
        if (list->rest != NULL && is_below(path, list->below) && is_kernel_name(type) &&
            (list->last[0] == '\0' || !is_below(path, list->last))) {
            memcpy(list->last, path, strlen(path) + 1);
            return true;
        }
    }
    return false;
}
