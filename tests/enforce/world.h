/* The network world of the tests: a "host" network with one interface, and behind it everything
 * that a job must not reach, and a few things that it may.
 *
 * The calling process enters a network namespace of its own: the host of the rows. A second one
 * holds the world, on addresses that look public, private or special there. One process serves it
 * all, in both namespaces, and remembers which marks have arrived, in whatever way: a mark is a
 * word such as "mark-17c" that an attempt puts into what it sends. Needs root. */
#ifndef ARCP_TESTS_ENFORCE_WORLD_H
#define ARCP_TESTS_ENFORCE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { WORLD_MARKS_MAX = 4096, WORLD_MARK_SIZE = 24 };

typedef struct network_world {
    pid_t pid;            /* of the process that serves; 0: there is no world here */
    unsigned char *heard; /* by mark; shared with that process */
} network_world;

typedef struct world_options {
    const char *directory; /* for the files that are bound over those of /etc */
    const char *token;     /* the secret that a server gives away with a mark */
    /* Served instead of the world's own pages (ports but that of DNS), by /bin/sh; NULL: none. */
    const char *command;
} world_options;

/* Makes the world. /etc/resolv.conf, /etc/hosts and /etc/nsswitch.conf are those of the world for
 * this process and its children, which must be in a mount namespace of their own. False: this
 * kernel has no such interfaces. Exits on any other failure. */
bool world_start(network_world *world, const world_options *options);
/* Ends the process that serves. */
void world_stop(network_world *world);

/* The mark of an attempt. */
void world_mark(size_t number, bool confined, char out[WORLD_MARK_SIZE]);
/* Whether the mark has arrived anywhere; everything that was sent before counts. */
bool world_has_heard(const network_world *world, size_t number, bool confined);

#endif
