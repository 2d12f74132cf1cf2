/* Secret bytes: tokens, values of credentials.
 *
 * A secret is wiped when it is freed, compared in constant time, and has no
 * function that formats it. One thread at a time. */
#ifndef ARCP_SECRET_H
#define ARCP_SECRET_H

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_secret arcp_secret;

/* Copies `bytes` into a new secret that the caller frees; NULL when out of memory. */
ARCP_API ARCP_MUST_CHECK arcp_secret *arcp_secret_new(arcp_span bytes);

/* Wipes and frees; NULL is accepted. */
ARCP_API void arcp_secret_free(arcp_secret *secret);

/* The bytes, followed by a NUL; valid until the free. */
ARCP_API arcp_span arcp_secret_reveal(const arcp_secret *secret);

/* Equal bytes; the time taken depends on `candidate`'s length only. */
ARCP_API bool arcp_secret_equal(const arcp_secret *secret, arcp_span candidate);

/* As arcp_secret_equal for two plain runs of bytes of the same kind. */
ARCP_API bool arcp_bytes_equal_constant_time(arcp_span a, arcp_span b);

/* Overwrites memory in a way that the compiler does not remove. */
ARCP_API void arcp_wipe(void *memory, size_t size);

#ifdef __cplusplus
}
#endif
#endif
