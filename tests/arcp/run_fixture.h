/* A home and a work directory for `arcp run`, and its runs. */
#ifndef ARCP_TESTS_ARCP_RUN_FIXTURE_H
#define ARCP_TESTS_ARCP_RUN_FIXTURE_H

#include "support/check.h"

#include "arcp/process.h"

#define RUN_ENVIRONMENT_MAX 12

typedef struct run_fixture {
    char root[64];  /* temporary: has home/ and project/ */
    char arcp[512]; /* the program */
    char level[16]; /* of this host: "full", "landlock", "none" */
} run_fixture;

/* Group set-up and tear-down; *state is the fixture. */
int run_fixture_begin(void **state);
int run_fixture_end(void **state);

/* Writes a file below the root, and its parents. */
void run_fixture_write(const run_fixture *f, const char *name, const char *text);
/* Whether there is one. */
bool run_fixture_has(const run_fixture *f, const char *name);

/* Runs a shell script in the directory project, in which $ARCP is the program, with HOME and $ROOT
 * set; `environment` (NAME=VALUE, NULL-terminated) may be NULL. The caller frees *p. */
int run_fixture_shell(const run_fixture *f, process *p, const char *script,
                      const char *const *environment);
/* The same on a pseudo-terminal; not waited for. */
void run_fixture_shell_on_terminal(const run_fixture *f, process *p, const char *script,
                                   const char *const *environment);

/* Replaces the root in a text by $ROOT. */
void run_fixture_mask(const run_fixture *f, const arcp_buf *text, arcp_buf *out);

#endif
