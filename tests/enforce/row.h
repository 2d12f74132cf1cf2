/* One row of escape.def: something that a program tries, and what a sandbox makes of it.
 *
 * Texts of a row have placeholders: @ is the directory of the attempt, {bin} that of the programs,
 * {host} that of the
 * host's sockets, {beside} one with a socket below /tmp, {port} and {port6} its TCP and UDP port,
 * {victim} and {address} a process of the host and the address of the secret in it, {token} the
 * secret, {uid} the user, {ms} some hundred milliseconds, {race} how long a race goes
 * on: bare until it is won, {mark} the word by which the network world tells this attempt from
 * others, {tag} one that the world does not look for. */
#ifndef ARCP_TESTS_ENFORCE_ROW_H
#define ARCP_TESTS_ENFORCE_ROW_H

#include <stdbool.h>
#include <stddef.h>

/* How it is seen that the act was done. */
typedef enum escape_proof {
    STATUS,  /* the program says so: its exit status is 0 */
    SECRET,  /* the secret is in its standard output */
    CHANGED, /* a file outside the writable trees is another one, or is new or gone */
    KILLED,  /* the victim has ended */
    ARRIVED, /* the mark is in something that the network world received, by whichever way */
} escape_proof;

typedef enum escape_kind {
    ESCAPES, /* done when it runs bare, denied when it is confined */
    WORKS,   /* done both times: what the lease grants, and what programs need */
    REFUSED, /* confined it is not even started: status 125 */
    ENDED,   /* done when it runs bare; confined the sandbox ends before it is done */
} escape_kind;

/* Where a row holds; 0 in a row means everywhere. */
enum {
    FULL = 1,       /* level full */
    LANDLOCK = 2,   /* level landlock */
    BY_RUN = 4,     /* only with options of `arcp run` */
    AS_ROOT = 8,    /* bare, only root can do it */
    NOT_ROOT = 16,  /* root may do it anyway */
    BROKER = 32,    /* needs the broker, as the probe says */
    ROOT_SETS = 64, /* `setup` and `during` run as root */
    WORLD = 128,    /* needs the network world */
    NOT_LATE = 512, /* not of a program whose lease comes when it runs: nothing of it is mounted */
    LATE = 1024,    /* only of such a program */
    PROXY = 256,    /* level landlock: needs what a network by a proxy needs, as the probe says */
};

typedef struct escape_row {
    const char *name;
    escape_kind kind;
    /* Words of arcp-escape; with `sh ` at the beginning a command of the shell. */
    const char *program;
    escape_proof proof;
    unsigned where;
    /* As JSON, with ' for "; NULL: the usual one. */
    const char *lease;
    const char *options; /* of `arcp run`; instead of a lease when that is NULL */
    const char *setup;   /* commands of a shell on the host, before */
    const char *during;  /* likewise, when the program has written a line; then its stdin ends */
    const char *input;   /* what stdin is; NULL: /dev/null */
    const char *cwd;     /* NULL: @/read */
    const char *report; /* CAPABILITY TARGET that must be reported, where something can report it */
} escape_row;

extern const escape_row escape_rows[];
extern const size_t escape_row_count;

#endif
