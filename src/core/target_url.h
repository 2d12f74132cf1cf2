/* URLs as targets: their canonical form, the kinds of schemes, and the machines that read an IPv6
 * address and a segment of the path. docs/leases.md, Canonical targets.
 *
 * The state of a machine is one number, so that glob_search.c can compare and store it. */
#ifndef ARCP_CORE_TARGET_URL_H
#define ARCP_CORE_TARGET_URL_H

#include <arcp/gate.h>

typedef enum arcp__url_scheme {
    ARCP__URL_OTHER, /* the host is unchanged; the path may be empty */
    ARCP__URL_WEB,   /* ws, wss, ftp: the host becomes lower case */
    ARCP__URL_HTTP,  /* http, https: likewise; paths begin with '/', dot segments are resolved */
    ARCP__URL_FILE   /* never fetched */
} arcp__url_scheme;

/* The kind of a scheme, given in lower case. */
arcp__url_scheme arcp__url_scheme_of(arcp_span lower);

/* True only for a canonical URL that is not too long; false decides nothing. */
bool arcp__target_url_is_plain(arcp_span target);

/* For a target that is neither empty nor too long and contains no NUL; the contract is that of
 * arcp__target_canonicalise. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_url(arcp_span target, char *scratch,
                                                  arcp_span *canonical);

/* ---- IPv6 addresses (target_ipv6.c) ---- */

/* IPv6 addresses as text (RFC 4291 §2.2), byte by byte, as between the brackets of a URL's host.
 * Without zones. */
#define ARCP__IPV6_START UINT32_C(0)

/* Reads one more byte; false when no address begins like this. */
bool arcp__ipv6_feed(uint32_t *state, unsigned char byte);

/* Whether the address may end here. */
bool arcp__ipv6_may_end(uint32_t state);

/* True only if everything that may follow in state `b` may follow in state `a`. */
bool arcp__ipv6_covers(uint32_t a, uint32_t b);

/* ---- segments of paths (target_escape.c) ---- */

/* A machine for what a segment of a URL's path becomes when servers decode it, once or several
 * times. It is fed the segment byte by byte and follows all readings at once.
 *
 * It refuses a segment that has a `.` or `..` component, a NUL, or an overlong form of UTF-8 in any
 * of the readings after zero to four rounds of percent-decoding, and one that a fifth round would
 * still change. Overlong forms (c0 ae for a dot) are not UTF-8, but some decoders accept them;
 * other bytes that are not UTF-8 are accepted, because no decoder makes a dot of them. A component
 * ends at '/', at '\' and, for the comparison, at its first ';', '?', '#', space or control byte: a
 * server that decodes before splitting reads parameters, a query or a fragment after the dots, and
 * URL parsers drop blanks, which is also why leading blanks do not count. An escape that is
 * malformed as written is refused, too; one that appears only in a later round is left
 * unchanged. */

/* The bits of a state. */
#define ARCP__ESCAPE_BITS 40

/* The initial state. */
#define ARCP__ESCAPE_START UINT64_C(0)

/* The state after ordinary bytes, outside an escape: everything that may follow in any other state
 * may follow here. */
#define ARCP__ESCAPE_PLAIN (UINT64_C(033333) << 25)

/* Reads one more byte; false when no segment with this beginning is accepted. */
bool arcp__escape_feed(uint64_t *state, unsigned char byte);

/* Whether the segment may end here. */
bool arcp__escape_may_end(uint64_t state);

#endif
