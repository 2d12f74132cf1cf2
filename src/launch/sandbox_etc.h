/* The directory that programs in a sandbox see as /etc: copies of what they need of the host's, and
 * a few files that are made, such as passwd with the program's own user. */
#ifndef ARCP_LAUNCH_SANDBOX_ETC_H
#define ARCP_LAUNCH_SANDBOX_ETC_H

#include <sys/types.h>

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__sandbox_etc {
    /* An absolute directory of the caller's, which exists, for what is prepared: a directory etc-*
     * for each user and state of the host. The program's user must be able to enter it, and no
     * program in a sandbox may write there: it belongs to the runtime's own files. */
    const char *directory;
    uid_t uid; /* of the program */
    gid_t gid;
    const char *home; /* HOME inside */
    /* Where TLS is terminated: the name of a link in /etc/ssl/certs by which OpenSSL finds
     * ARCP__SANDBOX_CA_FILE; bundles of certificates are then links to ARCP__SANDBOX_CA_BUNDLE.
     * NULL: they are the host's. */
    const char *ca_link;
    const char *root; /* of the tree that is copied from; NULL: the host's */
} arcp__sandbox_etc;

/* Appends the path of this user's directory etc-* below `base`, for arcp__sandbox_etc.directory.
 * Makes it when it is absent; others can pass through it. ARCP_E_IO also when it is not a directory
 * that this user alone can change: what is prepared in it would be anybody's. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_etc_directory(arcp_span base, arcp_buf *path,
                                                        arcp_error *err);

/* Appends the path of the prepared directory, for arcp_confinement.etc. Makes it when there is none
 * for this user, when a file of the host's has changed since, or after a new start of the host
 * (what was written before it may be cut): some milliseconds; otherwise it only looks at each of
 * the files, below a millisecond. Earlier ones stay for running sandboxes, and are removed a week
 * after they were replaced.
 *
 * Only what every user may read is copied, and no file that holds a URL with a password. Several
 * processes can prepare the same directory at once. ARCP_E_IO names the file, ARCP_E_NO_MEMORY. Any
 * thread. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_etc_prepare(const arcp__sandbox_etc *request,
                                                      arcp_buf *path, arcp_error *err);

#endif
