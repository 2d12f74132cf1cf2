/* Exact numbers: the literal taken apart, without ever computing its value. */
#ifndef ARCP_JSON_JSON_NUMBER_H
#define ARCP_JSON_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/span.h>

/* The value is 0.digits * 10^(written exponent + shift) with its sign, the digits being an
 * integer: `digits` is what stands between the first and the last digit that is not zero,
 * with a point in it perhaps. Spans borrow from the literal. */
typedef struct arcp__json_number {
    bool negative;      /* never for zero */
    arcp_span digits;   /* empty for zero */
    arcp_span exponent; /* digits without leading zeros; empty for none, and for 0 */
    bool exponent_negative;
    int64_t shift; /* less than 2^32 either way */
} arcp__json_number;

/* Takes apart a literal that was scanned before. */
arcp__json_number arcp__json_number_read(arcp_span literal);

/* Appends the one spelling of the value: -digits'e'exponent, the digits without zeros at
 * either end, the exponent left out when it is 0; `0` for zero. As long as the literal
 * plus 12 bytes at most, whatever the exponent. */
void arcp__json_number_append(arcp_span literal, arcp_buf *out);

/* The value, when it is a whole number from 0 to UINT64_MAX. */
bool arcp__json_number_u64(arcp_span literal, uint64_t *out);

#endif
