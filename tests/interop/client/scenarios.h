/* The scenarios of tests/interop, by name. Each has its own fixture. */
#ifndef ARCP_TESTS_INTEROP_SCENARIOS_H
#define ARCP_TESTS_INTEROP_SCENARIOS_H

#include "fixture.h"

typedef struct scenario {
    const char *name;         /* NULL ends a table */
    bool (*play)(fixture *f); /* whether it works; otherwise the fixture has the reason */
} scenario;

/* Welcome, acknowledgements, heartbeats and closing. */
extern const scenario session_scenarios[];
/* Submitting jobs, and how they end. */
extern const scenario job_scenarios[];
/* Observing jobs in other sessions, and resuming. */
extern const scenario observer_scenarios[];
/* What a job may do. */
extern const scenario authority_scenarios[];

/* Many requests at once. */
extern const scenario loop_scenarios[];

#endif
