#include "base/timer_heap.h"

#include <arcp/time.h>

#include "base/alloc.h"

void arcp__timer_heap_fini(arcp__timer_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        heap->slots[i].timer->place = 0;
    }
    arcp__free(heap->slots);
    *heap = (arcp__timer_heap){0};
}

static bool is_before(const arcp__timer_slot *a, const arcp__timer_slot *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void put(arcp__timer_heap *heap, size_t index, const arcp__timer_slot *slot)
{
    heap->slots[index] = *slot;
    slot->timer->place = index + 1;
}

static void sift_up(arcp__timer_heap *heap, size_t index, arcp__timer_slot slot)
{
    while (index > 0 && is_before(&slot, &heap->slots[(index - 1) / 2])) {
        put(heap, index, &heap->slots[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, &slot);
}

static void sift_down(arcp__timer_heap *heap, size_t index, arcp__timer_slot slot)
{
    for (size_t child = 2 * index + 1; child < heap->count; child = 2 * index + 1) {
        if (child + 1 < heap->count && is_before(&heap->slots[child + 1], &heap->slots[child])) {
            child++;
        }
        if (!is_before(&heap->slots[child], &slot)) {
            break;
        }
        put(heap, index, &heap->slots[child]);
        index = child;
    }
    put(heap, index, &slot);
}

arcp_status arcp__timer_arm(arcp__timer_heap *heap, arcp__timer *timer, int64_t at_ns)
{
    if (timer->place == 0) {
        arcp__timer_slot *slots =
            arcp__make_room(heap->slots, heap->count, &heap->capacity, sizeof *slots);
        if (slots == NULL) {
            return ARCP_E_NO_MEMORY;
        }
        heap->slots = slots;
    }
    const size_t index = timer->place == 0 ? heap->count++ : timer->place - 1;
    const bool earlier = timer->place == 0 || at_ns < timer->at_ns;
    const arcp__timer_slot slot = {at_ns, ++heap->order, timer};
    timer->at_ns = at_ns;
    if (earlier) {
        sift_up(heap, index, slot);
    } else {
        sift_down(heap, index, slot);
    }
    return ARCP_OK;
}

void arcp__timer_disarm(arcp__timer_heap *heap, arcp__timer *timer)
{
    if (timer->place == 0) {
        return;
    }
    const size_t index = timer->place - 1;
    timer->place = 0;
    const arcp__timer_slot removed = heap->slots[index];
    const arcp__timer_slot last = heap->slots[--heap->count];
    if (last.timer == timer) {
        return;
    }
    if (is_before(&last, &removed)) {
        sift_up(heap, index, last);
    } else {
        sift_down(heap, index, last);
    }
}

int64_t arcp__timer_heap_next(const arcp__timer_heap *heap)
{
    return heap->count == 0 ? ARCP_TIME_NEVER : heap->slots[0].at_ns;
}

arcp__timer *arcp__timer_heap_pop_due(arcp__timer_heap *heap, int64_t now_ns)
{
    if (heap->count == 0 || heap->slots[0].at_ns > now_ns) {
        return NULL;
    }
    arcp__timer *due = heap->slots[0].timer;
    arcp__timer_disarm(heap, due);
    return due;
}
