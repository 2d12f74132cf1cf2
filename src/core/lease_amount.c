#include "core/lease_amount.h"

#include "base/utf8.h"

/* [arcp:9.6-1] */
arcp_status arcp__lease_amount_parse(arcp_span text, arcp__lease_amount *out, arcp_error *err)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    if (colon == NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "is not of the form currency:amount: it has no ':'");
    }
    const arcp_span currency = arcp_span_first(text, (size_t)(colon - text.data));
    if (currency.size == 0) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "has no currency before the ':'");
    }
    if (currency.size > ARCP__CURRENCY_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "has a currency name of more than %d bytes",
                              ARCP__CURRENCY_BYTES_MAX);
    }
    if (arcp__has_control_byte(currency)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "has a control byte in its currency name");
    }
    arcp_error reason = {0};
    arcp_decimal total;
    if (arcp_decimal_parse(arcp_span_from(text, currency.size + 1), &total, &reason) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "has an invalid amount: %s",
                              reason.message);
    }
    out->currency = currency;
    out->total = total;
    out->entry = 0;
    return ARCP_OK;
}

void arcp__lease_amount_append(arcp_span currency, arcp_decimal amount, arcp_buf *out)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount, text);
    arcp_buf_append(out, currency);
    arcp_buf_append_byte(out, ':');
    arcp_buf_append_cstr(out, text);
}
