/* The broker: answers the calls of a confined program that its filter passes on.
 *
 * The monitor runs it, outside the sandbox, as the job's user. Most calls go on in the kernel,
 * which decides by the mounts and rules of the plan. What the lease grants by a pattern is opened,
 * changed or described by the broker itself. What is not granted is denied, counted and reported.
 *
 * The order of set-up:
 *   1. init, before it leaves the host's tree: for each directory of arcp__broker_beginnings a
 *      read-only copy of the mounts below it: open_tree(OPEN_TREE_CLONE | AT_RECURSIVE), then
 *      mount_setattr(AT_RECURSIVE; RDONLY, NOSUID, NODEV). Of a directory that is absent, the
 * nearest one above it that exists. Level full only.
 *   2. init makes the sandbox's root and its private file system, and sends descriptors (below).
 *   3. init installs the filter, and sends its listener.
 *   4. the monitor has meanwhile installed a filter of its own and made the broker
 *      (arcp__broker_new); it calls arcp__broker_start.
 *   5. when the sandbox's processes have ended, the monitor calls arcp__broker_finish.
 *
 * Files: read what the program wrote (broker_memory), decide (broker_decide, pure), look
 * (broker_look), carry out (broker_open, broker_change, broker_stat, broker_view, broker_connect).
 */
#ifndef ARCP_BROKER_BROKER_H
#define ARCP_BROKER_BROKER_H

#include "sandbox/sandbox.h"

typedef struct arcp__broker arcp__broker;

#define ARCP__BROKER_CLONES_MAX 64

/* The directory that holds all that an absolute pattern can match: a part of it. */
arcp_span arcp__broker_beginning(arcp_span pattern);

/* The directories, absolute and canonical, whose read-only clones the broker needs: the literal
 * beginnings of the plan's patterns, without those below another. Writes at most
 * ARCP__BROKER_CLONES_MAX spans, which point into the plan, and returns their number; `/` alone
 * when there would be more, or the plan is late. 0: the plan has directories only. */
size_t arcp__broker_beginnings(const arcp__sandbox_plan *plan, arcp_span *out);

/* Whether the plan has patterns that only the broker can grant, or is late: then the filter passes
 * on stat and its like, too (traps_names). */
ARCP_MUST_CHECK bool arcp__broker_traps_names(const arcp__sandbox_plan *plan);

/* Whether the filter passes on calls that open or change names (traps_files): the plan reports what
 * is denied, or it has files or patterns that only the broker can grant, or what is hidden could be
 * seen without it. */
ARCP_MUST_CHECK bool arcp__broker_traps_files(const arcp__sandbox_plan *plan);

/* A read-only clone of the directory `path`, which has no symbolic link in it. */
typedef struct arcp__broker_clone {
    arcp_span path; /* absolute, canonical; borrowed until arcp__broker_finish */
    int fd;
} arcp__broker_clone;

/* What init made. Each descriptor is the broker's from arcp__broker_start on, also when that fails;
 * -1 where there is none. All are close-on-exec. */
typedef struct arcp__broker_descriptors {
    int listener; /* of the program's filter */
    int root;     /* O_PATH: `/` as the program sees it; level landlock: `/` */
    /* Two descriptors of one empty directory in the sandbox's private file system, which the
     * program cannot reach by a path. The broker makes listings in it by `views`, and the program
     * gets them by `views_read`: a detached read-only clone of a mount of just this directory, so
     * that no way leads up from it. Without them, directories with patterns cannot be listed. */
    int views;
    int views_read;
    int sockets; /* NETLINK_SOCK_DIAG, bound, of the program's network namespace (level full) */
    const arcp__broker_clone *clones; /* the array is borrowed during the call */
    size_t clone_count;
    /* Level landlock: the port of 127.0.0.1 that TCP sockets are connected to; 0: none are. */
    uint16_t proxy_port;
} arcp__broker_descriptors;

/* Makes the broker of a plan, which is borrowed until arcp__broker_finish; needs nothing of what
 * init makes. `control` is the SEQPACKET descriptor to which denials are reported (borrowed, never
 * waited for); -1: none. Returns 0 or an errno.
 *
 * A denial is a datagram, one for each distinct capability and target when it first happens, and
 * again, with its count, in arcp__broker_finish when it happened more often (the reader replaces
 * the earlier record):
 *
 *   {"denied": {"capability": "fs.read", "target": "/home/you/.ssh/id_ed25519",
 *               "program": "python3", "pid": 4711, "count": 1}}
 *
 * `target` and `program` were chosen by the program: control bytes, bytes that are not UTF-8 and
 * backslashes are written as \xNN. A denied connect or listen has that as its capability, and the
 * socket's name or the family as its target. At most 1 024 distinct denials are kept; of the others
 * there is one record at the end, with their number: {"denied": {"capability": "", "target": "",
 * "count": 9}}.
 */
ARCP_MUST_CHECK int arcp__broker_new(const arcp__sandbox_plan *plan, int control,
                                     arcp__broker **out);

/* Starts its first thread. Returns 0 or an errno; then the broker can only be finished. */
ARCP_MUST_CHECK int arcp__broker_start(arcp__broker *broker,
                                       const arcp__broker_descriptors *descriptors);

/* Serves the lease of `plan`, which is borrowed until arcp__broker_finish, for all calls that are
 * taken from now on, and forgets the denials until now: of a plan that is late, at most once, from
 * any thread. Returns 0 or an errno, and then nothing has changed. */
ARCP_MUST_CHECK int arcp__broker_set_lease(arcp__broker *broker, const arcp__sandbox_plan *plan);

/* Whether the lease of the plan, or one that comes late, is served by the broker in part. */
ARCP_MUST_CHECK bool arcp__broker_serves_lease(const arcp__sandbox_plan *plan);

/* The lease grants nothing any more: calls that are taken from now on are denied what the broker
 * served for it. What the kernel grants by mounts and rules stays, and so do files that are open.
 * At most once, from the thread of arcp__broker_set_lease if there is one. Returns 0 or an errno,
 * and then nothing has changed. */
ARCP_MUST_CHECK int arcp__broker_revoke(arcp__broker *broker);

/* Reports what is left to report and frees the broker; NULL is accepted. Called when the program
 * and all its processes have ended; threads that still carry something out are waited for, at most
 * one second, and are then left behind with their memory. */
void arcp__broker_finish(arcp__broker *broker);

#endif
