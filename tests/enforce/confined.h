/* For tests of the sandbox as a whole: a tree of the host, and commands that run in a sandbox with
 * a part of it. */
#ifndef ARCP_TESTS_ENFORCE_CONFINED_H
#define ARCP_TESTS_ENFORCE_CONFINED_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "support/check.h"

typedef struct confined {
    char dir[128];       /* as fixture_make makes it, with the token "secret-content" */
    const char *lease;   /* JSON; NULL: read/ and write/, and HOME for writing */
    const char *failing; /* ARCP_SANDBOX_FAIL; NULL: nothing fails */
    const char *without; /* ARCP_SANDBOX_WITHOUT */
    bool in_container;   /* below a container's filter */
    bool is_late;        /* as a warm process (arcp-enforce-start --late) */
    bool by_run;         /* `arcp run`; else the launcher */
    int code;            /* exit status; 128+N for a signal */
    char output[65536];  /* stdout and stderr, NUL-terminated */
} confined;

#define CONFINED_TOKEN "secret-content"

/* A tree in a directory of its own that every user can enter. */
int confined_set_up(void **state);
int confined_tear_down(void **state);

/* Runs a script of /bin/sh, in read/. */
void confined_run(confined *one, const char *script);
/* Starts it; the caller waits. `output` is its stdout and stderr. */
pid_t confined_start(const confined *one, const char *script, int output);

/* Whether a file of the tree exists. */
bool confined_exists(const confined *one, const char *name);
/* Removes it, if it does. */
void confined_remove(const confined *one, const char *name);

/* Runs a program of the build with arguments up to NULL, in the same environment. */
void confined_ask(confined *one, const char *const *argv);

#endif
