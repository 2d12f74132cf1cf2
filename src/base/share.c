#include "base/share.h"

#include <assert.h>

void arcp__share_fini(arcp__share *share)
{
    arcp__timer_heap_fini(&share->order);
    share->total = 0;
}

/* The heap has the earliest deadline first, so an amount is stored as a negated deadline. */
bool arcp__share_set(arcp__share *share, arcp__timer *part, uint64_t amount)
{
    const uint64_t before = arcp__share_of(part);
    assert(amount <= INT64_MAX);
    if (amount == 0) {
        arcp__timer_disarm(&share->order, part);
    } else if (arcp__timer_arm(&share->order, part, -(int64_t)amount) != ARCP_OK) {
        return false;
    }
    share->total += amount - before;
    return true;
}

uint64_t arcp__share_of(const arcp__timer *part)
{
    return part->place == 0 ? 0 : (uint64_t)-part->at_ns;
}

const arcp__timer *arcp__share_most(const arcp__share *share)
{
    return share->order.count == 0 ? NULL : share->order.slots[0].timer;
}
