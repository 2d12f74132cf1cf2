/* The places of agents in several placements together. */
#include <string.h>

#include "base/alloc.h"
#include "job/placement.h"

bool arcp__place_total_join(arcp__place_share *share, arcp__place_agent *agent)
{
    const size_t size = strlen(agent->text);
    arcp__place_total *total = NULL;
    if (share == NULL) {
        return true;
    }
    HASH_FIND(hh, share->totals, agent->text, size, total);
    if (total == NULL) {
        total = arcp__alloc(sizeof *total + size + 1);
        if (total == NULL) {
            return false;
        }
        total->share = share;
        memcpy(total->text, agent->text, size + 1);
        HASH_ADD_KEYPTR(hh, share->totals, total->text, size, total);
        if (!ARCP__HASH_ADDED(total)) {
            arcp__free(total);
            return false;
        }
    }
    total->agents++;
    agent->total = total;
    return true;
}

void arcp__place_total_leave(arcp__place_total *total)
{
    if (total != NULL && --total->agents == 0) {
        HASH_DEL(total->share->totals, total);
        arcp__free(total);
    }
}
