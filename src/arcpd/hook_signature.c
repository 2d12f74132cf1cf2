#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "arcpd/hooks.h"
#include "base/hex.h"

bool arcp__hook_sign(arcp_span secret, int64_t unix_sec, arcp_span body, arcp_buf *out)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%lld.", (long long)unix_sec);
    arcp_buf_append(&text, body);
    const bool is_made =
        !text.failed && HMAC(EVP_sha256(), secret.data, (int)secret.size,
                             (const unsigned char *)text.data, text.size, digest, &size) != NULL;
    arcp_buf_fini(&text);
    char digits[2 * EVP_MAX_MD_SIZE];
    arcp__hex_format(digest, size, digits);
    arcp_buf_append_format(out, "t=%lld,v1=", (long long)unix_sec);
    arcp_buf_append(out, arcp_span_make(digits, 2 * (size_t)size));
    return is_made && !out->failed;
}
