/* The arcpd of this build with its own folder and environment. */
#ifndef ARCP_TESTS_ARCP_ARCPD_RUN_H
#define ARCP_TESTS_ARCP_ARCPD_RUN_H

#include "arcp/process.h"

typedef struct arcpd_run {
    char directory[64]; /* home, with state/ and the configuration in it */
    process daemon;
    char url[128]; /* the first URL that it printed */
    unsigned short port;
    bool is_bare; /* set before the start: agents are not confined */
} arcpd_run;

/* Creates the folder, and sets an environment for this process and its children without settings of
 * the user who runs the tests. */
void arcpd_run_begin(arcpd_run *run);
void arcpd_run_configure(const arcpd_run *run, const char *yaml);
/* Starts it with the configuration and more arguments, at this port (0: any), and waits until it is
 * ready. */
void arcpd_run_start(arcpd_run *run, unsigned port, const char *const *words);
/* Ends it with a signal and frees the process; returns its exit status. Prints its output if the
 * status is not the expected one. */
int arcpd_run_stop(arcpd_run *run, int signal_number, int wanted);
/* Ends it with SIGTERM if it is running, and removes the folder. 0 on success, as for cmocka's
 * teardown.
 */
int arcpd_run_end(arcpd_run *run);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
