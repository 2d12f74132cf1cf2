#include "core/decimal.h"
#include "llm/llm.h"

#define ONE ((arcp__units)1000000000000000000) /* 10^18 units are 1 */

bool arcp__llm_times(arcp_decimal price, uint64_t count, arcp_decimal *out)
{
    arcp__units product = 0;
    if (__builtin_mul_overflow(arcp__decimal_units(price), (arcp__units)count, &product)) {
        return false;
    }
    *out = arcp__decimal_of(product);
    return true;
}

/* With amount = A + a and factor = F + f (whole and fraction, in units): A*F*10^18 + A*f + F*a +
 * a*f/10^18, of which only the last is not whole. */
bool arcp__llm_scale(arcp_decimal amount, arcp_decimal factor, arcp_decimal *out)
{
    const arcp__units a = arcp__decimal_units(amount);
    const arcp__units f = arcp__decimal_units(factor);
    const arcp__units last = (a % ONE) * (f % ONE);
    arcp__units whole = 0;
    arcp__units left = 0;
    arcp__units right = 0;
    if (a < 0 || f < 0 || __builtin_mul_overflow(a / ONE, f / ONE, &whole) ||
        __builtin_mul_overflow(whole, ONE, &whole) ||
        __builtin_mul_overflow(a / ONE, f % ONE, &left) ||
        __builtin_mul_overflow(f / ONE, a % ONE, &right) ||
        __builtin_add_overflow(whole, left, &whole) ||
        __builtin_add_overflow(whole, right, &whole) ||
        __builtin_add_overflow(whole, last / ONE + (last % ONE != 0), &whole)) {
        return false;
    }
    *out = arcp__decimal_of(whole);
    return true;
}
