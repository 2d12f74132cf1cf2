#include "runtime/seal.h"

#include <arcp/secret.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/random.h"

#define KEY_BYTES   32
#define NONCE_BYTES 12
#define TAG_BYTES   16

struct arcp__seal {
    unsigned char key[KEY_BYTES];
};

/* ---- the key file ---- */

static arcp_status io_failed(const char *path, const char *what, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "credential key file %s: %s: %s", path, what,
                          strerror(errno));
}

/* The new name is durable only with its directory. */
static void sync_directory(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : (size_t)(slash - path);
    (void)snprintf(directory, sizeof(directory), "%.*s", (int)size, path);
    int fd = open(slash == NULL ? "." : (size == 0 ? "/" : directory),
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

/* Written beside it and renamed: a key file is never half a key. */
static arcp_status make_key(const char *path, arcp__seal *seal, arcp_error *err)
{
    char fresh[4096];
    int size = snprintf(fresh, sizeof(fresh), "%s.new", path);
    if (size < 0 || (size_t)size >= sizeof(fresh)) {
        return arcp_error_set(err, ARCP_E_USAGE, "credential key file: the path is too long");
    }
    arcp__random(seal->key, KEY_BYTES);
    (void)unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return io_failed(path, "cannot be made", err);
    }
    bool written = write(fd, seal->key, KEY_BYTES) == KEY_BYTES && fsync(fd) == 0;
    arcp_status status = written ? ARCP_OK : io_failed(path, "cannot be written", err);
    (void)close(fd);
    if (status == ARCP_OK && rename(fresh, path) != 0) {
        status = io_failed(path, "cannot be made", err);
    }
    sync_directory(path);
    return status;
}

static arcp_status read_key(const char *path, int fd, arcp__seal *seal, arcp_error *err)
{
    struct stat facts;
    char more = 0;
    if (fstat(fd, &facts) != 0) {
        return io_failed(path, "cannot be read", err);
    }
    if (!S_ISREG(facts.st_mode) || (facts.st_mode & 077) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "credential key file %s: it must be a file that nobody but its "
                              "owner may use (mode 0600)",
                              path);
    }
    if (read(fd, seal->key, KEY_BYTES) != KEY_BYTES || read(fd, &more, 1) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "credential key file %s: a key has %d bytes", path,
                              KEY_BYTES);
    }
    return ARCP_OK;
}

arcp_status arcp__seal_open(const char *path, arcp__seal **out, arcp_error *err)
{
    arcp__seal *seal = arcp__alloc(sizeof(*seal));
    if (seal == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    arcp_status status = ARCP_OK;
    if (fd >= 0) {
        status = read_key(path, fd, seal, err);
        (void)close(fd);
    } else if (errno == ENOENT) {
        status = make_key(path, seal, err);
    } else {
        status = io_failed(path, "cannot be read", err);
    }
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
