#include "runtime/runtime_schedule.h"

#include "runtime/runtime_state.h"

arcp_status arcp__runtime_set_schedules(arcp_runtime *runtime,
                                        const arcp__schedule_options *options, size_t count,
                                        arcp_error *err)
{
    return arcp__engine_set_schedules(runtime->engine, arcp__input_now(runtime), options, count,
                                      err);
}
