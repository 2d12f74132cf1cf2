/* Reads the requests that a stand-in for a collector received. */
#ifndef ARCP_TESTS_COLLECTED_H
#define ARCP_TESTS_COLLECTED_H

#include "provisioner/stand_in.h"

#define COLLECTED_MAX 8192

typedef struct collected_span {
    char trace[40], id[20], parent[20], name[64];
    char text[4096]; /* the whole object */
} collected_span;

typedef struct collected {
    collected_span *spans; /* in the order they came */
    unsigned count;
} collected;

/* Reads all requests; a request that is not OTLP fails the test. */
void collected_read(stand_in *from, collected *out);
void collected_free(collected *c);
/* The `index`th of that name; NULL for none. */
const collected_span *collected_find(const collected *c, const char *name, unsigned index);
const collected_span *collected_by_id(const collected *c, const char *id);

#endif
