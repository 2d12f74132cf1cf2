/* A runtime that confines its agents, and two files of the host, one of which leases grant. */
#ifndef ARCP_TESTS_CONFINED_FIXTURE_H
#define ARCP_TESTS_CONFINED_FIXTURE_H

#include "runtime/runtime_rig.h"
#include "support/process_support.h"
#include "support/sandbox_host.h"

#include "support/check.h"

extern runtime_rig rig;
extern arcp__sandbox_level level;
extern bool has_broker;
extern bool makes_cgroups; /* the runtime that is started next */
/* Of the host: DATA/granted and DATA/other exist. Not below /tmp, which is private in a view. */
extern char data[256];

arcp_enforce_options confined_options(void);
/* Skips the test, and says so, on a host that cannot confine programs. */
void confined_needs_a_level(void);
void confined_start(const arcp_settings *settings, const arcp_enforce_options *enforce);
int confined_set_up(void **state);
int confined_tear_down(void **state);
#define CONFINED_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, confined_set_up, confined_tear_down)

void confined_write_file(const char *name, const char *text);
/* A submit whose lease has these members; %s is the directory. */
void confined_submit(const char *agent, const char *lease);

#endif
