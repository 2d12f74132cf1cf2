/* Limits on connections whose peer is not authenticated yet. A connection is pending from accept
 * until its owner admits it. When another one would exceed a limit, the oldest pending connection,
 * of that address or of all, is closed: with HTTP 503 before the upgrade, with TRY_AGAIN after it.
 * Several listeners may share one arcp_admission. */
#ifndef ARCP_SYS_ADMISSION_H
#define ARCP_SYS_ADMISSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/error.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The limits that 0 stands for. */
#define ARCP_HANDSHAKE_TIMEOUT_MS_DEFAULT 10000u
#define ARCP_PENDING_PER_ADDRESS_DEFAULT  256u
#define ARCP_PENDING_DEFAULT              1024u
#define ARCP_PENDING_BYTES_DEFAULT        ((size_t)16 * 1024 * 1024)

typedef struct arcp_admission arcp_admission;

/* 0 means the default above; in connections_max, no limit. */
typedef struct arcp_admission_limits {
    size_t struct_size;
    uint32_t pending_per_address_max; /* of one IPv4 address or one IPv6 /64 */
    uint32_t pending_max;             /* of all addresses */
    size_t pending_bytes_max;         /* received on all pending ones together */
    uint32_t pending_timeout_ms;      /* from accept to the upgrade, TLS included */
    uint32_t connections_max; /* pending and admitted; without a pending one to close, more are
                                 refused */
} arcp_admission_limits;

static inline arcp_admission_limits arcp_admission_limits_init(void)
{
    arcp_admission_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.struct_size = sizeof limits;
    return limits;
}

/* One reference for the caller; listeners and connections take their own. `limits` may be NULL.
 * ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_admission_new(const arcp_admission_limits *limits,
                                                        arcp_admission **out, arcp_error *err);
/* For connections that are accepted from now on. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_admission_set_limits(arcp_admission *admission,
                                                               const arcp_admission_limits *limits,
                                                               arcp_error *err);
ARCP_API void arcp_admission_unref(arcp_admission *admission); /* NULL is accepted */

typedef struct arcp_admission_stats {
    size_t struct_size;
    size_t connections; /* pending and admitted */
    size_t pending;
    size_t pending_bytes;
    uint64_t evicted; /* pending ones that were closed because of a limit */
} arcp_admission_stats;

static inline arcp_admission_stats arcp_admission_stats_init(void)
{
    arcp_admission_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    return stats;
}

/* Fills the members that the struct has. */
ARCP_API void arcp_admission_get_stats(const arcp_admission *admission, arcp_admission_stats *out);

#ifdef __cplusplus
}
#endif
#endif
