/* Ids of jobs that a session has seen end and has forgotten: a hash of each, the latest
 * ARCP__GONE_JOBS_MAX of them. Finding one looks at no other but those of its bucket. */
#ifndef ARCP_CLIENT_GONE_H
#define ARCP_CLIENT_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/span.h>

#define ARCP__GONE_JOBS_MAX 4096u

/* All zero: none. Freed with arcp__free. */
typedef struct arcp__gone_jobs {
    uint64_t hashes[ARCP__GONE_JOBS_MAX]; /* a ring */
    uint16_t next[ARCP__GONE_JOBS_MAX];   /* in the same bucket: place + 1; 0: none */
    uint16_t buckets[ARCP__GONE_JOBS_MAX];
    size_t added;
} arcp__gone_jobs;

void arcp__gone_jobs_add(arcp__gone_jobs *gone, arcp_span id);
bool arcp__gone_jobs_has(const arcp__gone_jobs *gone, arcp_span id);

#endif
