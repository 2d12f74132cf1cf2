/* The command line. Its tokens are copied and wiped where other users could see them; what
 * SIGHUP reads again is the copy. */
#ifndef ARCP_ARCPD_ARGUMENTS_H
#define ARCP_ARCPD_ARGUMENTS_H

#include "arcpd/config.h"

typedef struct arcp__arguments {
    const char *config_path; /* of argv; NULL: no file */
    bool only_checks;        /* --check-config */
    bool only_checks_store;  /* --check-store */
    bool wants_help, wants_version;
} arcp__arguments;

/* What decides how to begin. ARCP_E_USAGE names a flag that there is not, that lacks its value
 * or has none to take, and a word that belongs to no flag. */
ARCP_MUST_CHECK arcp_status arcp__arguments_look(int argc, char **argv, arcp__arguments *out,
                                                 arcp_error *err);

/* The flags into the configuration; they win over what it has: the first --listen replaces all
 * of the file's. `argv` has passed arcp__arguments_look. ARCP_E_USAGE names the flag. */
ARCP_MUST_CHECK arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config,
                                                  arcp_error *err);

/* A copy of the arguments; NULL when out of memory. */
char **arcp__arguments_copy(int argc, char *const *argv);
/* Wipes the copy (NULL is accepted) and frees it. */
void arcp__arguments_free(int argc, char **copy);

/* Overwrites the values of --token in argv, which every user can see in /proc. */
void arcp__arguments_wipe(int argc, char *const *argv);

#endif
