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

/* Makes /dev and /proc. Returns whether /proc is the outer one. */
void arcp__helper_dev(const arcp__helper_view *view, bool has_terminal);
bool arcp__helper_proc(const arcp__helper_view *view, uint32_t pids);

#endif
