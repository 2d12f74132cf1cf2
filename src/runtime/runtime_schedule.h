/* The schedules of a runtime, for the program that configures them. */
#ifndef ARCP_RUNTIME_RUNTIME_SCHEDULE_H
#define ARCP_RUNTIME_RUNTIME_SCHEDULE_H

#include <arcp/runtime.h>

#include "schedule/schedule_options.h"

/* As arcp__engine_set_schedules. The loop's thread. */
ARCP_MUST_CHECK arcp_status arcp__runtime_set_schedules(arcp_runtime *runtime,
                                                        const arcp__schedule_options *options,
                                                        size_t count, arcp_error *err);

#endif
