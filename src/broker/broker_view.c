/* Listings of directories that the lease has in part.
 *
 * A directory of the host is never given to the program: from its descriptor `..` leads to what the
 * kernel's rules do not judge (stat, chmod, chdir). Instead it gets a view: a directory in the
 * sandbox's own file system, with an empty entry for each name that the lease can read, or that
 * leads to one. It is brought up to date at each open, written through one descriptor and given to
 * the program through another that is read-only and from which no way leads up. Where a view is
 * used as the beginning of a name, it stands for the directory that it lists. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "broker/broker_task.h"

enum {
    NAMES_MAX = 10000,      /* of one directory */
    VIEWS_MAX = 4096,       /* the least recently used is removed */
    ALL_NAMES_MAX = 100000, /* each costs the kernel about 1 KB */
    FILE_MODE = 0444,
    DIRECTORY_MODE = 0555
};

typedef struct view {
    char *path; /* owned: of the directory, as the program sees it */
    char name[24];
    ino_t inode;
    size_t name_count;
    UT_hash_handle hh; /* by path, the least recently used first */
    UT_hash_handle hh_inode;
} view;

struct arcp__broker_views {
    pthread_mutex_t lock;
    int writable, readable;
    dev_t device;
    view *by_path, *by_inode;
    size_t name_count;
    uint64_t next_name;
};

/* A set of names, with what they are. */
typedef struct entry {
    bool is_directory;
    UT_hash_handle hh;
    char name[]; /* with a NUL */
} entry;

arcp__broker_views *arcp__broker_views_new(int writable, int readable)
{
    struct stat about;
    if (fstat(writable, &about) != 0) {
        return NULL;
    }
    arcp__broker_views *views = arcp__alloc(sizeof *views);
    if (views != NULL) {
        (void)pthread_mutex_init(&views->lock, NULL);
        views->writable = writable;
        views->readable = readable;
        views->device = about.st_dev;
    }
    return views;
}

/* ---- sets of names ---- */

static void free_entries(entry *set)
{
    entry *one;
    entry *next;
    HASH_ITER (hh, set, one, next) {
        HASH_DEL(set, one);
        arcp__free(one);
    }
}

/* False: no memory. */
static bool add_entry(entry **set, const char *name, bool is_directory)
{
    const size_t size = strlen(name);
    entry *one = NULL;
    HASH_FIND(hh, *set, name, size, one);
    if (one != NULL) {
        return true;
    }
    one = arcp__alloc(sizeof *one + size + 1);
    if (one == NULL) {
        return false;
    }
    one->is_directory = is_directory;
    memcpy(one->name, name, size);
    HASH_ADD_KEYPTR(hh, *set, one->name, size, one);
    if (!ARCP__HASH_ADDED(one)) {
        arcp__free(one);
        return false;
    }
    return true;
}

typedef bool name_filter(const void *user, const char *name, bool is_directory);

/* Adds the names of a directory that the filter (NULL: none) lets through. Returns an errno: E2BIG
 * when there are too many. */
static int read_names(int directory, name_filter *filter, const void *user, entry **set)
{
    const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        const int error = errno;
        (void)close(fd);
        return error;
    }
    int error = 0;
    const struct dirent *one;
    while (error == 0 && (one = readdir(stream)) != NULL) {
        if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0) {
            continue;
        }
        bool is_directory = one->d_type == DT_DIR;
        if (one->d_type == DT_UNKNOWN) {
            struct stat about;
            is_directory = fstatat(fd, one->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                           S_ISDIR(about.st_mode);
        }
        if (filter != NULL && !filter(user, one->d_name, is_directory)) {
            continue;
        }
        error = add_entry(set, one->d_name, is_directory) ? 0 : ENOMEM;
        if (error == 0 && HASH_COUNT(*set) > NAMES_MAX) {
            error = E2BIG;
        }
    }
    (void)closedir(stream);
    return error;
}

typedef struct listing {
    const arcp__broker_task *task;
    bool is_inside; /* what the sandbox has there; else the host */
} listing;

/* Whether the program may know a name: the lease can read it, it leads to one that the lease can
 * read, or the sandbox has it. */
static bool is_listed(const void *user, const char *name, bool is_directory)
{
    const listing *place = user;
    const arcp__broker_task *task = place->task;
    const arcp__broker_classes *classes = task->classes;
    const arcp_span directory = task->call.path;
    char path[2 * ARCP__BROKER_PATH_MAX + 256];
    const int size = snprintf(path, sizeof path, "%.*s%s%s", (int)directory.size, directory.data,
                              directory.size == 1 ? "" : "/", name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return false;
    }
    const arcp_span child = arcp_span_make(path, (size_t)size);
    arcp__broker_class class = arcp__broker_classify(classes, child);
    if (class.place == ARCP__BROKER_PLACE_OWN) {
        return false;
    }
    const bool is_private = class.place == ARCP__BROKER_PLACE_PRIVATE;
    if (!place->is_inside && (is_private || class.place == ARCP__BROKER_PLACE_ETC)) {
        class.kernel = 0; /* the host's file is not the sandbox's there */
        class.lease = is_private ? 0 : class.lease;
    }
    const bool leads = is_private ? arcp__broker_leads_in_private(classes, child)
                                  : arcp__broker_leads_to_reading(classes, child);
    return ((class.lease | class.kernel) & ARCP__SANDBOX_READ) != 0 ||
           (is_directory && (leads || arcp__broker_leads_to_mount(classes, child)));
}

/* ---- views; with the lock held ---- */

static void remove_name(int directory, const char *name)
{
    if (unlinkat(directory, name, 0) != 0) {
        (void)unlinkat(directory, name, AT_REMOVEDIR);
    }
}

static void remove_view(arcp__broker_views *views, view *one)
{
    const int fd = openat(views->writable, one->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    entry *names = NULL;
    if (fd >= 0) {
        (void)read_names(fd, NULL, NULL, &names);
        for (const entry *name = names; name != NULL; name = name->hh.next) {
            remove_name(fd, name->name);
        }
        (void)close(fd);
    }
    free_entries(names);
    (void)unlinkat(views->writable, one->name, AT_REMOVEDIR);
    views->name_count -= one->name_count;
    assert(views->by_path != NULL && views->by_inode != NULL); /* each view is in both tables */
    HASH_DELETE(hh, views->by_path, one);
    HASH_DELETE(hh_inode, views->by_inode, one);
    arcp__free(one->path);
    arcp__free(one);
}

static view *add_view(arcp__broker_views *views, arcp_span path)
{
    view *one = arcp__alloc(sizeof *one);
    if (one == NULL) {
        return NULL;
    }
    struct stat about;
    one->path = arcp__copy_cstr(path.data, path.size);
    (void)snprintf(one->name, sizeof one->name, "%llu", (unsigned long long)views->next_name++);
    if (one->path == NULL || mkdirat(views->writable, one->name, DIRECTORY_MODE | S_IWUSR) != 0 ||
        fstatat(views->writable, one->name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
        arcp__free(one->path);
        arcp__free(one);
        return NULL;
    }
    one->inode = about.st_ino;
    HASH_ADD_KEYPTR(hh, views->by_path, one->path, path.size, one);
    if (!ARCP__HASH_ADDED(one)) {
        (void)unlinkat(views->writable, one->name, AT_REMOVEDIR);
        arcp__free(one->path);
        arcp__free(one);
        return NULL;
    }
    HASH_ADD(hh_inode, views->by_inode, inode, sizeof one->inode, one);
    if (one->hh_inode.tbl == NULL) {
        HASH_DELETE(hh, views->by_path, one);
        (void)unlinkat(views->writable, one->name, AT_REMOVEDIR);
        arcp__free(one->path);
        arcp__free(one);
        return NULL;
    }
    return one;
}

/* The view of a directory, as the most recently used one; NULL: there is no memory. */
static view *get_view(arcp__broker_views *views, arcp_span path)
{
    view *one = NULL;
    HASH_FIND(hh, views->by_path, path.data, path.size, one);
    if (one != NULL) {
        HASH_DELETE(hh, views->by_path, one);
        HASH_ADD_KEYPTR(hh, views->by_path, one->path, path.size, one);
        return one;
    }
    while (HASH_COUNT(views->by_path) >= VIEWS_MAX) {
        remove_view(views, views->by_path);
    }
    return add_view(views, path);
}

static int make_name(int directory, const entry *name)
{
    if (name->is_directory) {
        return mkdirat(directory, name->name, DIRECTORY_MODE) == 0 ? 0 : errno;
    }
    const int fd =
        openat(directory, name->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return errno;
    }
    (void)close(fd);
    return 0;
}

/* Makes the view's names those of the set. */
static int update_view(arcp__broker_views *views, view *one, entry *wanted)
{
    const int fd = openat(views->writable, one->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    entry *present = NULL;
    int error = read_names(fd, NULL, NULL, &present);
    for (const entry *name = present; name != NULL; name = name->hh.next) {
        const entry *same = NULL;
        HASH_FIND(hh, wanted, name->name, name->hh.keylen, same);
        if (same == NULL || same->is_directory != name->is_directory) {
            remove_name(fd, name->name);
        }
    }
    for (const entry *name = wanted; error == 0 && name != NULL; name = name->hh.next) {
        const entry *same = NULL;
        HASH_FIND(hh, present, name->name, name->hh.keylen, same);
        if (same == NULL || same->is_directory != name->is_directory) {
            error = make_name(fd, name);
        }
    }
    free_entries(present);
    (void)close(fd);
    views->name_count += HASH_COUNT(wanted);
    views->name_count -= one->name_count;
    one->name_count = HASH_COUNT(wanted);
    return error;
}

/* Opens the view of a directory; -1: it cannot be made. */
static int open_view(arcp__broker_views *views, arcp_span path, entry *wanted)
{
    view *one = get_view(views, path);
    if (one == NULL) {
        return -1;
    }
    while (views->name_count - one->name_count + HASH_COUNT(wanted) > ALL_NAMES_MAX &&
           views->by_path != one) {
        remove_view(views, views->by_path);
    }
    if (update_view(views, one, wanted) != 0) {
        remove_view(views, one);
        return -1;
    }
    return arcp__broker_open_beneath(views->readable, one->name, O_RDONLY | O_DIRECTORY, 0);
}

/* ---- for the broker ---- */

dev_t arcp__broker_views_device(const arcp__broker_views *views)
{
    return views->device;
}

bool arcp__broker_views_find(arcp__broker_views *views, const struct stat *directory, char *out,
                             size_t *size)
{
    if (directory->st_dev != views->device) {
        return false;
    }
    (void)pthread_mutex_lock(&views->lock);
    const view *one = NULL;
    HASH_FIND(hh_inode, views->by_inode, &directory->st_ino, sizeof directory->st_ino, one);
    if (one != NULL) {
        *size = one->hh.keylen;
        memcpy(out, one->path, *size);
    }
    (void)pthread_mutex_unlock(&views->lock);
    return one != NULL;
}

void arcp__broker_serve_list(arcp__broker_task *task)
{
    arcp__broker_views *views = task->broker->views;
    if (views == NULL) {
        arcp__broker_task_fail(task, EACCES);
        return;
    }
    entry *names = NULL;
    listing place = {.task = task};
    int error = read_names(task->found[ARCP__BROKER_LOOK_HOST], is_listed, &place, &names);
    if (error == 0) {
        /* What only the sandbox has: its private places, and the directories above mounts. */
        if (!task->facts.looks[ARCP__BROKER_LOOK_INSIDE].is_known) {
            arcp__broker_look_at(task, ARCP__BROKER_LOOK_INSIDE);
        }
        if (task->facts.looks[ARCP__BROKER_LOOK_INSIDE].error == 0) {
            place.is_inside = true;
            error = read_names(task->found[ARCP__BROKER_LOOK_INSIDE], is_listed, &place, &names);
        }
    }
    int fd = -1;
    if (error == 0) {
        (void)pthread_mutex_lock(&views->lock);
        fd = open_view(views, task->call.path, names);
        (void)pthread_mutex_unlock(&views->lock);
    }
    free_entries(names);
    if (fd < 0) {
        arcp__broker_task_fail(task, EACCES);
        return;
    }
    arcp__broker_task_give(task, fd);
    (void)close(fd);
}

void arcp__broker_views_free(arcp__broker_views *views)
{
    if (views == NULL) {
        return;
    }
    while (views->by_path != NULL) {
        remove_view(views, views->by_path);
    }
    (void)close(views->writable);
    (void)close(views->readable);
    (void)pthread_mutex_destroy(&views->lock);
    arcp__free(views);
}
