/* The command line, kept for SIGHUP, and its secrets. */
#ifndef ARCP_ARCPD_ARGUMENTS_H
#define ARCP_ARCPD_ARGUMENTS_H

/* A copy, NULL-terminated; NULL when out of memory. */
char **arcp__arguments_copy(int argc, char *const *argv);
/* Wipes it too; NULL is accepted. */
void arcp__arguments_free(int argc, char **copy);

/* Secrets leave `ps` as soon as they are read. */
void arcp__arguments_wipe(int argc, char *const *argv);

#endif
