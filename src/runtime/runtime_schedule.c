#include "runtime/runtime_schedule.h"

#include "runtime/runtime_state.h"

arcp_status arcp__runtime_set_schedules(arcp_runtime *runtime,
                                        const arcp__schedule_options *options, size_t count,
                                        arcp_error *err)
{
    arcp__shard *shard = runtime->shards;
    return arcp__engine_set_schedules(shard->engine, arcp__input_now(shard), options, count, err);
}
