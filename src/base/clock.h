/* Reading the clocks, for code outside the engine: the engine and the folders below it get the time
 * as an argument (tests/tree/symbols.sh). */
#ifndef ARCP_BASE_CLOCK_H
#define ARCP_BASE_CLOCK_H

#include <time.h>

#include <arcp/time.h>

static inline int64_t arcp__clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * ARCP_NS_PER_SEC + now.tv_nsec;
}

static inline arcp_time arcp__clock_now(void)
{
    return (arcp_time){.wall_ns = arcp__clock_ns(CLOCK_REALTIME),
                       .mono_ns = arcp__clock_ns(CLOCK_BOOTTIME)};
}

#endif
