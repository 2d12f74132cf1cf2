/* A directory of the base that holds a file of the runtime's.
 *
 * A cover over that file would be lost when the host puts another file in its place. So the file is
 * not mounted at all: the directories that lead to it are made anew, and their other entries are
 * bound one by one. Names that the host adds to these directories later are not seen. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper_view.h"

/* Each is a mount. */
#define ENTRIES_MAX 4096

typedef struct around {
    const arcp__helper_view *view;
    const arcp__sandbox_plan *plan;
    unsigned entries;
} around;

static bool bind_directory(around *a, int fd, arcp_span target);

static bool copy_link(int fd, int place, const char *name)
{
    char text[PATH_MAX];
    const ssize_t size = readlinkat(fd, "", text, sizeof text - 1);
    if (size < 0) {
        return false;
    }
    text[size] = '\0';
    return symlinkat(text, place, name) == 0;
}

/* `fd` is of the entry, `place` of the new directory that gets it. */
static bool bind_entry(around *a, int fd, int place, arcp_span target, const char *name)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return false;
    }
    if (S_ISLNK(about.st_mode)) {
        return copy_link(fd, place, name);
    }
    if (S_ISDIR(about.st_mode) && arcp__sandbox_holds_own_file(a->plan, target)) {
        return bind_directory(a, fd, target);
    }
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode)) {
        return true; /* devices and sockets are no part of a base */
    }
    const int tree = arcp__helper_copy(fd, "", ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY);
    return tree >= 0 &&
           arcp__helper_attach(tree, arcp__helper_target(a->view, target,
                                                         S_ISDIR(about.st_mode)
                                                             ? ARCP__HELPER_IS_DIRECTORY
                                                             : ARCP__HELPER_IS_FILE));
}

static bool bind_name(around *a, int directory, int place, arcp_span parent, const char *name)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%.*s/%s", (int)parent.size, parent.data, name);
    const char *path = arcp_buf_cstr(&text);
    bool is_done = path != NULL;
    if (is_done && !arcp__sandbox_is_own(a->plan, arcp_span_cstr(path))) {
        const int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (++a->entries > ENTRIES_MAX) {
            errno = E2BIG;
            is_done = false;
        } else if (fd >= 0) {
            is_done = bind_entry(a, fd, place, arcp_span_cstr(path), name);
        } else {
            is_done = errno == ENOENT;
        }
        const int number = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        errno = number;
    } else if (!is_done) {
        errno = ENOMEM;
    }
    arcp_buf_fini(&text);
    return is_done;
}

/* False sets errno. */
static bool bind_directory(around *a, int fd, arcp_span target)
{
    const int place = arcp__helper_target(a->view, target, ARCP__HELPER_IS_DIRECTORY);
    const int listed = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = place < 0 || listed < 0 ? NULL : fdopendir(listed);
    bool is_done = directory != NULL;
    errno = is_done ? 0 : errno;
    for (const struct dirent *entry = NULL; is_done && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            is_done = bind_name(a, fd, place, target, entry->d_name);
        }
        errno = is_done ? 0 : errno;
    }
    is_done = is_done && errno == 0;
    const int number = errno;
    if (directory != NULL) {
        (void)closedir(directory);
    } else if (listed >= 0) {
        (void)close(listed);
    }
    if (place >= 0) {
        (void)close(place);
    }
    errno = number;
    return is_done;
}

bool arcp__helper_mount_around(const arcp__helper_view *view, const arcp__sandbox_plan *plan,
                               int fd, arcp_span target)
{
    around a = {.view = view, .plan = plan};
    return bind_directory(&a, fd, target);
}
