/* Pending connections are in a list, oldest first. The list is short (pending_max), so walking it
 * at each accept costs little compared with the accept itself.
 *
 * Evicting calls the owner, which may do anything, such as closing its listener; therefore each
 * search starts again at the head of the list. */
#include "web/admission.h"

#include <assert.h>
#include <string.h>

#include <utlist.h>

#include "base/alloc.h"
#include "base/options.h"

struct arcp_admission {
    arcp_admission_limits limits; /* defaults filled in: no field is 0 */
    arcp__counted *pending;       /* oldest first */
    size_t pending_count;
    size_t pending_bytes;
    size_t connections;
    size_t references;
    uint64_t evicted;
};

/* ---- the object ---- */

static uint32_t number_or(uint32_t value, uint32_t fallback)
{
    return value == 0 ? fallback : value;
}

arcp_status arcp_admission_set_limits(arcp_admission *admission, const arcp_admission_limits *given,
                                      arcp_error *err)
{
    arcp_admission_limits limits = arcp_admission_limits_init();
    const arcp_status status =
        arcp__options_take(&limits, given, sizeof limits, "arcp_admission_limits", err);
    if (status != ARCP_OK) {
        return status;
    }
    limits.pending_per_address_max =
        number_or(limits.pending_per_address_max, ARCP_PENDING_PER_ADDRESS_DEFAULT);
    limits.pending_max = number_or(limits.pending_max, ARCP_PENDING_DEFAULT);
    limits.pending_bytes_max =
        limits.pending_bytes_max == 0 ? ARCP_PENDING_BYTES_DEFAULT : limits.pending_bytes_max;
    limits.pending_timeout_ms =
        number_or(limits.pending_timeout_ms, ARCP_HANDSHAKE_TIMEOUT_MS_DEFAULT);
    limits.connections_max = number_or(limits.connections_max, UINT32_MAX);
    admission->limits = limits;
    return ARCP_OK;
}

arcp_status arcp_admission_new(const arcp_admission_limits *limits, arcp_admission **out,
                               arcp_error *err)
{
    arcp_admission *admission = arcp__alloc(sizeof *admission);
    if (admission == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    const arcp_status status = arcp_admission_set_limits(admission, limits, err);
    if (status != ARCP_OK) {
        arcp__free(admission);
        return status;
    }
    admission->references = 1;
    *out = admission;
    return ARCP_OK;
}

arcp_admission *arcp__admission_ref(arcp_admission *admission)
{
    admission->references++;
    return admission;
}

void arcp_admission_unref(arcp_admission *admission)
{
    if (admission != NULL && --admission->references == 0) {
        assert(admission->connections == 0 && admission->pending == NULL);
        arcp__free(admission);
    }
}

void arcp_admission_get_stats(const arcp_admission *admission, arcp_admission_stats *out)
{
    const arcp_admission_stats stats = {.connections = admission->connections,
                                        .pending = admission->pending_count,
                                        .pending_bytes = admission->pending_bytes,
                                        .evicted = admission->evicted};
    arcp__options_give(out, &stats, sizeof stats);
}

uint32_t arcp__admission_timeout_ms(const arcp_admission *admission)
{
    return admission->limits.pending_timeout_ms;
}

/* ---- evicting ---- */

static void evict(arcp_admission *admission, arcp__counted *counted, const char *why)
{
    const size_t before = admission->connections;
    admission->evicted++;
    (void)arcp__admission_ref(admission); /* the connection may hold the last reference */
    counted->close(counted->user, why);
    assert(admission->connections < before);
    (void)before;
    arcp_admission_unref(admission);
}

/* The oldest pending connection of the peer if it has reached its limit, else NULL. */
static arcp__counted *oldest_over_limit(const arcp_admission *admission,
                                        const struct in6_addr *peer)
{
    arcp__counted *oldest = NULL;
    arcp__counted *pending = NULL;
    size_t count = 0;
    DL_FOREACH (admission->pending, pending) {
        if (memcmp(&pending->peer, peer, sizeof *peer) == 0) {
            oldest = oldest == NULL ? pending : oldest;
            count++;
        }
    }
    return count < admission->limits.pending_per_address_max ? NULL : oldest;
}

static void set_pending(arcp__counted *counted)
{
    counted->is_pending = true;
    counted->bytes = 0;
    DL_APPEND(counted->admission->pending, counted);
    counted->admission->pending_count++;
}

bool arcp__admission_enter(arcp_admission *admission, const struct in6_addr *peer,
                           arcp__evict_fn close, void *user, arcp__counted *out, const char **why)
{
    arcp__counted *oldest = NULL;
    while ((oldest = oldest_over_limit(admission, peer)) != NULL) {
        evict(admission, oldest, "too many pending connections from this address");
    }
    while (admission->pending_count >= admission->limits.pending_max) {
        evict(admission, admission->pending, "too many pending connections");
    }
    while (admission->connections >= admission->limits.connections_max) {
        if (admission->pending == NULL) {
            *why = "too many connections";
            return false;
        }
        evict(admission, admission->pending, "too many connections");
    }
    admission->connections++;
    *out = (arcp__counted){
        .admission = arcp__admission_ref(admission), .close = close, .user = user, .peer = *peer};
    set_pending(out);
    return true;
}

/* ---- one connection ---- */

bool arcp__admission_note_bytes(arcp__counted *counted, size_t bytes)
{
    arcp_admission *admission = counted->admission;
    if (!counted->is_pending) {
        return true;
    }
    counted->bytes += bytes;
    admission->pending_bytes += bytes;
    while (counted->is_pending && admission->pending_bytes > admission->limits.pending_bytes_max) {
        arcp__counted *pending = admission->pending;
        while (pending->bytes == 0) { /* evicting it would free no bytes */
            pending = pending->next;
        }
        evict(admission, pending, "too many bytes from pending connections");
    }
    return counted->is_pending;
}

void arcp__admission_suspend(arcp__counted *counted)
{
    if (!counted->is_pending) {
        set_pending(counted);
    }
}

void arcp__admission_admit(arcp__counted *counted)
{
    if (counted->is_pending) {
        counted->is_pending = false;
        DL_DELETE(counted->admission->pending, counted);
        counted->admission->pending_count--;
        counted->admission->pending_bytes -= counted->bytes;
    }
}

void arcp__admission_move(arcp__counted *from, arcp__counted *to, arcp__evict_fn close, void *user)
{
    *to = *from;
    to->close = close;
    to->user = user;
    if (from->is_pending) {
        DL_REPLACE_ELEM(from->admission->pending, from, to);
    }
    *from = (arcp__counted){0};
}

void arcp__admission_leave(arcp__counted *counted)
{
    arcp__admission_admit(counted);
    if (counted->admission != NULL) {
        counted->admission->connections--;
        arcp_admission_unref(counted->admission);
        counted->admission = NULL;
    }
}
