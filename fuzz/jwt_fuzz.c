/* JSON Web Tokens. The first byte selects what the rest is: a token as a peer would send it, or
 * header and claims (a line each) that are signed here, so that the claims are reached.
 *
 * No token is accepted without the right signature, an unexpired `exp`, the configured audience and
 * a principal. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <arcp/time.h>

#include "base/base64.h"
#include "identity/jwt.h"
#include "lines.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW    1700000000

static arcp__jwt_rules *rules(void)
{
    static arcp__jwt_rules made;
    if (made.key == NULL) {
        arcp_jwt_options options = arcp_jwt_options_init();
        arcp_error error = {0};
        options.key = ARCP_SPAN_LITERAL(SECRET);
        options.audience = "arcp";
        require(arcp__jwt_rules_init(&made, &options, &error) == ARCP_OK);
    }
    return &made;
}

static void sign(arcp_buf *token)
{
    unsigned char mac[32];
    unsigned size = 0;
    require(HMAC(EVP_sha256(), SECRET, 32, (const unsigned char *)token->data, token->size, mac,
                 &size) != NULL);
    arcp_buf_append_byte(token, '.');
    arcp__base64_encode(arcp_span_make((const char *)mac, size), ARCP__BASE64_URL, token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    arcp_span rest = arcp_span_make((const char *)data + 1, size - 1);
    arcp_buf token = arcp_buf_init();
    arcp__jwt_identity identity = {.principal = arcp_buf_init()};
    arcp_buf *principal = &identity.principal;
    arcp_error error = {0};
    const bool is_signed = (data[0] & 1) != 0;
    if (is_signed) {
        arcp__base64_encode(take_line(&rest), ARCP__BASE64_URL, &token);
        arcp_buf_append_byte(&token, '.');
        arcp__base64_encode(rest, ARCP__BASE64_URL, &token);
        sign(&token);
    } else {
        arcp_buf_append(&token, rest);
    }
    const arcp_status status =
        arcp__jwt_check(rules(), arcp_buf_span(&token), NOW * ARCP_NS_PER_SEC, &identity, &error);
    require(status == ARCP_OK || status == ARCP_E_UNAUTHENTICATED);
    if (status == ARCP_OK) {
        require(principal->size != 0 && token.size > 2 && token.data != NULL);
        arcp_buf_clear(principal);
        /* With one bit of the signature changed it is not valid. */
        token.data[token.size - 2] ^= 1;
        require(arcp__jwt_check(rules(), arcp_buf_span(&token), NOW * ARCP_NS_PER_SEC, &identity,
                                &error) == ARCP_E_UNAUTHENTICATED);
    } else {
        require(principal->size == 0);
        require(error.message[0] != '\0');
    }
    arcp_buf_fini(principal);
    arcp_buf_fini(&token);
    return 0;
}
