#include "launch/sandbox_helper/helper_assembly.h"

#include <assert.h>

/* A conditional jump has 8 bits. */
#define DISTANCE_MAX 255

static arcp__helper_place put(arcp__helper_assembly *assembly, struct sock_filter instruction)
{
    assert(assembly->count < ARCP__HELPER_FILTER_MAX);
    assembly->count++;
    assembly->code[ARCP__HELPER_FILTER_MAX - assembly->count] = instruction;
    return assembly->count;
}

/* `place`, or an instruction written now that does the same. */
static arcp__helper_place repeat(arcp__helper_assembly *assembly, arcp__helper_place place)
{
    assert(place > 0 && place <= assembly->count);
    const struct sock_filter there = assembly->code[ARCP__HELPER_FILTER_MAX - place];
    if (BPF_CLASS(there.code) == BPF_RET) {
        return put(assembly, there);
    }
    return put(assembly,
               (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(assembly->count - place)));
}

/* For what has no jump of its own: the instruction written last is `next`. */
static void follow(arcp__helper_assembly *assembly, arcp__helper_place next)
{
    if (next != assembly->count) {
        (void)repeat(assembly, next);
    }
}

arcp__helper_place arcp__helper_return(arcp__helper_assembly *assembly, uint32_t value)
{
    return put(assembly, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

arcp__helper_place arcp__helper_load(arcp__helper_assembly *assembly, uint32_t offset,
                                     arcp__helper_place next)
{
    follow(assembly, next);
    return put(assembly, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

arcp__helper_place arcp__helper_and(arcp__helper_assembly *assembly, uint32_t mask,
                                    arcp__helper_place next)
{
    follow(assembly, next);
    return put(assembly, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
}

arcp__helper_place arcp__helper_if(arcp__helper_assembly *assembly, uint16_t test, uint32_t value,
                                   arcp__helper_place yes, arcp__helper_place no)
{
    if (yes == no) {
        return yes;
    }
    /* The second repetition moves the first one farther away by 1. */
    if (assembly->count - yes >= DISTANCE_MAX) {
        yes = repeat(assembly, yes);
    }
    if (assembly->count - no >= DISTANCE_MAX) {
        no = repeat(assembly, no);
    }
    assert(assembly->count - yes <= DISTANCE_MAX);
    return put(assembly, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value,
                                                      (uint8_t)(assembly->count - yes),
                                                      (uint8_t)(assembly->count - no)));
}

typedef struct range {
    uint32_t first;
    arcp__helper_place place;
} range;

/* Of ranges[0 .. count): the accumulator is not below the first one. */
static arcp__helper_place write_tree(arcp__helper_assembly *assembly, const range *ranges,
                                     size_t count)
{
    if (count == 1) {
        return ranges[0].place;
    }
    const size_t half = count / 2;
    const arcp__helper_place upper = write_tree(assembly, ranges + half, count - half);
    const arcp__helper_place lower = write_tree(assembly, ranges, half);
    return arcp__helper_if(assembly, BPF_JGE, ranges[half].first, upper, lower);
}

arcp__helper_place arcp__helper_dispatch(arcp__helper_assembly *assembly,
                                         const arcp__helper_place *places, size_t count,
                                         arcp__helper_place above)
{
    assert(count <= ARCP__HELPER_DISPATCH_MAX);
    range ranges[ARCP__HELPER_DISPATCH_MAX + 1];
    size_t used = 0;
    for (size_t i = 0; i <= count; i++) {
        const arcp__helper_place place = i < count ? places[i] : above;
        if (used == 0 || ranges[used - 1].place != place) {
            ranges[used++] = (range){.first = (uint32_t)i, .place = place};
        }
    }
    return write_tree(assembly, ranges, used);
}
