/* How a compiled set lies in memory: one block, and offsets into it.
 *
 * Forward tries hold the literal bytes that patterns go on with; a node's payload says
 * which patterns end there and which wildcards follow. Behind a wildcard stands a backward
 * trie: literal bytes read from the end of the target, or from the end of the segment, to
 * the front. So a target is looked at from both ends, and each node at most once:
 *
 *   /srv/data/ `**`           "/srv/data" and a tail
 *   https:// `*` .host/ `**`  "https://", a segment that ends in ".host", then a tail
 *   `**` .csv                 "", the rest ends in ".csv"
 *
 * What does not fit that shape (a literal between two wildcards that may both shift) is
 * run as a bit-parallel machine, glob_machine.h, on what the literals leave over. */
#ifndef ARCP_CORE_GLOB_TRIE_H
#define ARCP_CORE_GLOB_TRIE_H

#include "core/glob_pattern.h"
#include "core/glob_set.h"

/* Offset of a part from the beginning of the set; 0: there is none. All parts are aligned
 * to eight bytes. */
typedef uint32_t arcp__glob_part;

/* The index of a pattern plus one; 0: none. */
typedef uint32_t arcp__glob_hit;

struct arcp__glob_set {
    const arcp_span *patterns; /* borrowed */
    size_t count;
    arcp__capability capability;
    arcp__target_kind kind;
    arcp__glob_part root;    /* a forward node; 0 for no patterns */
    arcp__glob_part classes; /* 256 bytes: the machines' class of each byte; 0: no machines */
    uint32_t class_count;
};

typedef struct arcp__glob_node {
    uint32_t label_size;      /* the label's bytes stand behind the node, in reading order */
    arcp__glob_part payload;  /* what ends here: one of the three below */
    arcp__glob_part branches; /* an arcp__glob_branches */
    unsigned char label[];
} arcp__glob_node;

/* The nodes that follow, by the next byte (which their label begins with; backward: ends
 * with). Few: `bytes` in ascending order. Many: `bytes` has an entry for each byte, the
 * place of its node plus one. The nodes' parts stand behind it. */
enum { ARCP__GLOB_BRANCHES_FEW = 8 };
typedef struct arcp__glob_branches {
    uint32_t count;
    uint32_t nodes; /* offset of the parts from the beginning of this */
    unsigned char bytes[];
} arcp__glob_branches;

/* Forward: which patterns match when the rest of the target is what. */
typedef struct arcp__glob_ends {
    arcp__glob_hit exact;     /* nothing */
    arcp__glob_hit tail;      /* nothing, or '/' and anything */
    arcp__glob_hit segment;   /* no separator */
    arcp__glob_hit any;       /* anything */
    arcp__glob_part rest;     /* a backward node: by how the rest ends */
    arcp__glob_part segments; /* a backward node: by how the segment ends */
} arcp__glob_ends;

/* Backward from the end: the rest is what the literals here leave over. */
typedef struct arcp__glob_rest {
    arcp__glob_hit any;   /* anything */
    arcp__glob_hit whole; /* nothing, or anything that ends in '/' */
    uint32_t machine_count;
    arcp__glob_part machines; /* so many arcp__glob_candidate */
} arcp__glob_rest;

/* A machine, and what must be there for it to accept. */
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

/* Backward from the end of a segment: anything is left over within it, and then: */
typedef struct arcp__glob_segment {
    arcp__glob_hit end;   /* the target ends with the segment */
    arcp__glob_part next; /* a forward node, from the separator on */
} arcp__glob_segment;

static inline const void *arcp__glob_at(const arcp__glob_set *set, arcp__glob_part part)
{
    return (const char *)set + part;
}

#endif
