#include "runtime/runtime_hook.h"

#include "base/clock.h"
#include "runtime/runtime_state.h"

void arcp__runtime_set_hooks(arcp_runtime *runtime, const arcp__hook_options *hooks, size_t count)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_set_hooks(shard->engine, arcp__input_now(shard), hooks, count);
    }
    (void)uv_async_send(&runtime->wake);
}

void arcp__shard_notify(arcp__shard *shard, const arcp__effect *effect)
{
    arcp_runtime *runtime = shard->runtime;
    const arcp_span text = effect->text;
    const char *end = memchr(text.data, '\n', text.size);
    const size_t name_size = (size_t)(end - text.data);
    if (runtime->deliver != NULL) {
        runtime->deliver(runtime->deliver_user, runtime, arcp__shard_outer_id(shard, effect->id),
                         arcp_span_first(text, name_size), arcp_span_from(text, name_size + 1));
    }
}

void arcp__runtime_notified(arcp_runtime *runtime, uint64_t id, arcp_status status, arcp_span why)
{
    arcp__shard *shard = arcp__shard_of_id(runtime, id);
    arcp__engine_notified(shard->engine, arcp__input_now(shard), arcp__inner_id(runtime, id),
                          status, why);
    (void)uv_async_send(&runtime->wake);
}
