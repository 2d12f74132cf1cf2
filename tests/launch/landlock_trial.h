/* Children that confine themselves by Landlock with a plan, and then try one operation in a small
 * tree. */
#ifndef ARCP_TESTS_LAUNCH_LANDLOCK_TRIAL_H
#define ARCP_TESTS_LAUNCH_LANDLOCK_TRIAL_H

#include <limits.h>

#include "launch/confined_child.h"

#include "launch/sandbox_helper/helper_landlock.h"

#define R ARCP__SANDBOX_READ
#define X ARCP__SANDBOX_EXECUTE
#define W ARCP__SANDBOX_WRITE

#define LEASE  .class = ARCP__SANDBOX_CLASS_LEASE
#define SYSTEM .class = ARCP__SANDBOX_CLASS_SYSTEM

#define VERSION_NEWEST 7

/* Makes the directory for the tree. False if this host's Landlock is older than VERSION_NEWEST; it
 * prints that the test is skipped. */
bool trial_set_up(void);
void trial_tear_down(void);

/* Replaces the tree by a new one: tree/file, tree/program, tree/sub/, and outside of it other/file.
 */
void trial_make_tree(bool for_nobody);
/* The absolute path of a name such as "tree/file". */
void trial_path(char out[PATH_MAX], const char *name);

/* An operation in a directory: 0, or an errno. */
typedef int (*operation_fn)(const char *directory);

typedef struct trial {
    operation_fn operation;         /* NULL: none */
    const char *directory;          /* "tree" or "other"; an absolute one is taken as it is */
    const arcp__sandbox_plan *plan; /* NULL: nothing is confined */
    uint32_t version;
    uint16_t proxy_port; /* 0: none */
    int expected;        /* result of arcp__helper_landlock */
    const char *expected_path;
} trial;

/* For child_result: the result of the operation of a trial, or CHILD_NOT_CONFINED. */
int trial_run(void *user);
/* The result of an operation under a plan, with the newest version; root changes to an unprivileged
 * user first. */
int trial_try(const arcp__sandbox_plan *plan, operation_fn operation, const char *directory);
/* 0 when confining fails with `expected`, about `path`. */
int trial_confine_fails(const arcp__sandbox_plan *plan, uint32_t version, int expected,
                        const char *path);
arcp__sandbox_plan trial_plan(const arcp__sandbox_rule *rules, size_t count);

/* 0, or errno when a system call failed. */
int operation_result(int result);
/* DIRECTORY/NAME; valid until the second call after this one. */
const char *operation_path(const char *directory, const char *name);
int read_file(const char *directory);
int write_file(const char *directory);
int create_file(const char *directory);
int list_directory(const char *directory);

#endif
