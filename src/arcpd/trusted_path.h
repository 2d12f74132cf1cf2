/* Which files arcpd believes: those that nobody can change but root and its own user, as sshd's
 * StrictModes wants them. A file, and each directory above it up to the root, must belong to one of
 * these two and be writable by no others; a directory of mode 1777 (/tmp) passes, since what
 * stands in it is checked as well, and so does a group that has no member but the owner. Of a
 * symbolic link the link and the directories above it are checked like what it leads to.
 *
 * Nothing is opened for reading, so that no FIFO can block. What the starting program has opened
 * itself (/dev/stdin, /dev/fd/N) is not looked at, nor is /dev/null. */
#ifndef ARCP_ARCPD_TRUSTED_PATH_H
#define ARCP_ARCPD_TRUSTED_PATH_H

#include <arcp/error.h>

typedef enum arcp__trusted_kind {
    ARCP__TRUSTED_FILE,     /* a regular file that others cannot change */
    ARCP__TRUSTED_SECRET,   /* nor read; a group may */
    ARCP__TRUSTED_DIRECTORY /* others cannot make or rename anything in it */
} arcp__trusted_kind;

/* `what` begins the message: "token_file". Of a path that does not exist the directories above it
 * are checked, since a file may be made there; that it is missing is said by who opens it.
 * ARCP_E_USAGE names the path, what is wrong with it and how to mend that. */
ARCP_MUST_CHECK arcp_status arcp__trusted_path_check(const char *what, const char *path,
                                                     arcp__trusted_kind kind, arcp_error *err);

#endif
