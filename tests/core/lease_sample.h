/* Random realistic leases, the same in every run: as the library has them, and as patterns that
 * core/glob_model.h reads. */
#ifndef ARCP_TESTS_LEASE_SAMPLE_H
#define ARCP_TESTS_LEASE_SAMPLE_H

#include <arcp/lease.h>

enum { SAMPLE_TEXT_MAX = 160, SAMPLE_PATTERNS_MAX = 3, VOCABULARIES = 5 };

/* The pieces from which the patterns and targets of a capability are made. */
typedef struct vocabulary {
    const char *capability;
    const char *begins[5];
    const char *separator;
    const char *segments[8];
} vocabulary;

extern const vocabulary vocabularies[VOCABULARIES];

/* Its patterns of each vocabulary. */
typedef struct sample_lease {
    char patterns[VOCABULARIES][SAMPLE_PATTERNS_MAX][SAMPLE_TEXT_MAX];
    size_t counts[VOCABULARIES];
    long cents; /* of USD; -1: no budget */
    arcp_lease *lease;
} sample_lease;

/* From 0 to count - 1. */
size_t sample_pick(size_t count);

/* A pattern (or, without stars, a target) of a vocabulary. */
void sample_text(const vocabulary *words, bool with_stars, char out[SAMPLE_TEXT_MAX]);
/* A target that the pattern usually matches: its stars are replaced by something. */
void sample_target_of(const char *pattern, const vocabulary *words, char out[SAMPLE_TEXT_MAX]);

/* The caller must unref it. */
void sample_lease_make(sample_lease *sample);
/* A lease that often is within `parent`: some of its patterns, with stars filled in. */
void sample_lease_make_child(const sample_lease *parent, sample_lease *child);

/* The model's decision about a target. */
bool sample_allows(const sample_lease *sample, size_t v, const char *target);

#endif
