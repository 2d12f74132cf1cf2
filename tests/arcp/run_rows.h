/* Tables of shell scripts that run `arcp`, with what they print. */
#ifndef ARCP_TESTS_ARCP_RUN_ROWS_H
#define ARCP_TESTS_ARCP_RUN_ROWS_H

#include "arcp/run_fixture.h"

typedef struct run_row {
    const char *name;
    const char *script; /* $ARCP is the program, $ROOT/project the directory, $ROOT/home is HOME */
    int status;
    const char *out;    /* NULL: not compared; the root is $ROOT */
    const char *err;    /* NULL: not compared; "": nothing; "~TEXT": contains it */
    const char *absent; /* a file that must not be there afterwards */
    const char *present;
} run_row;

/* Runs the rows in their order; later ones may use files of earlier ones. Prints each name, and
 * each difference; fails the test if there is one. `environment` as for run_fixture_shell. */
void run_rows_check(const run_fixture *f, const run_row *rows, size_t count,
                    const char *const *environment);

#endif
