/* All short strings over a few bytes, and random numbers that are the same in every run. */
#ifndef ARCP_TESTS_STRINGS_H
#define ARCP_TESTS_STRINGS_H

#include <stdint.h>

#include <arcp/span.h>

/* Counts through the strings of `alphabet`, shortest first, from the empty one on. */
typedef struct all_strings {
    const char *alphabet;
    size_t size_max; /* at most ALL_STRINGS_MAX */
    size_t size;
    size_t digits[16];
    char text[17];
} all_strings;
#define ALL_STRINGS_MAX 16

void all_strings_begin(all_strings *strings, const char *alphabet, size_t size_max);
/* Goes to the next one; false after the last. */
bool all_strings_next(all_strings *strings);

static inline arcp_span all_strings_span(const all_strings *strings)
{
    return arcp_span_make(strings->text, strings->size);
}

/* SplitMix64; the state is the seed. */
uint64_t random_next(uint64_t *state);
/* From 0 to bound - 1. */
size_t random_below(uint64_t *state, size_t bound);

#endif
