/* Explanations for people: why a target is allowed or denied, and probable mistakes in a lease.
 * docs/leases.md, Asking. Pure; any thread. */
#ifndef ARCP_LEASE_EXPLAIN_H
#define ARCP_LEASE_EXPLAIN_H

#include <arcp/gate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends an explanation: the canonical form, and the pattern that allows the target, or the
 * nearest pattern and the narrowest one that would allow it. The text is lines, or one JSON object
 * and a newline. Returns the decision of arcp_authorize. When memory runs out the buffer's status
 * reports it, and the result is false. */
ARCP_API bool arcp_lease_explain(const arcp_authority *authority, arcp_time now,
                                 arcp_span capability, arcp_span target, bool as_json,
                                 arcp_buf *out);

/* Appends one line of text per finding, or a JSON array of {kind, capability, index, pattern,
 * message} and a newline; returns their number. Kinds: dead (the pattern can match no canonical
 * target), redundant (the rest of its list covers it), broad (it grants more than it seems to),
 * narrow (it grants less than it seems to: `*` in tool.call, `~/x`, `/a[12]`), budget_zero,
 * expired. */
ARCP_API size_t arcp_lease_lint(const arcp_lease *lease, arcp_time now, bool as_json,
                                arcp_buf *out);

/* Compares two leases in both directions, each with its first violation and a witness, as text or
 * JSON. ARCP_OK or ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_diff(const arcp_lease *a, const arcp_lease *b,
                                                     bool as_json, arcp_buf *out);

#ifdef __cplusplus
}
#endif
#endif
