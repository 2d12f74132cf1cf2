/* What a worker says of itself in hello. Private to the program. */
#ifndef ARCP_ARCP_WORKER_IDENTITY_H
#define ARCP_ARCP_WORKER_IDENTITY_H

#include "worker/worker_core.h"

#define ARCP__INSTANCE_BYTES 16u

typedef struct arcp__worker_identity {
    char instance[2 * ARCP__INSTANCE_BYTES + 1]; /* random, of this life */
    char boot[ARCP__WORKER_ID_MAX + 1];
    char program[ARCP__WORKER_ID_MAX + 1]; /* its file */
} arcp__worker_identity;

void arcp__worker_identify(arcp__worker_identity *out);

#endif
