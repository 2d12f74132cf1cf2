#include "runtime/seal.h"

#include <arcp/secret.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/random.h"
#include "file/private_file.h"

#define KEY_BYTES   32
#define NONCE_BYTES 12
#define TAG_BYTES   16

struct arcp__seal {
    unsigned char key[KEY_BYTES];
};

/* ---- the key file ---- */

arcp_status arcp__seal_open(const char *path, arcp__seal **out, arcp_error *err)
{
    const arcp__private_file file = {
        .what = "credential key file", .path = path, .bytes_max = KEY_BYTES + 1, .closed_to = 077};
    arcp_buf key = arcp_buf_secret_init();
    arcp__seal *seal = arcp__alloc(sizeof *seal);
    if (seal == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__random(seal->key, KEY_BYTES);
    const arcp_span fresh = arcp_span_make((const char *)seal->key, KEY_BYTES);
    arcp_status status = arcp__private_file_read_or_make(&file, fresh, &key, err);
    if (status == ARCP_OK && key.size != KEY_BYTES) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "credential key file %s: must contain exactly %d bytes", path,
                                KEY_BYTES);
    } else if (status == ARCP_OK) {
        memcpy(seal->key, key.data, KEY_BYTES);
    }
    arcp_buf_fini(&key);
    if (status != ARCP_OK) {
        arcp__seal_free(seal);
        return status;
    }
    *out = seal;
    return ARCP_OK;
}

void arcp__seal_free(arcp__seal *seal)
{
    if (seal != NULL) {
        arcp_wipe(seal, sizeof *seal);
        arcp__free(seal);
    }
}

/* ---- sealing: nonce, ciphertext, tag ---- */

/* Encrypts or decrypts the bytes between nonce and tag in place. */
static bool cipher(const arcp__seal *seal, arcp_span label, arcp_buf *sealed, bool encrypts)
{
    int written = 0;
    const int size = (int)(sealed->size - NONCE_BYTES - TAG_BYTES);
    unsigned char *nonce = (unsigned char *)sealed->data;
    unsigned char *text = nonce + NONCE_BYTES;
    unsigned char *tag = text + size;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    const bool done =
        context != NULL &&
        EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, seal->key, nonce, encrypts ? 1 : 0) ==
            1 &&
        EVP_CipherUpdate(context, NULL, &written, (const unsigned char *)label.data,
                         (int)label.size) == 1 &&
        EVP_CipherUpdate(context, text, &written, text, size) == 1 &&
        (encrypts || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1) &&
        EVP_CipherFinal_ex(context, tag, &written) == 1 && /* writes nothing with GCM */
        (!encrypts || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) == 1);
    EVP_CIPHER_CTX_free(context);
    return done;
}

bool arcp__seal_close_value(const arcp__seal *seal, arcp_span label, arcp_span value, arcp_buf *out)
{
    char nonce[NONCE_BYTES];
    const char tag[TAG_BYTES] = {0};
    arcp_buf sealed = arcp_buf_secret_init();
    if (value.size == 0 || value.size > 1u << 20) {
        return false;
    }
    arcp__random(nonce, sizeof nonce);
    arcp_buf_append(&sealed, arcp_span_make(nonce, sizeof nonce));
    arcp_buf_append(&sealed, value);
    arcp_buf_append(&sealed, arcp_span_make(tag, sizeof tag));
    bool done = !sealed.failed && cipher(seal, label, &sealed, true);
    if (done) {
        arcp__base64_encode(arcp_buf_span(&sealed), ARCP__BASE64_URL, out);
        done = !out->failed;
    }
    arcp_buf_fini(&sealed);
    return done;
}

bool arcp__seal_open_value(const arcp__seal *seal, arcp_span label, arcp_span sealed, arcp_buf *out)
{
    arcp_buf bytes = arcp_buf_secret_init();
    bool done = arcp__base64_decode(sealed, ARCP__BASE64_URL, &bytes, NULL) == ARCP_OK &&
                bytes.size > NONCE_BYTES + TAG_BYTES && cipher(seal, label, &bytes, false);
    if (done) {
        const size_t size = bytes.size - NONCE_BYTES - TAG_BYTES;
        arcp_buf_append(out,
                        arcp_span_first(arcp_span_from(arcp_buf_span(&bytes), NONCE_BYTES), size));
        done = !out->failed;
    }
    arcp_buf_fini(&bytes);
    return done;
}
