/* Times as people write them. */
#ifndef ARCP_CLI_DURATION_H
#define ARCP_CLI_DURATION_H

#include <arcp/error.h>
#include <arcp/span.h>

#include "base/timestamp.h"

/* 250ms, 90s, 10m, 2h, 1d; a number alone is seconds. Nanoseconds. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__duration_parse(const char *text, int64_t *out_ns,
                                                 arcp_error *err);

/* A count of seconds from 1 up. ARCP_E_USAGE names the option (without its dashes). */
ARCP_MUST_CHECK arcp_status arcp__seconds_parse(const char *option, const char *text, uint64_t *out,
                                                arcp_error *err);

/* An instant for the wire: RFC 3339 in UTC as it is (checked), or a duration before (sign -1)
 * or after (sign 1) now. `room` is used for the latter. ARCP_E_USAGE names the option. */
ARCP_MUST_CHECK arcp_status arcp__instant_text(const char *option, const char *text, int sign,
                                               int64_t now_wall_ns, char room[ARCP__TIMESTAMP_SIZE],
                                               arcp_span *out, arcp_error *err);

/* Nanoseconds since 1970, by the system's clock. */
int64_t arcp__now_wall_ns(void);

#endif
