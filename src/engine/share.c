#include "engine/share.h"

#include <assert.h>

#include "engine/state.h"

void arcp__shares_init(arcp__share shares[ARCP__KEPT_COUNT])
{
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        shares[what].what = (arcp__kept_what)what;
    }
}

void arcp__shares_fini(arcp__share shares[ARCP__KEPT_COUNT])
{
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        arcp__timer_heap_fini(&shares[what].order);
    }
}

bool arcp__shares_join(arcp__share shares[ARCP__KEPT_COUNT], arcp__principal *principal)
{
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        principal->parts[what].owner = principal;
        if (!arcp__timer_heap_reserve(&shares[what].order, 1)) {
            while (what > 0) {
                arcp__timer_heap_release(&shares[--what].order, 1);
            }
            return false;
        }
    }
    return true;
}

void arcp__shares_leave(arcp__share shares[ARCP__KEPT_COUNT], arcp__principal *principal)
{
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        assert(principal->parts[what].place == 0);
        arcp__timer_heap_release(&shares[what].order, 1);
    }
}

/* The heap of deadlines has the earliest first: an amount stands in it as a deadline, negated. */
static void set(arcp__share *share, arcp__principal *principal, uint64_t amount)
{
    arcp__timer *part = &principal->parts[share->what];
    assert(amount <= INT64_MAX);
    if (amount == 0) {
        arcp__timer_disarm(&share->order, part);
    } else if (arcp__timer_arm(&share->order, part, -(int64_t)amount) != ARCP_OK) {
        assert(!"there is room for every principal");
    }
}

uint64_t arcp__share_of(const arcp__share *share, const arcp__principal *principal)
{
    const arcp__timer *part = &principal->parts[share->what];
    return part->place == 0 ? 0 : (uint64_t)-part->at_ns;
}

void arcp__share_add(arcp__share *share, arcp__principal *principal, uint64_t amount)
{
    share->total += amount;
    set(share, principal, arcp__share_of(share, principal) + amount);
}

void arcp__share_take(arcp__share *share, arcp__principal *principal, uint64_t amount)
{
    assert(amount <= arcp__share_of(share, principal));
    share->total -= amount;
    set(share, principal, arcp__share_of(share, principal) - amount);
}

arcp__principal *arcp__share_most(const arcp__share *share)
{
    return share->order.count == 0 ? NULL : share->order.slots[0].timer->owner;
}
