#include "core/lease_amount.h"

static bool has_control_byte(arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

/* [arcp:9.6-1] */
arcp_status arcp__lease_amount_parse(arcp_span text, arcp__lease_amount *out, arcp_error *err)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    if (colon == NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "is no currency:amount: there is no ':' in it");
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
    if (has_control_byte(currency)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "has a control byte in its currency name");
    }
    arcp_error reason = {0};
    arcp_decimal total;
    if (arcp_decimal_parse(arcp_span_from(text, currency.size + 1), &total, &reason) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "has an amount that is wrong: %s",
                              reason.message);
    }
    out->currency = currency;
    out->total = total;
    out->entry = 0;
    return ARCP_OK;
}
