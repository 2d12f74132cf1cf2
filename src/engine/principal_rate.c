#include "engine/principal_rate.h"

#include "engine/parts.h"

/* Principals that stay for their buckets alone; of more the one that left first goes. */
#define STAYING_MAX 1024u

static arcp__token_rate submit_rate(const arcp__engine *engine)
{
    return (arcp__token_rate){engine->context.settings.limits_submits_per_sec,
                              engine->context.settings.limits_submit_burst};
}

static arcp__token_rate refusal_rate(const arcp__engine *engine)
{
    return (arcp__token_rate){engine->context.settings.limits_refusals_per_sec,
                              engine->context.settings.limits_refusal_burst};
}

arcp_status arcp__principal_may_submit(arcp__engine *engine, arcp__principal *principal,
                                       arcp_buf *details, arcp_error *err)
{
    const arcp__token_rate rate = submit_rate(engine);
    int64_t wait_ns =
        arcp__token_bucket_wait_ns(&principal->submits, rate, engine->context.now.mono_ns);
    if (wait_ns == 0) {
        arcp__token_bucket_take(&principal->submits, rate, engine->context.now.mono_ns);
        return ARCP_OK;
    }
    arcp_buf_append_format(details,
                           "{\"limit\":\"limits.submits_per_sec\",\"retry_after_ms\":%lld}",
                           (long long)((wait_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS));
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "too many submits (limits.submits_per_sec)");
}

int64_t arcp__principal_refused(arcp__engine *engine, arcp__principal *principal)
{
    const arcp__token_rate rate = refusal_rate(engine);
    arcp__token_bucket_take(&principal->refusals, rate, engine->context.now.mono_ns);
    return arcp__token_bucket_wait_ns(&principal->refusals, rate, engine->context.now.mono_ns);
}

bool arcp__principal_stays(arcp__engine *engine, arcp__principal *principal)
{
    if (engine->context.closing ||
        (arcp__token_bucket_is_full(&principal->submits, engine->context.now.mono_ns) &&
         arcp__token_bucket_is_full(&principal->refusals, engine->context.now.mono_ns))) {
        return false;
    }
    if (!principal->is_staying) {
        principal->is_staying = true;
        DL_APPEND2(engine->staying, principal, staying_previous, staying_next);
        engine->staying_count++;
    }
    if (engine->staying_count > STAYING_MAX) {
        arcp__principal_free(engine, engine->staying); /* another one: this one came last */
    }
    return true;
}

void arcp__principal_unlist(arcp__engine *engine, arcp__principal *principal)
{
    if (principal->is_staying) {
        principal->is_staying = false;
        DL_DELETE2(engine->staying, principal, staying_previous, staying_next);
        engine->staying_count--;
    }
}

void arcp__principals_sweep(arcp__engine *engine)
{
    for (arcp__principal *at = engine->staying, *next = NULL; at != NULL; at = next) {
        next = at->staying_next;
        arcp__principal_maybe_free(engine, at);
    }
}
