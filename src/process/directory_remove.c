/* Removing a tree that somebody else made, who may still be moving it about.
 *
 * Every step names an entry of a directory that is open: no path is walked twice, and no
 * symbolic link is followed. Directories deeper than some levels are moved up to the top
 * and come round again, so that neither stack nor descriptors bound the depth. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/work_directory.h"

#define DEPTH_MAX  32
#define PASSES_MAX 100000 /* a tree 3.2 million levels deep, or one that cannot be removed */

typedef struct removal {
    int top;
    unsigned moved;
} removal;

static void empty(removal *r, int directory, int depth);

static int open_directory(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_directory(removal *r, int at, const char *name, int depth)
{
    if (unlinkat(at, name, AT_REMOVEDIR) == 0) {
        return;
    }
    if (depth == DEPTH_MAX) {
        char to[32];
        (void)snprintf(to, sizeof(to), ".deep-%u", r->moved);
        r->moved += renameat(at, name, r->top, to) == 0 ? 1 : 0;
        return;
    }
    /* Programs leave directories that not even their owner may write. */
    int changed = fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW);
    (void)changed; /* opening it tells */
    int inner = open_directory(at, name);
    if (inner >= 0) {
        empty(r, inner, depth + 1);
    }
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* Takes the descriptor over. */
static void empty(removal *r, int directory, int depth)
{
    DIR *entries = fdopendir(directory);
    if (entries == NULL) {
        (void)close(directory);
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(directory, entry->d_name, 0) != 0) {
            remove_directory(r, directory, entry->d_name, depth);
        }
    }
    (void)closedir(entries);
}

void arcp__directory_remove(const char *path)
{
    removal r = {open_directory(AT_FDCWD, path), 0};
    if (r.top < 0) {
        return;
    }
    (void)fchmod(r.top, 0700);
    for (unsigned pass = 0; rmdir(path) != 0 && pass < PASSES_MAX; pass++) {
        unsigned before = r.moved;
        int directory = open_directory(r.top, ".");
        if (directory >= 0) {
            empty(&r, directory, 0);
        }
        if (directory < 0 || (r.moved == before && rmdir(path) != 0)) {
            break; /* nothing more can be done */
        }
    }
    (void)close(r.top);
}
