/* Hosts that confine agents, for engines on the rig: they answer as a test says, and count the
 * plans that the engine holds. */
#ifndef ARCP_TESTS_ENGINE_CONFINER_H
#define ARCP_TESTS_ENGINE_CONFINER_H

#include "story/engine_rig.h"

typedef struct confiner {
    /* The answer; texts may be NULL. */
    arcp_status status;
    const char *texts[ARCP__ADMIT_TEXTS];
    bool is_shown;
    bool has_no_plan;
    /* What was asked. */
    unsigned asked, released;
    size_t plans; /* that the engine holds */
    char job_id[64], agent[64], cwd[256], endpoint[128], lease[512];
    bool cwd_is_fresh;
    void *last_plan; /* of the last answer */
} confiner;

/* The rig's engines ask it; before rig_open. */
void confiner_attach(confiner *c, engine_rig *rig);
/* Answers that the job is confined: one line of three is not exact. */
void confiner_confines(confiner *c);
/* A line is below the minimum. */
void confiner_refuses(confiner *c);
/* This machine cannot confine agents. */
void confiner_is_unavailable(confiner *c);

#endif
