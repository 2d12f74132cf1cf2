/* IPv6 addresses as text (RFC 4291 §2.2), byte by byte: what stands between the brackets of
 * a URL's host. No zone. The state is one number; see target_escape.h for why. */
#ifndef ARCP_CORE_TARGET_IPV6_H
#define ARCP_CORE_TARGET_IPV6_H

#include <stdbool.h>
#include <stdint.h>

#define ARCP__IPV6_BITS  24
#define ARCP__IPV6_START UINT32_C(0)

/* Reads one more byte; false when no address begins like this. */
bool arcp__ipv6_feed(uint32_t *state, unsigned char byte);

/* Whether the address may end here. */
bool arcp__ipv6_may_end(uint32_t state);

/* True only when whatever may follow in state `b` may follow in state `a`. */
bool arcp__ipv6_covers(uint32_t a, uint32_t b);

#endif
