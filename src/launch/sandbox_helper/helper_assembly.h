/* Classic BPF, written from its last instruction to its first: every jump goes forward, so the
 * place that it leads to is known when it is written, and a distance that does not fit is seen. */
#ifndef ARCP_LAUNCH_HELPER_ASSEMBLY_H
#define ARCP_LAUNCH_HELPER_ASSEMBLY_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* More instructions than any filter has. */
#define ARCP__HELPER_FILTER_MAX 1024

/* An instruction: how many there were, it included, when it was written. */
typedef size_t arcp__helper_place;

typedef struct arcp__helper_assembly {
    size_t count;
    struct sock_filter code[ARCP__HELPER_FILTER_MAX]; /* the last `count` of them */
} arcp__helper_assembly;

/* Each writes an instruction, with `next` (or `yes` and `no`) after it, and returns its place. */
arcp__helper_place arcp__helper_return(arcp__helper_assembly *assembly, uint32_t value);
arcp__helper_place arcp__helper_load(arcp__helper_assembly *assembly, uint32_t offset,
                                     arcp__helper_place next);
arcp__helper_place arcp__helper_and(arcp__helper_assembly *assembly, uint32_t mask,
                                    arcp__helper_place next);
/* `test` is BPF_JEQ, BPF_JGE (unsigned) or BPF_JSET. Equal places need no instruction. */
arcp__helper_place arcp__helper_if(arcp__helper_assembly *assembly, uint16_t test, uint32_t value,
                                   arcp__helper_place yes, arcp__helper_place no);

/* Goes to places[A] for an A below `count`, else to `above`: a balanced tree of comparisons over
 * the ranges of numbers that have the same place. At most ARCP__HELPER_DISPATCH_MAX numbers. */
#define ARCP__HELPER_DISPATCH_MAX 512
arcp__helper_place arcp__helper_dispatch(arcp__helper_assembly *assembly,
                                         const arcp__helper_place *places, size_t count,
                                         arcp__helper_place above);

#endif
