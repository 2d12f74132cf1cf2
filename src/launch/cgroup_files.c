#include "launch/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "launch/cgroups.h"

#define LINE_BYTES   12400
#define PATH_BYTES   4200
#define FILE_BYTES   4096
#define PERIOD_US    100000U
#define US_A_PERCENT (PERIOD_US / 100)
#define LEAF_MODE    0755

static const char *const controllers[ARCP__CGROUP_LIMITS] = {"memory", "cpu", "pids"};

const char *arcp__cgroup_controller(size_t limit)
{
    return controllers[limit];
}

/* ---- our own cgroup ---- */

/* Whether a word is one of a list that is separated by `separator`. */
static bool has_word(const char *list, char separator, const char *word)
{
    const size_t size = strlen(word);
    while (list != NULL) {
        const char *end = strchr(list, separator);
        if ((end == NULL ? strlen(list) : (size_t)(end - list)) == size &&
            strncmp(list, word, size) == 0) {
            return true;
        }
        list = end == NULL ? NULL : end + 1;
    }
    return false;
}

/* The path of our cgroup, from a line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH. NULL: the line
 * is of another hierarchy. */
static const char *path_in(char *line, const char *controller)
{
    line[strcspn(line, "\n")] = '\0';
    char *list = strchr(line, ':');
    char *path = list == NULL ? NULL : strchr(list + 1, ':');
    if (path == NULL || path[1] != '/') {
        return NULL;
    }
    *path = '\0';
    const bool is_ours =
        controller == NULL ? strcmp(line, "0:") == 0 : has_word(list + 1, ',', controller);
    return is_ours ? path + 1 : NULL;
}

/* Whether a line of /proc/self/mountinfo is of the hierarchy. */
static bool is_mount_of(char *line, const char *controller)
{
    if (controller == NULL) {
        return strstr(line, " - cgroup2 ") != NULL;
    }
    const char *type = strstr(line, " - cgroup ");
    const char *options = type == NULL ? NULL : strrchr(type, ' ');
    line[strcspn(line, "\n")] = '\0';
    return options != NULL && has_word(options + 1, ',', controller);
}

int arcp__cgroup_open_own(const char *controller)
{
    char path[PATH_BYTES] = ""; /* our cgroup */
    char mount[4096] = "";      /* where the file system is mounted */
    char root[4096] = "";       /* the cgroup at the root of that mount */
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && path[0] == '\0' && fgets(line, sizeof path, file) != NULL) {
        const char *found = path_in(line, controller);
        (void)snprintf(path, sizeof path, "%s", found == NULL ? "" : found);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && mount[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        if (is_mount_of(line, controller)) {
            (void)sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    const size_t root_size = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (path[0] == '\0' || mount[0] == '\0' || strncmp(path, root, root_size) != 0 ||
        (root_size != 0 && path[root_size] != '/' && path[root_size] != '\0')) {
        return -1; /* our own cgroup is not visible below this mount */
    }
    (void)snprintf(line, sizeof line, "%s%s", mount, path + root_size);
    return open(line, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- files ---- */

bool arcp__cgroup_write(int directory, const char *name, const char *text)
{
    const int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    const int number = errno;
    arcp__close(fd);
    errno = number;
    return written;
}

/* The text of a file without the end of its last line; "" when it cannot be read. */
static void read_text(int directory, const char *name, char out[FILE_BYTES])
{
    const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, out, FILE_BYTES - 1);
    out[size < 0 ? 0 : size] = '\0';
    if (size > 0 && out[size - 1] == '\n') {
        out[size - 1] = '\0';
    }
    arcp__close(fd);
}

/* ---- controllers of version 2 ---- */

static unsigned listed(int directory, const char *name)
{
    char text[FILE_BYTES];
    unsigned found = 0;
    read_text(directory, name, text);
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        found |= has_word(text, ' ', controllers[i]) ? 1U << i : 0;
    }
    return found;
}

unsigned arcp__cgroup_pass_on(int directory)
{
    const unsigned missing =
        listed(directory, "cgroup.controllers") & ~listed(directory, "cgroup.subtree_control");
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        char order[16];
        (void)snprintf(order, sizeof order, "+%s", controllers[i]);
        if ((missing & 1U << i) != 0) {
            (void)arcp__cgroup_write(directory, "cgroup.subtree_control", order);
        }
    }
    return listed(directory, "cgroup.subtree_control");
}

/* Moves this process to the cgroup `leaf`, which is made if it is not there. */
static bool enter(int directory, const char *leaf)
{
    if (mkdirat(directory, leaf, LEAF_MODE) != 0 && errno != EEXIST) {
        return false;
    }
    const int fd = openat(directory, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_done = fd >= 0 && arcp__cgroup_write(fd, "cgroup.procs", "0");
    arcp__close(fd);
    return is_done;
}

/* A cgroup that has processes passes no memory on, but it passes on what knows threads, cpu and
 * pids; then the cgroups below it are of its threads, and no process can enter them. So this
 * process leaves first. The root has processes and passes all on. */
unsigned arcp__cgroup_delegate(int directory, const char *leaf)
{
    const bool is_root = faccessat(directory, "cgroup.type", F_OK, 0) != 0;
    if (listed(directory, "cgroup.controllers") == 0) {
        return 0;
    }
    const bool has_left = !is_root && enter(directory, leaf);
    const unsigned found = is_root || has_left ? arcp__cgroup_pass_on(directory) : 0;
    if (found == 0 && !is_root) {
        (void)arcp__cgroup_write(directory, "cgroup.procs", "0");
        (void)unlinkat(directory, leaf, AT_REMOVEDIR);
    }
    return found;
}

/* ---- limits ---- */

static bool set_number(int directory, const char *name, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return arcp__cgroup_write(directory, name, value == 0 ? "max" : text);
}

/* Swap is limited with the memory, or else the limit would only move pages there; a kernel need not
 * count it. All processes of the cgroup end together: one that lost a part of itself is of no use.
 */
static bool set_memory(int directory, bool is_version_1, uint64_t bytes)
{
    if (is_version_1) {
        /* The second limit is never below the first. */
        char text[32];
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
        (void)arcp__cgroup_write(directory, "memory.memsw.limit_in_bytes", "-1");
        if (!arcp__cgroup_write(directory, "memory.limit_in_bytes", text)) {
            return false;
        }
        (void)arcp__cgroup_write(directory, "memory.memsw.limit_in_bytes", text);
        return true;
    }
    (void)arcp__cgroup_write(directory, "memory.swap.max", bytes == 0 ? "max" : "0");
    (void)arcp__cgroup_write(directory, "memory.oom.group", bytes == 0 ? "0" : "1");
    return set_number(directory, "memory.max", bytes);
}

static bool set_cpu(int directory, bool is_version_1, uint64_t percent)
{
    char text[64];
    if (is_version_1) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)percent * US_A_PERCENT);
        return set_number(directory, "cpu.cfs_period_us", PERIOD_US) &&
               arcp__cgroup_write(directory, "cpu.cfs_quota_us", text);
    }
    (void)snprintf(text, sizeof text, "%llu %u", (unsigned long long)percent * US_A_PERCENT,
                   PERIOD_US);
    return arcp__cgroup_write(directory, "cpu.max", percent == 0 ? "max" : text);
}

bool arcp__cgroup_set(int directory, size_t limit, bool is_version_1, uint64_t value)
{
    switch (1U << limit) {
    case ARCP__CGROUP_MEMORY:
        return set_memory(directory, is_version_1, value);
    case ARCP__CGROUP_CPU:
        return set_cpu(directory, is_version_1, value);
    default:
        return set_number(directory, "pids.max", value);
    }
}

uint64_t arcp__cgroup_kills(int directory, bool is_version_1)
{
    char text[FILE_BYTES];
    static const char name[] = "oom_kill ";
    read_text(directory, is_version_1 ? "memory.oom_control" : "memory.events", text);
    const char *at = text;
    while (at != NULL && strncmp(at, name, sizeof name - 1) != 0) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    return at == NULL ? 0 : strtoull(at + sizeof name - 1, NULL, 10);
}
