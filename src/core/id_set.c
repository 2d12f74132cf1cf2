#include "core/id_set.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

typedef struct arcp__used_id {
    UT_hash_handle hh;
    char text[];
} used_id;

static used_id *find(const arcp__id_set *set, arcp_span id)
{
    used_id *found = NULL;
    HASH_FIND(hh, set->ids, id.data, id.size, found);
    return found;
}

bool arcp__id_set_has(const arcp__id_set *set, arcp_span id)
{
    return find(set, id) != NULL;
}

bool arcp__id_set_add(arcp__id_set *set, arcp_span id)
{
    assert(id.size > 0 && find(set, id) == NULL);
    used_id *entry = arcp__alloc(sizeof *entry + id.size);
    if (entry == NULL) {
        return false;
    }
    memcpy(entry->text, id.data, id.size);
    HASH_ADD_KEYPTR(hh, set->ids, entry->text, id.size, entry);
    if (!ARCP__HASH_ADDED(entry)) {
        arcp__free(entry);
        return false;
    }
    return true;
}

void arcp__id_set_remove(arcp__id_set *set, arcp_span id)
{
    used_id *entry = find(set, id);
    if (entry != NULL) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
        HASH_DEL(set->ids, entry);
        arcp__free(entry);
    }
}

void arcp__id_set_fini(arcp__id_set *set)
{
    used_id *entry = NULL;
    used_id *next = NULL;
    HASH_ITER (hh, set->ids, entry, next) {
        HASH_DEL(set->ids, entry);
        arcp__free(entry);
    }
}
