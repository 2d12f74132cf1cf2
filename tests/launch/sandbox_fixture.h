/* Runs a shell in a sandbox of a plan that the test writes: a directory of its own with a tree that
 * is granted, private directories, and the base. */
#ifndef ARCP_TESTS_LAUNCH_SANDBOX_FIXTURE_H
#define ARCP_TESTS_LAUNCH_SANDBOX_FIXTURE_H

#include "support/check.h"

#include "support/process_support.h"
#include "support/sandbox_host.h"

typedef struct sandbox_fixture {
    arcp_launcher *launcher;
    arcp_launch_spec spec;
    arcp_confinement confinement;
    arcp__sandbox_plan plan;
    arcp__sandbox_mount mounts[32];
    arcp__sandbox_rule rules[32];
    char texts[64][256]; /* of paths that the test adds */
    size_t text_count;
    char directory[64]; /* of the host, for everybody */
    char tree[80];      /* in it; granted to read and write */
    bool is_fresh;      /* the tree is a job's own directory (use_lease) */
    arcp_buf output;    /* stdout and stderr of the program, NUL-terminated */
    arcp_buf records;   /* lines */
    arcp_process_exit end;
    arcp_error error;
    size_t descriptors;
} sandbox_fixture;

/* Which user runs the tests: "nobody" changes to it when we are root. False: not possible. */
bool sandbox_use_user(const char *user);
/* What the host can do, by arcp-sandbox --probe; level NONE or a reason printed: not run. */
const arcp__sandbox_abilities *sandbox_abilities(void);
/* Skips the test, and says so, on a host whose level is lower. */
void sandbox_needs(arcp__sandbox_level level);

int sandbox_set_up(void **state);
int sandbox_tear_down(void **state);

/* DIRECTORY/NAME, which lives as long as the fixture. */
const char *sandbox_path(sandbox_fixture *f, const char *name);
/* Grants a path of the host: a mount and, for TREE and FILE, a rule. */
void sandbox_grant(sandbox_fixture *f, arcp__sandbox_mount_kind kind, const char *path,
                   bool is_writable);
/* Adds a mount alone; `source` may be NULL. */
void sandbox_mount(sandbox_fixture *f, arcp__sandbox_mount_kind kind, const char *source,
                   const char *target, bool is_writable);

/* Starts it with these descriptors; the caller frees the process and closes *control. */
arcp_process *sandbox_start(sandbox_fixture *f, const char *const *argv, int *control);
/* The same with the process's end of a control socket, which stays the caller's. */
arcp_process *sandbox_start_on(sandbox_fixture *f, const char *const *argv, int control);
/* Runs a script of /bin/sh to its end. */
void sandbox_run(sandbox_fixture *f, const char *script);
/* The same, and the script must end with `code`. */
void sandbox_expect(sandbox_fixture *f, const char *script, int code);
/* The output must be exactly this. */
void sandbox_check_output(const sandbox_fixture *f, const char *want);
/* The start must fail in this step, with status 125 and nothing of the program's output. */
void sandbox_refuses(sandbox_fixture *f, const char *step);

/* Runs a command outside, and fails when it fails. */
void sandbox_outside(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SANDBOX_TEST(name) cmocka_unit_test_setup_teardown(name, sandbox_set_up, sandbox_tear_down)

#endif
