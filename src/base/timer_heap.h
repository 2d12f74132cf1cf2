/* Deadlines in order: a binary heap of timers that live inside their owners. */
#ifndef ARCP_BASE_TIMER_HEAP_H
#define ARCP_BASE_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/error.h>

typedef struct arcp__timer {
    int64_t at_ns; /* on the monotonic clock */
    size_t place;  /* 1-based index in the heap; 0: not armed */
    int kind;      /* for the owner */
    void *owner;
} arcp__timer;

/* The values that order timers are stored beside their addresses: sifting compares many timers, and
 * their owners are far apart in memory. */
typedef struct arcp__timer_slot {
    int64_t at_ns;
    uint64_t order; /* orders equal deadlines by when they were armed */
    arcp__timer *timer;
} arcp__timer_slot;

/* Zero-initialised is empty. One thread at a time. */
typedef struct arcp__timer_heap {
    arcp__timer_slot *slots; /* owned array, borrowed timers */
    size_t count;
    size_t capacity;
    uint64_t order;
} arcp__timer_heap;

void arcp__timer_heap_fini(arcp__timer_heap *heap);

/* Arms the timer, or moves it when it is armed. On ARCP_E_NO_MEMORY it is unchanged. */
ARCP_MUST_CHECK arcp_status arcp__timer_arm(arcp__timer_heap *heap, arcp__timer *timer,
                                            int64_t at_ns);

/* Disarms the timer if it is armed. */
void arcp__timer_disarm(arcp__timer_heap *heap, arcp__timer *timer);

/* The earliest deadline, ARCP_TIME_NEVER when there is none. */
int64_t arcp__timer_heap_next(const arcp__timer_heap *heap);

/* Removes and returns the earliest timer that is due (at_ns <= now), or NULL. */
arcp__timer *arcp__timer_heap_pop_due(arcp__timer_heap *heap, int64_t now_ns);

#endif
