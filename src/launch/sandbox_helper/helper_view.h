/* The new root while it is made. */
#ifndef ARCP_LAUNCH_HELPER_VIEW_H
#define ARCP_LAUNCH_HELPER_VIEW_H

#include <sys/stat.h>

#include "launch/sandbox_helper/helper.h"

typedef struct arcp__helper_view {
    int host;    /* O_PATH: the host's tree, which stays our root until the view is complete */
    int scratch; /* the file system of everything that is not the host's */
    dev_t scratch_device;
    int root;           /* the new root */
    bool root_is_hosts; /* bound from the host, else of the scratch file system */
    unsigned private_count;
    const char *mountinfo; /* of the namespace, before anything was mounted in it */
} arcp__helper_view;

enum { /* of arcp__helper_target */
       ARCP__HELPER_IS_DIRECTORY = 1,
       ARCP__HELPER_IS_FILE = 2,
       ARCP__HELPER_MUST_EXIST = 4
};

/* Opens the place below the new root that something is mounted on. No component may be a symbolic
 * link, and what is returned is a descriptor, so that no program that can change a writable tree
 * leads a mount elsewhere. Components that are absent are made, but only in the scratch file
 * system: never on the host. -1 sets errno. */
int arcp__helper_target(const arcp__helper_view *view, arcp_span path, unsigned flags);

/* Mounts a tree that is not attached yet on a place, and closes both. */
bool arcp__helper_attach(int tree, int place);

/* A copy of the mounts at a path, not attached, with all below it. `attributes` (MOUNT_ATTR_...)
 * are added to every mount. -1 sets errno. */
int arcp__helper_copy(int at, const char *path, uint64_t attributes);

/* Makes `target`, with everything that the directory `fd` of the host holds but the runtime's own
 * files, read-only. False sets errno. */
bool arcp__helper_mount_around(const arcp__helper_view *view, const arcp__sandbox_plan *plan,
                               int fd, arcp_span target);

/* The attributes of every copy of a tree of the host. */
#define ARCP__HELPER_TREE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* ---- for the broker (helper_clones) ---- */

/* The broker opens what it grants for reading through read-only copies of the host's mounts, so
 * that nothing that a program is given can be changed (mode, times, attributes) with the
 * descriptor. */
void arcp__helper_give_clones(const arcp__helper *helper, int host);
/* Makes the directories that patterns begin with, so that the program can change to them. Where
 * they cannot be made, a mount or a link is in their place. */
void arcp__helper_make_beginnings(const arcp__helper_view *view, const arcp__sandbox_plan *plan);
/* Listings that the broker makes are in a directory that the program reaches by no path. */
void arcp__helper_give_views(const arcp__helper *helper, const arcp__helper_view *view);

/* ---- /dev and /proc ---- */

/* Makes /dev and /proc. Returns whether /proc is the outer one. */
void arcp__helper_dev(const arcp__helper_view *view, bool has_terminal);
bool arcp__helper_proc(const arcp__helper_view *view, uint32_t pids);

/* Makes ARCP__SANDBOX_CA_DIRECTORY in /dev, which is there already, unless `certificate` is "". */
void arcp__helper_certificates(const arcp__helper_view *view, const char *certificate);
/* When all mounts are made: the same file is mounted over those of the host, if its /etc is seen.
 */
void arcp__helper_replace_bundles(const arcp__helper_view *view, const char *certificate);

#endif
