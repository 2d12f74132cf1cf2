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
#include "launch/cgroup_files.h"
#include "launch/proc_stat.h"

#define NAME_START   "arcpd."
#define NAME_FORMAT  NAME_START "%d.%llu"
#define NAME_SIZE    64
#define END_WAIT_MS  1000
#define EMPTY_TRIES  2 /* unused cgroups to check before a new one is created */
#define OWN_MODE     0755
#define EVENTS_BYTES 256
#define LEAF_NAME    "arcpd-main"

_Static_assert((int)ARCP__CGROUP_MEMORY == (int)ARCP__SANDBOX_LIMIT_MEMORY &&
                   (int)ARCP__CGROUP_CPU == (int)ARCP__SANDBOX_LIMIT_CPU &&
                   (int)ARCP__CGROUP_PIDS == (int)ARCP__SANDBOX_LIMIT_PIDS,
               "a plan names limits by the same bits");

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
    bool has_found;      /* which limits can be had: */
    unsigned limits;
    /* Version 1: our own cgroup of each controller, and the directory of this runtime in it. */
    int limit_parents[ARCP__CGROUP_LIMITS], limit_fds[ARCP__CGROUP_LIMITS];
};

/* ---- one cgroup ---- */

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
    if (arcp__cgroup_write(fd, "cgroup.kill", "1") &&
        await_empty(fd, "cgroup.events", END_WAIT_MS)) {
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

/* Removes a directory of version 1 and those in it; one that has a process stays. */
static void remove_empty(int parent_fd, const char *name)
{
    DIR *entries = arcp__directory_entries(parent_fd, name);
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            (void)unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
        }
    }
    (void)closedir(entries);
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* ---- cleaning up after earlier runtimes ---- */

/* `remove` is given each directory of a runtime that has ended. */
static void remove_abandoned(int parent_fd, void (*remove)(int parent_fd, const char *name))
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
            remove(parent_fd, name);
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
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        arcp__close(cgroups->limit_fds[i]);
        arcp__close(cgroups->limit_parents[i]);
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
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        cgroups->limit_fds[i] = cgroups->limit_parents[i] = -1;
    }
    cgroups->parent_fd = arcp__cgroup_open_own(NULL);
    if (cgroups->parent_fd >= 0) {
        remove_abandoned(cgroups->parent_fd, remove_all);
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
        for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
            if (cgroups->limit_fds[i] >= 0) {
                remove_empty(cgroups->limit_parents[i], cgroups->name);
            }
        }
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
    /* The count of what the kernel has killed is that of a cgroup. */
    const bool is_killed = !is_empty(cgroups, number) || arcp__cgroups_has_run_out(cgroups, number);
    if (is_killed) {
        (void)snprintf(name, sizeof name, "%u/cgroup.kill", number);
        (void)arcp__cgroup_write(cgroups->fd, name, "1");
    }
    (void)snprintf(name, sizeof name, "%u", number);
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        if (cgroups->limit_fds[i] >= 0) {
            (void)unlinkat(cgroups->limit_fds[i], name, AT_REMOVEDIR);
        }
    }
    free_cgroup *one = arcp__alloc(sizeof *one);
    if (one != NULL) {
        one->number = number;
        one->is_killed = is_killed;
        DL_APPEND(cgroups->unused, one);
    } /* else it is not reused, but removed with the others at the end */
}

/* ---- limits ---- */

static bool find_version_1(arcp__cgroups *cgroups, size_t limit)
{
    const int parent = arcp__cgroup_open_own(arcp__cgroup_controller(limit));
    if (parent >= 0) {
        remove_abandoned(parent, remove_empty);
    }
    if (parent < 0 || (mkdirat(parent, cgroups->name, OWN_MODE) != 0 && errno != EEXIST)) {
        arcp__close(parent);
        return false;
    }
    cgroups->limit_parents[limit] = parent;
    cgroups->limit_fds[limit] = openat(parent, cgroups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cgroups->limit_fds[limit] >= 0;
}

unsigned arcp__cgroups_find_limits(arcp__cgroups *cgroups)
{
    if (cgroups == NULL || cgroups->has_found) {
        return cgroups == NULL ? 0 : cgroups->limits;
    }
    cgroups->has_found = true;
    if (arcp__cgroup_delegate(cgroups->parent_fd, LEAF_NAME) != 0) {
        cgroups->limits = arcp__cgroup_pass_on(cgroups->fd);
    }
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        if ((cgroups->limits & 1U << i) == 0 && find_version_1(cgroups, i)) {
            cgroups->limits |= 1U << i;
        }
    }
    return cgroups->limits;
}

arcp__cgroup_limits arcp__cgroup_limits_of(const arcp__sandbox_limits *limits)
{
    const uint32_t set = limits->by_cgroup;
    return (arcp__cgroup_limits){
        .memory_bytes = (set & ARCP__SANDBOX_LIMIT_MEMORY) != 0 ? limits->memory_bytes : 0,
        .cpu_percent = (set & ARCP__SANDBOX_LIMIT_CPU) != 0 ? limits->cpu_percent : 0,
        .pids = (set & ARCP__SANDBOX_LIMIT_PIDS) != 0 ? limits->pids + ARCP__SANDBOX_OWN_PIDS : 0};
}

/* The cgroup of a limit, which is new if it is one of version 1; -1 sets errno. */
static int open_limited(const arcp__cgroups *cgroups, size_t limit, const char *name)
{
    const int parent = cgroups->limit_fds[limit];
    if (parent >= 0) {
        (void)unlinkat(parent, name, AT_REMOVEDIR); /* of an earlier process: its counts */
        if (mkdirat(parent, name, OWN_MODE) != 0 && errno != EEXIST) {
            return -1;
        }
    }
    return openat(parent >= 0 ? parent : cgroups->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* False sets errno. */
static bool set_limit(const arcp__cgroups *cgroups, size_t limit, unsigned number, uint64_t value,
                      int *joined)
{
    char name[32];
    const bool can_be_had = number != 0 && (cgroups->limits & 1U << limit) != 0;
    const bool is_version_1 = can_be_had && cgroups->limit_fds[limit] >= 0;
    if (!can_be_had || (is_version_1 && value == 0)) {
        errno = EOPNOTSUPP;
        return value == 0;
    }
    (void)snprintf(name, sizeof name, "%u", number);
    const int fd = open_limited(cgroups, limit, name);
    const bool is_set = fd >= 0 && arcp__cgroup_set(fd, limit, is_version_1, value);
    if (is_set && is_version_1) {
        *joined = fd;
        return true;
    }
    const int reason = errno;
    arcp__close(fd);
    errno = reason;
    return is_set;
}

arcp_status arcp__cgroups_limit(arcp__cgroups *cgroups, unsigned number,
                                const arcp__cgroup_limits *limits, int fds[ARCP__CGROUP_LIMITS],
                                arcp_error *err)
{
    const uint64_t values[ARCP__CGROUP_LIMITS] = {limits->memory_bytes, limits->cpu_percent,
                                                  limits->pids};
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        fds[i] = -1;
    }
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        if (!set_limit(cgroups, i, number, values[i], &fds[i])) {
            const int reason = errno;
            arcp__cgroup_close(fds);
            return arcp_error_set(err, ARCP_E_IO, "the limit of %s cannot be set: %s",
                                  arcp__cgroup_controller(i), strerror(reason));
        }
    }
    return ARCP_OK;
}

void arcp__cgroup_close(int fds[ARCP__CGROUP_LIMITS])
{
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) {
        arcp__close(fds[i]);
        fds[i] = -1;
    }
}

bool arcp__cgroups_has_run_out(const arcp__cgroups *cgroups, unsigned number)
{
    char name[32];
    if (number == 0 || (cgroups->limits & ARCP__CGROUP_MEMORY) == 0) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%u", number);
    const bool is_version_1 = cgroups->limit_fds[0] >= 0;
    const int fd = openat(is_version_1 ? cgroups->limit_fds[0] : cgroups->fd, name,
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool has_run_out = fd >= 0 && arcp__cgroup_kills(fd, is_version_1) != 0;
    arcp__close(fd);
    return has_run_out;
}
