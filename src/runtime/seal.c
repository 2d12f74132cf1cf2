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
    arcp_buf key = ARCP_BUF_SECRET_INIT;
    arcp__seal *seal = arcp__alloc(sizeof(*seal));
    if (seal == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__random(seal->key, KEY_BYTES);
    const arcp_span fresh = arcp_span_make((const char *)seal->key, KEY_BYTES);
    arcp_status status = arcp__private_file_read_or_make(&file, fresh, &key, err);
    if (status == ARCP_OK && key.size != KEY_BYTES) {
        status = arcp_error_set(err, ARCP_E_USAGE, "credential key file %s: a key has %d bytes",
                                path, KEY_BYTES);
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
        arcp_wipe(seal, sizeof(*seal));
        arcp__free(seal);
    }
}

/* ---- sealing: nonce, ciphertext, tag ---- */

static bool encrypt(const arcp__seal *seal, arcp_span label, arcp_span value, unsigned char *out)
{
    int size = 0;
    unsigned char *nonce = out;
    unsigned char *text = out + NONCE_BYTES;
    unsigned char *tag = text + value.size;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    arcp__random(nonce, NONCE_BYTES);
    bool done = context != NULL &&
                EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, seal->key, nonce) == 1 &&
                EVP_EncryptUpdate(context, NULL, &size, (const unsigned char *)label.data,
                                  (int)label.size) == 1 &&
                EVP_EncryptUpdate(context, text, &size, (const unsigned char *)value.data,
                                  (int)value.size) == 1 &&
                EVP_EncryptFinal_ex(context, text + value.size, &size) == 1 &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return done;
}

static bool decrypt(const arcp__seal *seal, arcp_span label, const unsigned char *sealed,
                    size_t text_size, unsigned char *out)
{
    int size = 0;
    unsigned char tag[TAG_BYTES];
    const unsigned char *text = sealed + NONCE_BYTES;
    memcpy(tag, text + text_size, TAG_BYTES);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool done = context != NULL &&
                EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, seal->key, sealed) == 1 &&
                EVP_DecryptUpdate(context, NULL, &size, (const unsigned char *)label.data,
                                  (int)label.size) == 1 &&
                EVP_DecryptUpdate(context, out, &size, text, (int)text_size) == 1 &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1 &&
                EVP_DecryptFinal_ex(context, out + text_size, &size) == 1;
    EVP_CIPHER_CTX_free(context);
    return done;
}

bool arcp__seal_close_value(const arcp__seal *seal, arcp_span label, arcp_span value, arcp_buf *out)
{
    if (value.size == 0 || value.size > 1u << 20) {
        return false;
    }
    size_t size = NONCE_BYTES + value.size + TAG_BYTES;
    unsigned char *sealed = arcp__alloc(size);
    bool done = sealed != NULL && encrypt(seal, label, value, sealed);
    if (done) {
        arcp__base64_encode(arcp_span_make((const char *)sealed, size), ARCP__BASE64_URL, out);
        done = !out->failed;
    }
    arcp__free(sealed);
    return done;
}

bool arcp__seal_open_value(const arcp__seal *seal, arcp_span label, arcp_span sealed, arcp_buf *out)
{
    arcp_buf bytes = ARCP_BUF_INIT;
    bool done = arcp__base64_decode(sealed, ARCP__BASE64_URL, &bytes, NULL) == ARCP_OK &&
                bytes.size > NONCE_BYTES + TAG_BYTES;
    if (done) {
        size_t text_size = bytes.size - NONCE_BYTES - TAG_BYTES;
        unsigned char *text = arcp__alloc(text_size);
        done = text != NULL &&
               decrypt(seal, label, (const unsigned char *)bytes.data, text_size, text);
        if (done) {
            arcp_buf_append(out, arcp_span_make((const char *)text, text_size));
            done = !out->failed;
        }
        if (text != NULL) {
            arcp_wipe(text, text_size);
            arcp__free(text);
        }
    }
    arcp_buf_fini(&bytes);
    return done;
}
