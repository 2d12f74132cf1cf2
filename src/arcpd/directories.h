/* Where arcpd keeps what it must remember, and where its jobs work. */
#ifndef ARCP_ARCPD_DIRECTORIES_H
#define ARCP_ARCPD_DIRECTORIES_H

#include <arcp/error.h>

typedef struct arcp__directories {
    char state[3072]; /* $STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp */
    char work[3200];  /* its subdirectory `work` */
} arcp__directories;

/* Finds them and makes what is missing, for their owner only. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__directories_find(arcp__directories *out, arcp_error *err);

#endif
