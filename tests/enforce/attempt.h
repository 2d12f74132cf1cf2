/* One try of one row: bare, or confined. */
#ifndef ARCP_TESTS_ENFORCE_ATTEMPT_H
#define ARCP_TESTS_ENFORCE_ATTEMPT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "enforce/fixture.h"
#include "enforce/row.h"
#include "enforce/world.h"

/* How programs are confined in a run. */
typedef struct escape_mode {
    const char *name;
    uid_t user;          /* of the program */
    bool by_launcher;    /* root starts arcp-sandbox, which becomes the user; else `arcp run` as the
                            user */
    unsigned level;      /* FULL or LANDLOCK */
    const char *without; /* ARCP_SANDBOX_WITHOUT; NULL: everything is there */
    bool is_filtered;    /* below a filter like a container's */
    bool is_late;        /* as a warm process: the lease comes when the program runs; by_launcher */
    bool has_long_races;
    bool is_combined; /* what confines here confines alone in another mode, too */
} escape_mode;

/* What all attempts of a run share. */
typedef struct escape_run {
    const escape_mode *mode;
    bool is_root; /* the runner */
    bool has_broker;
    bool has_proxy;       /* level landlock: programs can have a network */
    char root[128];       /* everything of this run is below */
    char bin[160];        /* arcp-escape */
    const char *programs; /* the build's bin, with arcp */
    const char *tests;    /* the build's tests, with arcp-enforce-start */
    char token[48];
    unsigned race_ms;     /* how long a race goes on that is not won */
    unsigned long stride; /* of a combined mode, every n-th row */
    fixture_service service;
    network_world world;
} escape_run;

enum { OUTPUT_MAX = 16384 };

/* What was seen. */
typedef struct escape_outcome {
    bool is_started; /* the program itself wrote or did something, or ended as it should */
    bool by_signal, has_timed_out;
    int code;
    bool has_secret, has_changed, has_killed, has_survived, has_arrived, is_reported;
    char output[OUTPUT_MAX], errors[OUTPUT_MAX];
} escape_outcome;

/* Makes a directory of its own for the attempt and removes it. To be called in a process of its
 * own, because mounts and limits are changed there. */
void escape_try(const escape_run *run, const escape_row *row, size_t number, bool confined,
                escape_outcome *out);

#endif
