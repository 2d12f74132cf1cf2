/* The crash test, on one store or another. */
#ifndef ARCP_TESTS_ARCPD_CRASH_RUN_H
#define ARCP_TESTS_ARCPD_CRASH_RUN_H

#include "arcpd/crash_fixture.h"

/* With deny, no response precedes its line in the audit log, even on a slow disk. */
#define CRASH_CONFIG "jobs: {cancel_grace_ms: 500}\naudit: {on_failure: deny}\n"

/* Runs it: so many lives by default, with an arcpd of these options. `cut` (may be NULL) loses the
 * database for a moment; `check_store` reads the store at the end. */
void crash_run(const daemon_options *options, void (*cut)(void), unsigned default_lives,
               void (*check_store)(crash_fixture *f));

#endif
