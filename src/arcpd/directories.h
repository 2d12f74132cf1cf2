/* Where arcpd keeps what it must remember, and where its jobs work. */
#ifndef ARCP_ARCPD_DIRECTORIES_H
#define ARCP_ARCPD_DIRECTORIES_H

#include "arcpd/config.h"

typedef struct arcp__directories {
    char state[3072];  /* $STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp */
    char work[3200];   /* its subdirectory `work`, or, for agents of other users that cannot enter
                          a home directory, /var/lib/arcp/work */
    char closed[3200]; /* on the way to `work`, closed to other users; "": none */
} arcp__directories;

/* Finds them and makes what is missing. The state directory is for its owner only; where agents
 * have users of their own, these may pass through it to `work`, and list neither. ARCP_E_USAGE when
 * others can change it (trusted_path.h), ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__directories_find(arcp__directories *out, bool has_other_users,
                                                   arcp_error *err);

/* The same without making or changing anything: only `state` is named, and refused where others can
 * change it. */
ARCP_MUST_CHECK arcp_status arcp__directories_look(arcp__directories *out, arcp_error *err);

/* Appends the URL of the store, the configuration's or that of arcp.db in the state directory, and
 * an end of string. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__store_url(const arcp__config *config,
                                            const arcp__directories *directories, arcp_buf *out,
                                            arcp_error *err);

/* ARCP_E_USAGE when the URL names a file that others can change or read. */
ARCP_MUST_CHECK arcp_status arcp__store_check_trust(const char *url, arcp_error *err);

#endif
