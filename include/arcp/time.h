/* Time is a parameter: the library reads no clock. */
#ifndef ARCP_TIME_H
#define ARCP_TIME_H

#include <stdint.h>

#define ARCP_NS_PER_SEC INT64_C(1000000000)
#define ARCP_NS_PER_MS  INT64_C(1000000)
#define ARCP_TIME_NEVER INT64_MAX

/* One reading of both clocks. Durations and deadlines are measured with mono_ns (CLOCK_BOOTTIME,
 * which continues while the machine is suspended); wall_ns is for times that people and peers read,
 * and for an expiry. */
typedef struct arcp_time {
    int64_t wall_ns; /* since 1970-01-01T00:00:00Z, without leap seconds */
    int64_t mono_ns; /* since an arbitrary instant */
} arcp_time;

#endif
