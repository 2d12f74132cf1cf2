#include "core/authority.h"

#include "base/alloc.h"
#include "base/options.h"
#include "core/lease.h"

#define GRACE_NS_MAX ARCP_NS_PER_SEC

/* The instant `duration` (>= 0) after `instant`; ARCP_TIME_NEVER on overflow. */
static int64_t after(int64_t instant, int64_t duration)
{
    int64_t sum = 0;
    return __builtin_add_overflow(instant, duration, &sum) ? ARCP_TIME_NEVER : sum;
}

/* Anchors the lease's expiry to the monotonic clock. */
static void anchor(arcp_authority *authority, const arcp_authority_options *options)
{
    authority->deadline_mono_ns = ARCP_TIME_NEVER;
    authority->deadline_wall_ns = ARCP_TIME_NEVER;
    const int64_t expires = arcp_lease_expires_wall_ns(authority->lease);
    if (expires != ARCP_TIME_NEVER) {
        const int64_t wall = after(expires, options->expiry_grace_ns);
        int64_t left = 0;
        if (__builtin_sub_overflow(wall, options->now.wall_ns, &left) || left < 0) {
            left = 0;
        }
        authority->deadline_wall_ns = wall;
        authority->deadline_mono_ns = after(options->now.mono_ns, left);
    }
    const arcp_authority *parent = options->parent;
    if (parent != NULL && parent->deadline_mono_ns < authority->deadline_mono_ns) {
        authority->deadline_mono_ns = parent->deadline_mono_ns;
    }
    if (parent != NULL && parent->deadline_wall_ns < authority->deadline_wall_ns) {
        authority->deadline_wall_ns = parent->deadline_wall_ns;
    }
}

arcp_status arcp_authority_new(const arcp_lease *lease, const arcp_authority_options *given,
                               arcp_authority **out, arcp_error *err)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_authority_options", err);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_span cwd = options.cwd;
    const arcp_authority *parent = options.parent;
    if (options.expiry_grace_ns < 0 || options.expiry_grace_ns > GRACE_NS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "the expiry grace must be 0 to 1 second");
    }
    if (cwd.size > 0 && (cwd.data[0] != '/' || memchr(cwd.data, '\0', cwd.size) != NULL)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the job's directory must be an absolute path");
    }
    const size_t uses_size = lease->pattern_count * sizeof(arcp__line_use);
    arcp_authority *authority = arcp__alloc(sizeof *authority + uses_size + cwd.size);
    if (authority == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for an authority");
    }
    /* A lease with a budget is never enforced without counters, nor a child's without its
     * parent's. */
    arcp_budget *above = parent == NULL ? NULL : parent->budget;
    if (options.budget != NULL) {
        authority->budget = arcp_budget_ref(options.budget);
    } else if (lease->amount_count > 0 || above != NULL) {
        status = arcp_budget_new(lease, above, &authority->budget, err);
    }
    if (status != ARCP_OK) {
        arcp__free(authority);
        return status;
    }
    atomic_init(&authority->references, 1);
    authority->lease = arcp_lease_ref(lease);
    authority->model_use_required =
        options.model_use_required || (parent != NULL && parent->model_use_required);
    authority->uses = (arcp__line_use *)(authority + 1); /* all zero */
    if (cwd.size > 0) {
        char *copy = (char *)(authority + 1) + uses_size;
        memcpy(copy, cwd.data, cwd.size);
        authority->cwd = arcp_span_make(copy, cwd.size);
    }
    anchor(authority, &options);
    *out = authority;
    return ARCP_OK;
}

arcp_authority *arcp_authority_ref(const arcp_authority *authority)
{
    arcp_authority *counted = (arcp_authority *)authority;
    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return counted;
}

void arcp_authority_unref(const arcp_authority *authority)
{
    arcp_authority *counted = (arcp_authority *)authority;
    if (counted == NULL ||
        atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    arcp_lease_unref(counted->lease);
    arcp_budget_unref(counted->budget);
    arcp__free(counted);
}

const arcp_lease *arcp_authority_lease(const arcp_authority *authority)
{
    return authority->lease;
}

arcp_budget *arcp_authority_budget(const arcp_authority *authority)
{
    return authority->budget;
}

int64_t arcp_authority_deadline_mono_ns(const arcp_authority *authority)
{
    return authority->deadline_mono_ns;
}

bool arcp_authority_is_expired(const arcp_authority *authority, arcp_time now)
{
    return arcp__authority_is_expired(authority, now);
}

uint64_t arcp__authority_uses(const arcp_authority *authority,
                              const arcp__lease_capability *capability, size_t pattern,
                              int64_t *last_wall_ns)
{
    arcp__line_use *use = &authority->uses[capability->first + pattern];
    *last_wall_ns = atomic_load_explicit(&use->last_wall_ns, memory_order_relaxed);
    return atomic_load_explicit(&use->count, memory_order_relaxed);
}
