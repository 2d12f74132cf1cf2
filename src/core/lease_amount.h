/* Entries of cost.budget (§9.6): currency ":" decimal. */
#ifndef ARCP_CORE_LEASE_AMOUNT_H
#define ARCP_CORE_LEASE_AMOUNT_H

#include <arcp/buf.h>
#include <arcp/decimal.h>

#define ARCP__CURRENCY_BYTES_MAX 64

/* One entry, or the total of one currency's entries. */
typedef struct arcp__lease_amount {
    arcp_span currency;
    arcp_decimal total;
    size_t entry; /* of a total: the index of the first entry of its currency */
} arcp__lease_amount;

/* Splits at the first ':' and reads the amount. The currency has 1 to 64 bytes and no control
 * bytes; it borrows from `text`. ARCP_E_INVALID_REQUEST with a reason that continues a sentence
 * whose subject is the entry ("has no currency ..."). */
ARCP_MUST_CHECK arcp_status arcp__lease_amount_parse(arcp_span text, arcp__lease_amount *out,
                                                     arcp_error *err);

/* Appends an entry with this currency and amount. */
void arcp__lease_amount_append(arcp_span currency, arcp_decimal amount, arcp_buf *out);

#endif
