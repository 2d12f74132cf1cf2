/* Decimal amounts as texts. */
#ifndef ARCP_TESTS_AMOUNT_H
#define ARCP_TESTS_AMOUNT_H

#include <arcp/decimal.h>

#include "support/check.h"

static inline arcp_decimal amount(const char *text)
{
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &value, &err), &err);
    return value;
}

static inline void check_amount(arcp_decimal value, const char *want)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(value, text);
    assert_string_equal(text, want);
}

#endif
