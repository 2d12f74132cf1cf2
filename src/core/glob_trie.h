/* The layout of a compiled set: one block of memory, with offsets into it.
 *
 * Forward tries contain the next literal bytes of patterns; a node's payload says which patterns
 * end there and which wildcards follow. After a wildcard comes a backward trie, with literal bytes
 * read backwards from the end of the target or of the segment. So a target is read from both ends,
 * and each node is visited at most once:
 *
 *   /srv/data/ `**`           "/srv/data" and a tail
 *   https:// `*` .host/ `**`  "https://", a segment that ends in ".host", then a tail
 *   `**` .csv                 "", the rest ends in ".csv"
 *
 * Patterns of other forms (with a literal between two wildcards that may both shift) run as a
 * bit-parallel machine (glob_machine.h) on the rest between the literals. */
#ifndef ARCP_CORE_GLOB_TRIE_H
#define ARCP_CORE_GLOB_TRIE_H

#include "core/glob_pattern.h"
#include "core/glob_set.h"

/* Offset of a part from the beginning of the set; 0: none. All parts are aligned to eight bytes. */
typedef uint32_t arcp__glob_part;

/* The index of a pattern plus one; 0: none. */
typedef uint32_t arcp__glob_hit;

struct arcp__glob_set {
    const arcp_span *patterns; /* borrowed */
    size_t count;
    arcp__capability capability;
    arcp__target_kind kind;
    arcp__glob_part root;    /* a forward node; 0: no patterns */
    arcp__glob_part classes; /* 256 bytes: the class of each byte for machines; 0: no machines */
    uint32_t class_count;
};

typedef struct arcp__glob_node {
    uint32_t label_size;      /* size of `label`, which is in reading order */
    arcp__glob_part payload;  /* for what ends here: one of the three structs below */
    arcp__glob_part branches; /* an arcp__glob_branches */
    unsigned char label[];
} arcp__glob_node;

/* The next nodes, by their first byte (backward: last byte). Few: `bytes` has these bytes in
 * ascending order. Many: `bytes` has an entry for each byte value, the index of its node plus one.
 * The offsets of the nodes follow. */
enum { ARCP__GLOB_BRANCHES_FEW = 8 };
typedef struct arcp__glob_branches {
    uint32_t count;
    uint32_t nodes; /* position of the nodes' offsets, from the beginning of this struct */
    unsigned char bytes[];
} arcp__glob_branches;

/* Forward: which patterns match, depending on the rest of the target. */
typedef struct arcp__glob_ends {
    arcp__glob_hit exact;     /* nothing */
    arcp__glob_hit tail;      /* nothing, or '/' and anything */
    arcp__glob_hit segment;   /* no separator */
    arcp__glob_hit any;       /* anything */
    arcp__glob_part rest;     /* a backward node, by the end of the rest */
    arcp__glob_part segments; /* a backward node, by the end of the segment */
} arcp__glob_ends;

/* Backward from the end of the target: which patterns match, depending on what is left before the
 * literals. */
typedef struct arcp__glob_rest {
    arcp__glob_hit any;   /* anything */
    arcp__glob_hit whole; /* nothing, or anything that ends in '/' */
    uint32_t machine_count;
    arcp__glob_part machines; /* an array of arcp__glob_candidate */
} arcp__glob_rest;

/* A machine, and the literals that must occur for it to accept. */
typedef struct arcp__glob_candidate {
    uint64_t literals; /* arcp__glob_mark of each of its literals */
    arcp__glob_part machine;
    uint32_t reserved;
} arcp__glob_candidate;

/* A bit for a byte; several bytes share one. */
static inline uint64_t arcp__glob_mark(unsigned char byte)
{
    return UINT64_C(1) << (byte & 63);
}

/* Backward from the end of a segment, of which the beginning may be anything: what follows the
 * segment. */
typedef struct arcp__glob_segment {
    arcp__glob_hit end;   /* the target ends with the segment */
    arcp__glob_part next; /* a forward node, from the separator on */
} arcp__glob_segment;

static inline const void *arcp__glob_at(const arcp__glob_set *set, arcp__glob_part part)
{
    return (const char *)set + part;
}

#endif
