/* Base 64 (RFC 4648 §4, strict: padding required, no other characters, unused bits
 * zero) and its URL-safe form (§5, without padding). */
#ifndef ARCP_BASE_BASE64_H
#define ARCP_BASE_BASE64_H

#include <arcp/buf.h>

typedef enum arcp__base64_form { ARCP__BASE64_STANDARD, ARCP__BASE64_URL } arcp__base64_form;

void arcp__base64_encode(arcp_span bytes, arcp__base64_form form, arcp_buf *out);

/* Appends the decoded bytes. ARCP_E_INVALID_REQUEST with the offset of the first wrong character;
 * `out` is then unchanged. */
ARCP_MUST_CHECK arcp_status arcp__base64_decode(arcp_span text, arcp__base64_form form,
                                                arcp_buf *out, arcp_error *err);

/* The number of decoded bytes of valid text, without decoding; the check is the same. */
ARCP_MUST_CHECK arcp_status arcp__base64_decoded_size(arcp_span text, arcp__base64_form form,
                                                      size_t *out, arcp_error *err);

#endif
