/* Exact decimals for money and other budgets: signed 128-bit counts of 10^-18.
 *
 * Magnitude up to about 1.7e20. Amounts are never converted to a double. All functions are pure and
 * may be called from any thread. docs/leases.md, Budgets. */
#ifndef ARCP_DECIMAL_H
#define ARCP_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value in units of 10^-18: a number of 128 bits in two's complement, in two halves. Use the
 * functions. */
typedef struct arcp_decimal {
    uint64_t low;
    int64_t high;
} arcp_decimal;

#define ARCP_DECIMAL_ZERO                                                                          \
    {                                                                                              \
        0, 0                                                                                       \
    }
/* Room for any formatted value with its NUL. */
#define ARCP_DECIMAL_TEXT_MAX 44

/* Reads a lease amount's decimal: digits with an optional fraction, nothing else
 * (§9.6). More than 18 significant fraction digits, or out of range:
 * ARCP_E_INVALID_REQUEST with the reason. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_decimal_parse(arcp_span text, arcp_decimal *out,
                                                        arcp_error *err);

/* Reads a metric's value from the text of a JSON number (sign, fraction, exponent).
 * Digits beyond the 18th round up, never in the spender's favour; too large values
 * saturate at the maximum; "-0" is zero; negative values are ARCP_E_INVALID_REQUEST. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_decimal_parse_spend(arcp_span json_number,
                                                              arcp_decimal *out, arcp_error *err);

/* a + b; false (and *out unchanged) when that is out of range. */
ARCP_API ARCP_MUST_CHECK bool arcp_decimal_add(arcp_decimal a, arcp_decimal b, arcp_decimal *out);

/* <0, 0, >0. */
ARCP_API int arcp_decimal_compare(arcp_decimal a, arcp_decimal b);

/* Writes the fewest digits that are exact, no exponent ("5", "0.0234", "-0.5"), with a
 * NUL; returns the length. */
ARCP_API size_t arcp_decimal_format(arcp_decimal value, char out[ARCP_DECIMAL_TEXT_MAX]);

#ifdef __cplusplus
}
#endif
#endif
