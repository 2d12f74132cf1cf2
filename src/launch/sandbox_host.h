/* What a sandbox needs on the host beside its plan, for the command of `arcp run` and for agents.
 */
#ifndef ARCP_LAUNCH_SANDBOX_HOST_H
#define ARCP_LAUNCH_SANDBOX_HOST_H

#include "base/arena.h"
#include "sandbox/sandbox.h"

/* A variable of the environment by which a program knows that it is confined. */
#define ARCP__SANDBOX_MARK "ARCP_SANDBOX"

typedef struct arcp__own_list {
    arcp_span *paths; /* owned */
    size_t count, capacity;
} arcp__own_list;

/* The files and directories of ARCP itself, which no lease grants. Zero-initialised is empty. */
typedef struct arcp__own_paths {
    arcp__arena arena;         /* of the texts; a NUL follows each */
    arcp__own_list all, files; /* `files` are those of `all` that are no directories */
    arcp__own_list links;      /* names that were added and lead elsewhere */
    bool failed;               /* an addition ran out of memory */
} arcp__own_paths;

/* Adds a canonical absolute path and, when links lead to it, its other name. One that is in the
 * list is not added again. `is_directory` says what is expected where nothing is there. */
void arcp__own_paths_add(arcp__own_paths *own, const char *path, bool is_directory);
/* Adds what the links lead to now: the host may have moved one. What one led to before stays in the
 * list. Without links nothing is looked at. */
void arcp__own_paths_follow(arcp__own_paths *own);
/* Makes them those of the request, which borrows them until the next addition. */
void arcp__own_paths_set(const arcp__own_paths *own, arcp__sandbox_request *request);
void arcp__own_paths_fini(arcp__own_paths *own);

/* Makes the own directories of the plan that are absent and in a directory that the program may
 * write: what is not there cannot be covered, and the program could make it. One that this process
 * may not make, the program may not make either. ARCP_E_IO names the directory. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_make_own(const arcp__sandbox_plan *plan, arcp_error *err);

/* Makes a directory and its parents, mode 0700, where they are absent. False sets errno. */
bool arcp__make_directories(const char *path);

/* Whether the plan needs a prepared /etc (launch/sandbox_etc.h). */
bool arcp__sandbox_needs_etc(const arcp__sandbox_plan *plan);

/* Whether every sandbox has this file of the host's /etc. */
bool arcp__sandbox_has_in_etc(const char *path);

/* Whether a tree of the lease's fs.read that is mounted has the path: then it can be executed
 * there, and as a base it would be read-only in a tree that may be written. Without namespaces a
 * base takes nothing from a tree, and the tree may be refused. */
bool arcp__sandbox_reads_base(const arcp__sandbox_request *request, const char *path);

#endif
