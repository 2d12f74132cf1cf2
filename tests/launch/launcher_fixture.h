/* A direct launcher, the program to start, and its output and end. */
#ifndef ARCP_TESTS_LAUNCH_LAUNCHER_FIXTURE_H
#define ARCP_TESTS_LAUNCH_LAUNCHER_FIXTURE_H

#include "support/check.h"

#include "support/process_support.h"

typedef struct fixture {
    arcp_launcher *launcher;
    arcp_launch_spec spec; /* the probe, describing itself, in a small environment */
    arcp_buf output;
    arcp_process_exit end;
    arcp_error error;
    size_t descriptors;
    char directory[64];
} fixture;

int fixture_set_up(void **state);
/* Fails the test when a descriptor or a child is left. */
int fixture_tear_down(void **state);

/* Runs f->spec to its end. */
void fixture_run(fixture *f);
void fixture_run_shell(fixture *f, const char *script);

/* Starts a program with nothing to read or write. */
arcp_process *fixture_start(fixture *f, const char *const *argv);

/* Fails unless a line of the output is exactly `prefix` and `want`. */
void fixture_check_line(const fixture *f, const char *prefix, const char *want);

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

#endif
