#include "core/denied_calls.h"

#include "base/alloc.h"
#include "base/hash.h"

static size_t find(const arcp__denied_calls *calls, arcp_span call_id)
{
    size_t at = 0;
    if (calls->count != 0) {
        const uint64_t hash = arcp__hash_bytes(call_id.data, call_id.size);
        while (at < calls->count && calls->hashes[at] != hash) {
            at++;
        }
    }
    return at;
}

bool arcp__denied_calls_add(arcp__denied_calls *calls, arcp_span call_id)
{
    if (call_id.size == 0 || find(calls, call_id) < calls->count) {
        return true;
    }
    if (calls->hashes == NULL) {
        calls->hashes = arcp__alloc_array(ARCP__DENIED_CALLS_MAX, sizeof(*calls->hashes));
        if (calls->hashes == NULL) {
            return false;
        }
    }
    if (calls->count < ARCP__DENIED_CALLS_MAX) {
        calls->next = calls->count++;
    }
    calls->hashes[calls->next] = arcp__hash_bytes(call_id.data, call_id.size);
    calls->next = (calls->next + 1) % ARCP__DENIED_CALLS_MAX;
    return true;
}

arcp_status arcp__denied_calls_check(const arcp__denied_calls *calls, arcp_span call_id,
                                     arcp_error *err)
{
    if (find(calls, call_id) == calls->count) {
        return ARCP_OK;
    }
    const arcp_span shown = arcp_span_first(call_id, 64);
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                          "call \"%.*s\" was refused, and the runtime has given its result",
                          (int)shown.size, shown.data);
}

void arcp__denied_calls_remove(arcp__denied_calls *calls, arcp_span call_id)
{
    const size_t at = find(calls, call_id);
    if (at < calls->count) {
        calls->hashes[at] = calls->hashes[--calls->count];
        calls->next = calls->count % ARCP__DENIED_CALLS_MAX;
    }
}

void arcp__denied_calls_fini(arcp__denied_calls *calls)
{
    arcp__free(calls->hashes);
    *calls = (arcp__denied_calls){0};
}
