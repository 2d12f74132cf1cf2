/* Decimals as integers, for arithmetic. */
#ifndef ARCP_CORE_DECIMAL_H
#define ARCP_CORE_DECIMAL_H

#include <arcp/decimal.h>

/* Units of 10^-18. */
__extension__ typedef __int128 arcp__units;

static inline arcp__units arcp__decimal_units(arcp_decimal value)
{
    return (arcp__units)value.high * ((arcp__units)1 << 64) + (arcp__units)value.low;
}

static inline arcp_decimal arcp__decimal_of(arcp__units units)
{
    const arcp_decimal value = {(uint64_t)units, (int64_t)(units >> 64)};
    return value;
}

#endif
