/* URLs as targets: their canonical form, what a scheme means for the rest, and the machines that
 * read a host's address and a segment of the path. docs/leases.md, Canonical targets.
 *
 * The state of a machine is one number, so that the search of glob_search.c can compare and keep
 * it. */
#ifndef ARCP_CORE_TARGET_URL_H
#define ARCP_CORE_TARGET_URL_H

#include <arcp/gate.h>

typedef enum arcp__url_scheme {
    ARCP__URL_OTHER, /* the host stays as it is; the path may be empty */
    ARCP__URL_WEB,   /* ws, wss, ftp: the host is in lower case */
    ARCP__URL_HTTP,  /* http, https: so is theirs; paths begin with '/', dots are resolved */
    ARCP__URL_FILE   /* never fetched */
} arcp__url_scheme;

/* Of a scheme in lower case. */
arcp__url_scheme arcp__url_scheme_of(arcp_span lower);

/* True only for a canonical one that is not too long; false says nothing. */
bool arcp__target_url_is_plain(arcp_span target);

/* Of a target that is neither empty nor too long and holds no NUL; contract as in target.h. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_url(arcp_span target, char *scratch,
                                                  arcp_span *canonical);

/* ---- IPv6 addresses (target_ipv6.c) ---- */

/* IPv6 addresses as text (RFC 4291 §2.2), byte by byte: what stands between the brackets of
 * a URL's host. No zone. */
#define ARCP__IPV6_START UINT32_C(0)

/* Reads one more byte; false when no address begins like this. */
bool arcp__ipv6_feed(uint32_t *state, unsigned char byte);

/* Whether the address may end here. */
bool arcp__ipv6_may_end(uint32_t state);

/* True only when whatever may follow in state `b` may follow in state `a`. */
bool arcp__ipv6_covers(uint32_t a, uint32_t b);

/* ---- segments of paths (target_escape.c) ---- */

/* What a segment of a URL's path may turn into when somebody behind us decodes it, once or
 * several times: a machine that is fed the segment byte by byte and knows all readings.
 *
 * It refuses a segment that has a `.` or `..` component, a NUL, or an overlong form of UTF-8 in
 * any of the readings after zero to four rounds of percent-decoding, and one that a fifth round
 * would still change. Overlong forms (c0 ae for a dot) are no UTF-8, but some decoders read them;
 * other bytes that are no UTF-8 are fine, since no decoder makes a dot of them. A component ends at
 * '/', at '\' and, for the comparison, at its first ';', '?', '#', space or control byte: who
 * decodes before splitting reads parameters, a query or a fragment behind the dots, and parsers of
 * URLs drop blanks; for the same reason those in front of it do not count. An escape that is
 * malformed as written is refused too; one that only comes up in a later round stays as it is. */

/* Fits into this many bits. */
#define ARCP__ESCAPE_BITS 40

/* Nothing read yet. */
#define ARCP__ESCAPE_START UINT64_C(0)

/* Ordinary bytes read and no escape begun: whatever may follow in any other state may
 * follow here. */
#define ARCP__ESCAPE_PLAIN (UINT64_C(033333) << 25)

/* Reads one more byte; false when no segment that goes on like this is accepted. */
bool arcp__escape_feed(uint64_t *state, unsigned char byte);

/* Whether the segment may end here. */
bool arcp__escape_may_end(uint64_t state);

#endif
