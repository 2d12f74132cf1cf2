/* Removes a tree that belongs to another user, who may change it at the same time.
 *
 * Every step uses an entry of an open directory, so no path is resolved twice and no symbolic link
 * is followed. Directories below a certain depth are moved to the top and removed in a later pass,
 * so that neither the stack nor the number of descriptors limits the depth. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "process/process.h"

#define DEPTH_MAX  32
#define PASSES_MAX 100000 /* enough for 3.2 million levels; a tree may be impossible to remove */

typedef struct removal {
    int top;
    unsigned moved;
} removal;

/* Removes the contents of the directory `name` in `parent`. False if it cannot be read. */
static bool empty(removal *r, int parent, const char *name, int depth)
{
    DIR *entries = arcp__directory_entries(parent, name);
    if (entries == NULL) {
        return false;
    }
    const int directory = dirfd(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const char *inner = entry->d_name;
        if (strcmp(inner, ".") == 0 || strcmp(inner, "..") == 0 ||
            unlinkat(directory, inner, 0) == 0 || unlinkat(directory, inner, AT_REMOVEDIR) == 0) {
            continue;
        }
        if (depth == DEPTH_MAX) {
            char to[32];
            (void)snprintf(to, sizeof to, ".deep-%u", r->moved);
            r->moved += renameat(directory, inner, r->top, to) == 0 ? 1 : 0;
            continue;
        }
        /* Programs leave directories that not even their owner may write to. */
        const int changed = fchmodat(directory, inner, 0700, AT_SYMLINK_NOFOLLOW);
        (void)changed; /* if it failed, so does opening the directory */
        (void)empty(r, directory, inner, depth + 1);
        (void)unlinkat(directory, inner, AT_REMOVEDIR);
    }
    (void)closedir(entries);
    return true;
}

void arcp__directory_remove(const char *path)
{
    removal r = {open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0};
    if (r.top < 0) {
        return;
    }
    (void)fchmod(r.top, 0700);
    for (unsigned pass = 0; rmdir(path) != 0 && pass < PASSES_MAX; pass++) {
        const unsigned before = r.moved;
        if (!empty(&r, r.top, ".", 0) || (r.moved == before && rmdir(path) != 0)) {
            break; /* no progress: the rest cannot be removed */
        }
    }
    (void)close(r.top);
}
