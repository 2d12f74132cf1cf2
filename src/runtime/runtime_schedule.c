#include "runtime/runtime_schedule.h"

#include "base/alloc.h"
#include "runtime/runtime_state.h"

/* Each shard has the schedules of its principals. */
arcp_status arcp__runtime_set_schedules(arcp_runtime *runtime,
                                        const arcp__schedule_options *options, size_t count,
                                        arcp_error *err)
{
    arcp__schedule_options *own = arcp__alloc_array(count + 1, sizeof *own);
    const arcp__shard **owners = arcp__alloc_array(count + 1, sizeof *owners);
    if (own == NULL || owners == NULL) {
        arcp__free(owners);
        arcp__free(own);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = arcp__schedules_check(options, count, err);
    for (size_t i = 0; i < count && status == ARCP_OK; i++) {
        owners[i] = arcp__shard_of_principal(runtime, options[i].principal);
    }
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        size_t own_count = 0;
        for (size_t i = 0; i < count; i++) {
            if (owners[i] == shard) {
                own[own_count++] = options[i];
            }
        }
        status =
            arcp__engine_set_schedules(shard->engine, arcp__input_now(shard), own, own_count, err);
    }
    arcp__free(owners);
    arcp__free(own);
    return status;
}
