/* The general case: a bit-parallel machine, with the states of a pattern in the bits of a few
 * words.
 *
 * One step per byte, whatever the pattern:
 *   D' = (D << 1) & step[byte]  |  D & keep[kind of byte]  |  (D << 2) & skip, after a '/'
 * so the time is linear in the target, and in the pattern's length over 64. */
#ifndef ARCP_CORE_GLOB_MACHINE_H
#define ARCP_CORE_GLOB_MACHINE_H

#include "core/glob_pattern.h"

enum {
    ARCP__GLOB_STATES_MAX = ARCP__GLOB_PATTERN_BYTES_MAX + 1,
    ARCP__GLOB_WORDS_MAX = ARCP__GLOB_STATES_MAX / 64
};

/* Classes of bytes. The first few are fixed, the first of them for bytes that are no literal; each
 * literal byte gets its own class. */
enum {
    ARCP__GLOB_BYTE_OTHER,
    ARCP__GLOB_BYTE_SLASH,
    ARCP__GLOB_BYTE_DOT,   /* only if '.' separates segments */
    ARCP__GLOB_BYTE_QUERY, /* only in URLs */
    ARCP__GLOB_BYTE_FIRST  /* the first class of a literal */
};

typedef struct arcp__glob_machine {
    uint32_t pattern;
    uint32_t words; /* per row */
    /* An accepting state whose loop takes every byte, so that the rest need not be read.
     * UINT32_MAX: none. */
    uint32_t eager;
    uint32_t reserved;
    /* Rows: start, accept, skip, keep for the four fixed classes, step for each class. */
    uint64_t rows[];
} arcp__glob_machine;

enum {
    ARCP__GLOB_ROW_START,
    ARCP__GLOB_ROW_ACCEPT,
    ARCP__GLOB_ROW_SKIP,
    ARCP__GLOB_ROW_KEEP,
    ARCP__GLOB_ROW_STEP = ARCP__GLOB_ROW_KEEP + ARCP__GLOB_BYTE_FIRST
};

/* The states of a pattern that a machine runs, from `first` to `last`; `accept_too` is a second
 * accepting state, or `last`. */
typedef struct arcp__glob_range {
    uint32_t first;
    uint32_t last;
    uint32_t accept_too;
} arcp__glob_range;

/* The size of a machine for this many states and classes, in bytes. */
size_t arcp__glob_machine_size(const arcp__glob_range *range, uint32_t class_count);

/* Gives each literal byte a class; returns the number of classes. */
uint32_t arcp__glob_classes_fill(arcp__target_kind kind, const arcp__glob_states *patterns,
                                 size_t count, unsigned char classes[256]);

/* Fills zeroed memory of arcp__glob_machine_size bytes. */
void arcp__glob_machine_fill(arcp__glob_machine *machine, uint32_t pattern,
                             const arcp__glob_states *states, const arcp__glob_range *range,
                             const unsigned char classes[256]);

/* Whether the machine accepts exactly these bytes. */
bool arcp__glob_machine_run(const arcp__glob_machine *machine, const unsigned char classes[256],
                            const char *bytes, size_t size);

#endif
