#include "core/trace.h"

/* Whether the text is hex digits that are not all zero. */
static bool is_nonzero_hex(arcp_span text)
{
    bool nonzero = false;
    for (size_t i = 0; i < text.size; i++) {
        const int value = arcp__hex_value((unsigned char)text.data[i]);
        if (value < 0) {
            return false;
        }
        nonzero = nonzero || value != 0;
    }
    return nonzero;
}

bool arcp__traceparent_is_valid(arcp_span text)
{
    return text.size == ARCP__TRACEPARENT_SIZE &&
           arcp_span_starts_with(text, ARCP_SPAN_LITERAL("00-")) && text.data[35] == '-' &&
           text.data[52] == '-' && is_nonzero_hex(arcp_span_make(text.data + 3, 32)) &&
           is_nonzero_hex(arcp_span_make(text.data + 36, 16)) &&
           arcp__hex_value((unsigned char)text.data[53]) >= 0 &&
           arcp__hex_value((unsigned char)text.data[54]) >= 0;
}

bool arcp__traceparent_is_sampled(arcp_span text)
{
    const int flags = arcp__hex_value((unsigned char)text.data[54]);
    return flags >= 0 && (flags & 1) != 0;
}

bool arcp__trace_id_parse(arcp_span text, char out[ARCP__TRACE_ID_SIZE])
{
    arcp_span digits = text;
    if (arcp__traceparent_is_valid(text)) {
        digits = arcp_span_make(text.data + 3, ARCP__TRACE_ID_SIZE);
    }
    if (digits.size != ARCP__TRACE_ID_SIZE || !is_nonzero_hex(digits)) {
        return false;
    }
    for (size_t i = 0; i < digits.size; i++) {
        out[i] = (char)(digits.data[i] | 0x20); /* lower case; digits have this bit already */
    }
    return true;
}

void arcp__traceparent_format(const char trace_id[ARCP__TRACE_ID_SIZE], const uint8_t span_id[8],
                              char out[ARCP__TRACEPARENT_SIZE])
{
    memcpy(out, "00-", 3);
    memcpy(out + 3, trace_id, ARCP__TRACE_ID_SIZE);
    out[35] = '-';
    arcp__hex_format(span_id, 8, out + 36);
    memcpy(out + 52, "-01", 3);
}
