/* What a command was seen to do with one name: a record that the broker of a command that is only
 * watched sends to the process that started it.
 *
 *   {"seen": "read", "path": "/srv/a/link", "real": "/srv/b/file"}
 *
 * It is evidence. The kernel carries the call out after it was looked at, and a program that
 * changes its memory meanwhile does something else than what is written here. */
#ifndef ARCP_SANDBOX_SANDBOX_SEEN_H
#define ARCP_SANDBOX_SANDBOX_SEEN_H

#include <arcp/buf.h>
#include <arcp/span.h>

typedef enum arcp__sandbox_use {
    ARCP__SANDBOX_USE_READ,    /* opens a file that is there */
    ARCP__SANDBOX_USE_WRITE,   /* opens or truncates a file that is there */
    ARCP__SANDBOX_USE_CREATE,  /* a file or a directory that was absent */
    ARCP__SANDBOX_USE_LIST,    /* reads the names of a directory */
    ARCP__SANDBOX_USE_ENTER,   /* opens a directory, or changes to it */
    ARCP__SANDBOX_USE_LOOK,    /* asks for a file that is there: stat, access, readlink */
    ARCP__SANDBOX_USE_CHECK,   /* asks whether a file that is there can be executed */
    ARCP__SANDBOX_USE_EXECUTE, /* a program, or the interpreter of one */
    ARCP__SANDBOX_USE_REMOVE,
    ARCP__SANDBOX_USE_RENAME,  /* `path` to `other` */
    ARCP__SANDBOX_USE_MAKE,    /* a link, a pipe, a socket, or a file without a name */
    ARCP__SANDBOX_USE_OWNER,   /* changes mode, owner, times or attributes */
    ARCP__SANDBOX_USE_CONNECT, /* to a socket by its name */
    ARCP__SANDBOX_USE_PORT,    /* to a port that nothing serves: `path` is its number */
    ARCP__SANDBOX_USE_UNKNOWN, /* something with a name that is not UTF-8, or too long */
    ARCP__SANDBOX_USE_COUNT
} arcp__sandbox_use;

/* Texts are borrowed. Paths are absolute and canonical. */
typedef struct arcp__sandbox_seen {
    arcp__sandbox_use use;
    arcp_span path;    /* as given; UNKNOWN: escaped, for people */
    arcp_span real;    /* without symbolic links, if that differs; else empty */
    arcp_span other;   /* RENAME; MAKE of a hard link: the file; else empty */
    bool is_directory; /* CREATE, REMOVE, RENAME, OWNER, LOOK */
    bool is_new;       /* RENAME: `other` was absent */
} arcp__sandbox_seen;

/* Appends the record. */
void arcp__sandbox_seen_encode(const arcp__sandbox_seen *seen, arcp_buf *out);

/* Reads a record; the texts of *out point into it or into `room`. False: it is another record, or
 * not a valid one. */
ARCP_MUST_CHECK bool arcp__sandbox_seen_decode(arcp_span record, arcp_buf room[3],
                                               arcp__sandbox_seen *out);

#endif
