#include "engine/principal_rate.h"

#include "engine/parts.h"

arcp_status arcp__principal_may_submit(arcp__engine *engine, arcp__principal *principal,
                                       arcp_buf *details, arcp_error *err)
{
    const arcp_settings *settings = &engine->context.settings;
    const arcp__token_rate rate = {settings->limits_submits_per_sec, settings->limits_submit_burst};
    const int64_t now_ns = engine->context.now.mono_ns;
    const int64_t wait_ns = arcp__token_bucket_wait_ns(&principal->submits, rate, now_ns);
    if (wait_ns == 0) {
        arcp__token_bucket_take(&principal->submits, rate, now_ns);
        return ARCP_OK;
    }
    arcp_buf_append_format(details,
                           "{\"limit\":\"limits.submits_per_sec\",\"retry_after_ms\":%lld}",
                           (long long)((wait_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS));
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "too many submits (limits.submits_per_sec)");
}

int64_t arcp__principal_refused(arcp__engine *engine, arcp__principal *principal)
{
    const arcp_settings *settings = &engine->context.settings;
    const arcp__token_rate rate = {settings->limits_refusals_per_sec,
                                   settings->limits_refusal_burst};
    arcp__token_bucket_take(&principal->refusals, rate, engine->context.now.mono_ns);
    return arcp__token_bucket_wait_ns(&principal->refusals, rate, engine->context.now.mono_ns);
}
