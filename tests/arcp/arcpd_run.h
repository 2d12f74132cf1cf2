/* The arcpd of this build in a folder and an environment of its own. */
#ifndef ARCP_TESTS_ARCP_ARCPD_RUN_H
#define ARCP_TESTS_ARCP_ARCPD_RUN_H

#include "arcp/process.h"

typedef struct arcpd_run {
    char directory[64]; /* home, with state/ and the configuration in it */
    process daemon;
    char url[128]; /* the first one that it said it listens at */
    unsigned short port;
} arcpd_run;

/* Makes the folder, and an environment for this process and its children without anything of
 * who runs the tests. */
void arcpd_run_begin(arcpd_run *run);
void arcpd_run_configure(const arcpd_run *run, const char *yaml);
/* Starts it with the configuration and more words, at any port or at this one; waits until it is
 * ready. */
void arcpd_run_start(arcpd_run *run, unsigned port, const char *const *words);
/* Ends it with a signal and frees the process; returns its exit status. Says what it wrote when
 * that is not the one that is wanted. */
int arcpd_run_stop(arcpd_run *run, int signal_number, int wanted);
/* SIGTERM where it runs, and removes the folder. 0 when both went well, as cmocka's teardown has
 * it. */
int arcpd_run_end(arcpd_run *run);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
