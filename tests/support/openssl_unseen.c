/* For tests under MemorySanitizer. It does not see what OpenSSL writes, whose library is not
 * compiled with it: these wrappers of what src/context and src/mcp call tell it. The linker sends
 * calls here (--wrap, tests/support/CMakeLists.txt). */
#include <openssl/evp.h>
#include <sanitizer/msan_interface.h>

EVP_MD *real_fetch(OSSL_LIB_CTX *library, const char *name,
                   const char *properties) __asm__("__real_EVP_MD_fetch");
EVP_MD *seen_fetch(OSSL_LIB_CTX *library, const char *name,
                   const char *properties) __asm__("__wrap_EVP_MD_fetch");
int real_final(EVP_MD_CTX *context, unsigned char *digest,
               unsigned *size) __asm__("__real_EVP_DigestFinal_ex");
int seen_final(EVP_MD_CTX *context, unsigned char *digest,
               unsigned *size) __asm__("__wrap_EVP_DigestFinal_ex");

int real_digest(const void *data, size_t count, unsigned char *digest, unsigned *size,
                const EVP_MD *type, ENGINE *engine) __asm__("__real_EVP_Digest");
int seen_digest(const void *data, size_t count, unsigned char *digest, unsigned *size,
                const EVP_MD *type, ENGINE *engine) __asm__("__wrap_EVP_Digest");

/* The first one reads OpenSSL's configuration. */
EVP_MD *seen_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties)
{
    __msan_scoped_disable_interceptor_checks();
    EVP_MD *type = real_fetch(library, name, properties);
    __msan_scoped_enable_interceptor_checks();
    return type;
}

/* SHA-256 is the only one. */
int seen_final(EVP_MD_CTX *context, unsigned char *digest, unsigned *size)
{
    __msan_unpoison(digest, 32);
    return real_final(context, digest, size);
}

int seen_digest(const void *data, size_t count, unsigned char *digest, unsigned *size,
                const EVP_MD *type, ENGINE *engine)
{
    __msan_scoped_disable_interceptor_checks();
    const int result = real_digest(data, count, digest, size, type, engine);
    __msan_scoped_enable_interceptor_checks();
    __msan_unpoison(digest, 32);
    return result;
}
