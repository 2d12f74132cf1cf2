/* Pending connections stand in a list, the oldest first. It is short (pending_max), so that going
 * through it at each accept costs little beside the accept itself.
 *
 * Evicting calls the owner, who may do anything, closing its listener included: after each call
 * the list is looked at from its beginning. */
#include "web/admission.h"

#include <assert.h>

#include <utlist.h>

#include "base/alloc.h"
#include "base/options.h"
#include "web/names.h"

typedef struct arcp__pending arcp__pending;

struct arcp__pending {
    arcp__pending *prev;
    arcp__pending *next;
    size_t bytes; /* that it has sent */
    arcp__evict_fn close;
    void *user;
    struct sockaddr_storage address;
};

struct arcp_admission {
    arcp_admission_limits limits; /* none is 0 */
    arcp__pending *pending;       /* the oldest first */
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

void arcp_admission_set_limits(arcp_admission *admission, const arcp_admission_limits *limits)
{
    const arcp_admission_limits none = ARCP_ADMISSION_LIMITS_INIT;
    const arcp_admission_limits *given = limits == NULL ? &none : limits;
    admission->limits = (arcp_admission_limits){
        .pending_per_address_max =
            number_or(given->pending_per_address_max, ARCP_PENDING_PER_ADDRESS_DEFAULT),
        .pending_max = number_or(given->pending_max, ARCP_PENDING_DEFAULT),
        .pending_bytes_max =
            given->pending_bytes_max == 0 ? ARCP_PENDING_BYTES_DEFAULT : given->pending_bytes_max,
        .pending_timeout_ms =
            number_or(given->pending_timeout_ms, ARCP_HANDSHAKE_TIMEOUT_MS_DEFAULT),
        .connections_max = number_or(given->connections_max, UINT32_MAX),
    };
}

arcp_status arcp_admission_new(const arcp_admission_limits *limits, arcp_admission **out,
                               arcp_error *err)
{
    arcp_status status =
        arcp__options_check(limits, sizeof(*limits), "ARCP_ADMISSION_LIMITS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_admission *admission = arcp__alloc(sizeof(*admission));
    if (admission == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    admission->references = 1;
    arcp_admission_set_limits(admission, limits);
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
    *out = (arcp_admission_stats){.connections = admission->connections,
                                  .pending = admission->pending_count,
                                  .pending_bytes = admission->pending_bytes,
                                  .evicted = admission->evicted};
}

uint32_t arcp__admission_timeout_ms(const arcp_admission *admission)
{
    return admission->limits.pending_timeout_ms;
}

/* ---- making room ---- */

static void evict(arcp_admission *admission, arcp__pending *pending, const char *why)
{
    size_t before = admission->connections;
    admission->evicted++;
    (void)arcp__admission_ref(admission); /* the connection's may be the last one */
    pending->close(pending->user, why);
    assert(admission->connections < before);
    (void)before;
    arcp_admission_unref(admission);
}

/* The oldest pending connection of the address; how many there are goes to *count. */
static arcp__pending *oldest_of(const arcp_admission *admission,
                                const struct sockaddr_storage *address, size_t *count)
{
    arcp__pending *oldest = NULL;
    arcp__pending *at = NULL;
    *count = 0;
    DL_FOREACH (admission->pending, at) {
        if (arcp__socket_same_peer(&at->address, address)) {
            oldest = oldest == NULL ? at : oldest;
            ++*count;
        }
    }
    return oldest;
}

static bool make_room(arcp_admission *admission, const struct sockaddr_storage *address,
                      const char **why)
{
    size_t same = 0;
    arcp__pending *oldest = oldest_of(admission, address, &same);
    while (same >= admission->limits.pending_per_address_max) {
        evict(admission, oldest, "too many pending connections from this address");
        oldest = oldest_of(admission, address, &same);
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
    return true;
}

/* ---- one connection ---- */

static arcp__pending *pending_add(arcp_admission *admission, const struct sockaddr_storage *address)
{
    arcp__pending *pending = arcp__alloc(sizeof(*pending));
    if (pending != NULL) {
        pending->address = *address;
        DL_APPEND(admission->pending, pending);
        admission->pending_count++;
    }
    return pending;
}

bool arcp__admission_enter(arcp_admission *admission, const struct sockaddr_storage *address,
                           arcp__counted *out, const char **why)
{
    if (!make_room(admission, address, why)) {
        return false;
    }
    arcp__pending *pending = pending_add(admission, address);
    if (pending == NULL) {
        *why = "out of memory";
        return false;
    }
    admission->connections++;
    *out = (arcp__counted){arcp__admission_ref(admission), pending};
    return true;
}

void arcp__admission_set_owner(arcp__counted *counted, arcp__evict_fn close, void *user)
{
    if (counted->pending != NULL) {
        counted->pending->close = close;
        counted->pending->user = user;
    }
}

bool arcp__admission_note_bytes(arcp__counted *counted, size_t bytes)
{
    arcp_admission *admission = counted->admission;
    if (counted->pending == NULL) {
        return true;
    }
    counted->pending->bytes += bytes;
    admission->pending_bytes += bytes;
    while (counted->pending != NULL &&
           admission->pending_bytes > admission->limits.pending_bytes_max) {
        arcp__pending *at = admission->pending;
        while (at->bytes == 0) { /* it would make no room */
            at = at->next;
        }
        evict(admission, at, "too many bytes from pending connections");
    }
    return counted->pending != NULL;
}

void arcp__admission_suspend(arcp__counted *counted, const struct sockaddr_storage *address,
                             arcp__evict_fn close, void *user)
{
    if (counted->pending == NULL) {
        counted->pending = pending_add(counted->admission, address);
        arcp__admission_set_owner(counted, close, user);
    }
}

void arcp__admission_admit(arcp__counted *counted)
{
    arcp__pending *pending = counted->pending;
    if (pending != NULL) {
        counted->pending = NULL;
        DL_DELETE(counted->admission->pending, pending);
        counted->admission->pending_count--;
        counted->admission->pending_bytes -= pending->bytes;
        arcp__free(pending);
    }
}

void arcp__admission_move(arcp__counted *from, arcp__counted *to)
{
    *to = *from;
    *from = (arcp__counted){NULL, NULL};
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
