/* The command line of arcp-worker. Private to the program. */
#ifndef ARCP_ARCP_WORKER_ARGUMENTS_H
#define ARCP_ARCP_WORKER_ARGUMENTS_H

#include "arcp_worker/runtime_link.h"

typedef struct arcp__worker_arguments {
    const char *text;   /* only to be printed; NULL: none */
    const char *config; /* the file of a worker for another machine; NULL: `place` has the rest */
    arcp__runtime_place place;
} arcp__worker_arguments;

/* ARCP_E_USAGE. *out is zero-initialised. */
ARCP_MUST_CHECK arcp_status arcp__worker_arguments_read(int argc, char **argv,
                                                        arcp__worker_arguments *out,
                                                        arcp_error *err);

#endif
