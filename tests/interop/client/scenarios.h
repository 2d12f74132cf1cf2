/* The scenarios of tests/interop, by name. Each has a world of its own. */
#ifndef ARCP_TESTS_INTEROP_SCENARIOS_H
#define ARCP_TESTS_INTEROP_SCENARIOS_H

#include "world.h"

typedef struct scenario {
    const char *name;       /* NULL ends a table */
    bool (*play)(world *w); /* whether it works; else the world says why not */
} scenario;

/* Greeting, acknowledging, staying and leaving. */
extern const scenario session_scenarios[];
/* Submitting jobs, and how they end. */
extern const scenario job_scenarios[];
/* Seeing jobs from elsewhere, or again after a break. */
extern const scenario observer_scenarios[];
/* What a job may do. */
extern const scenario authority_scenarios[];

/* Many requests at once. */
extern const scenario loop_scenarios[];

#endif
