#include "launch/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/hash.h"
#include "launch/proc_stat.h"

#define NAME_START   "arcpd."
#define NAME_FORMAT  NAME_START "%d.%llu"
#define NAME_SIZE    64
#define END_WAIT_MS  1000
#define EMPTY_TRIES  2 /* unused cgroups to check before a new one is created */
#define OWN_MODE     0755
#define EVENTS_BYTES 256

/* A cgroup that no job uses. */
typedef struct free_cgroup {
    struct free_cgroup *prev, *next;
    unsigned number;
    bool is_killed; /* not reused: Linux kills a process that is created in a killed cgroup */
} free_cgroup;

struct arcp__cgroups {
    int parent_fd; /* our own cgroup */
    int fd;        /* the directory of this runtime */
    char name[NAME_SIZE];
    unsigned made;
    free_cgroup *unused; /* first in, first out */
};

/* ---- our own cgroup ---- */

static int open_own_cgroup(void)
{
    char path[4200] = "";  /* our cgroup: after "0::" in /proc/self/cgroup */
    char mount[4096] = ""; /* where the cgroup2 file system is mounted */
    char root[4096] = "";  /* the cgroup at the root of that mount */
    char line[12400];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && path[0] == '\0' && fgets(line, sizeof path, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(path, sizeof path, "%s", strncmp(line, "0::/", 4) == 0 ? line + 3 : "");
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && mount[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, " - cgroup2 ") != NULL) {
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

/* ---- one cgroup ---- */

static bool write_file(int directory, const char *name, const char *text)
{
    const int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    arcp__close(fd);
    return written;
}

/* A read error means that another runtime, which also cleans up, has removed the cgroup: empty. */
static bool reads_empty(int events_fd)
{
    char text[EVENTS_BYTES];
    const ssize_t size = pread(events_fd, text, sizeof text - 1, 0);
    text[size < 0 ? 0 : size] = '\0';
    return size < 0 || strstr(text, "populated 0") != NULL;
}

/* Waits until the cgroup has no process. The wait is bounded because a process may hang in the
 * kernel. */
static bool await_empty(int directory, const char *events, int wait_ms)
{
    const int fd = openat(directory, events, O_RDONLY | O_CLOEXEC);
    bool empty = fd >= 0 && reads_empty(fd);
    struct pollfd changed = {.fd = fd, .events = POLLPRI};
    while (fd >= 0 && !empty && wait_ms > 0) {
        const int ready = poll(&changed, 1, wait_ms);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        empty = reads_empty(fd);
        if (ready <= 0) {
            break;
        }
    }
    arcp__close(fd);
    return empty;
}

/* Kills all processes below the directory `name` of a runtime, and removes it. */
static void remove_all(int parent_fd, const char *name)
{
    DIR *entries = arcp__directory_entries(parent_fd, name);
    if (entries == NULL) {
        return;
    }
    const int fd = dirfd(entries);
    if (write_file(fd, "cgroup.kill", "1") && await_empty(fd, "cgroup.events", END_WAIT_MS)) {
        for (const struct dirent *entry = readdir(entries); entry != NULL;
             entry = readdir(entries)) {
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
                (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
            }
        }
        (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
    }
    (void)closedir(entries);
}

/* ---- cleaning up after earlier runtimes ---- */

static void remove_abandoned(int parent_fd)
{
    DIR *entries = arcp__directory_entries(parent_fd, ".");
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const char *name = entry->d_name;
        arcp__proc_stat owner;
        char again[NAME_SIZE];
        char *end = NULL;
        if (strncmp(name, NAME_START, strlen(NAME_START)) != 0) {
            continue;
        }
        const int pid = (int)strtol(name + strlen(NAME_START), &end, 10);
        const unsigned long long started = *end == '.' ? strtoull(end + 1, NULL, 10) : 0;
        (void)snprintf(again, sizeof again, NAME_FORMAT, pid, started);
        if (strcmp(again, name) == 0 &&
            (!arcp__proc_stat_read(pid, &owner) || owner.started != started)) {
            remove_all(parent_fd, name);
        }
    }
    (void)closedir(entries);
}

/* ---- the cgroups of this runtime ---- */

static void free_memory(arcp__cgroups *cgroups)
{
    free_cgroup *one = NULL;
    free_cgroup *next = NULL;
    DL_FOREACH_SAFE (cgroups->unused, one, next) {
        arcp__free(one);
    }
    arcp__close(cgroups->fd);
    arcp__close(cgroups->parent_fd);
    arcp__free(cgroups);
}

arcp__cgroups *arcp__cgroups_open(void)
{
    arcp__proc_stat self;
    arcp__cgroups *cgroups = arcp__alloc(sizeof *cgroups);
    if (cgroups == NULL) {
        return NULL;
    }
    cgroups->fd = -1;
    cgroups->parent_fd = open_own_cgroup();
    if (cgroups->parent_fd >= 0) {
        remove_abandoned(cgroups->parent_fd);
    }
    if (cgroups->parent_fd < 0 || !arcp__proc_stat_read(getpid(), &self)) {
        free_memory(cgroups);
        return NULL;
    }
    (void)snprintf(cgroups->name, sizeof cgroups->name, NAME_FORMAT, (int)self.pid,
                   (unsigned long long)self.started);
    if (mkdirat(cgroups->parent_fd, cgroups->name, OWN_MODE) != 0) {
        free_memory(cgroups);
        return NULL;
    }
    cgroups->fd = openat(cgroups->parent_fd, cgroups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroups->fd < 0 || faccessat(cgroups->fd, "cgroup.kill", W_OK, 0) != 0) {
        (void)unlinkat(cgroups->parent_fd, cgroups->name, AT_REMOVEDIR);
        free_memory(cgroups);
        return NULL;
    }
    return cgroups;
}

void arcp__cgroups_close(arcp__cgroups *cgroups)
{
    if (cgroups != NULL) {
        remove_all(cgroups->parent_fd, cgroups->name);
        free_memory(cgroups);
    }
}

static bool is_empty(const arcp__cgroups *cgroups, unsigned number)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%u/cgroup.events", number);
    return await_empty(cgroups->fd, name, 0);
}

unsigned arcp__cgroups_take(arcp__cgroups *cgroups, int *directory_fd)
{
    char name[32];
    unsigned number = 0;
    *directory_fd = -1;
    if (cgroups == NULL) {
        return 0;
    }
    /* Reuse an empty cgroup; killed ones that come up are removed. */
    for (unsigned tries = 0; tries < EMPTY_TRIES && cgroups->unused != NULL && number == 0;
         tries++) {
        free_cgroup *one = cgroups->unused;
        DL_DELETE(cgroups->unused, one);
        (void)snprintf(name, sizeof name, "%u", one->number);
        const bool is_done = one->is_killed ? unlinkat(cgroups->fd, name, AT_REMOVEDIR) == 0
                                            : is_empty(cgroups, one->number);
        if (is_done) {
            number = one->is_killed ? 0 : one->number;
            arcp__free(one);
        } else {
            DL_APPEND(cgroups->unused, one); /* its processes have not exited yet */
        }
    }
    const bool is_new = number == 0;
    number = is_new ? cgroups->made + 1 : number;
    (void)snprintf(name, sizeof name, "%u", number);
    if (is_new && mkdirat(cgroups->fd, name, OWN_MODE) != 0) {
        return 0;
    }
    cgroups->made += is_new ? 1 : 0;
    *directory_fd = openat(cgroups->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*directory_fd < 0) {
        arcp__cgroups_end(cgroups, number);
        return 0;
    }
    return number;
}

void arcp__cgroups_end(arcp__cgroups *cgroups, unsigned number)
{
    char name[32];
    if (number == 0) {
        return;
    }
    const bool is_killed = !is_empty(cgroups, number);
    if (is_killed) {
        (void)snprintf(name, sizeof name, "%u/cgroup.kill", number);
        (void)write_file(cgroups->fd, name, "1");
    }
    free_cgroup *one = arcp__alloc(sizeof *one);
    if (one != NULL) {
        one->number = number;
        one->is_killed = is_killed;
        DL_APPEND(cgroups->unused, one);
    } /* else it is not reused, but removed with the others at the end */
}
