#include <arcp/secret.h>

#include <string.h>

#include "base/alloc.h"

struct arcp_secret {
    size_t size;
    char bytes[];
};

arcp_secret *arcp_secret_new(arcp_span bytes)
{
    arcp_secret *secret = NULL;
    if (bytes.size < SIZE_MAX - sizeof *secret) {
        secret = arcp__alloc(sizeof *secret + bytes.size + 1); /* zeroed: a NUL follows the bytes */
    }
    if (secret != NULL) {
        secret->size = bytes.size;
        if (bytes.size != 0) {
            memcpy(secret->bytes, bytes.data, bytes.size);
        }
    }
    return secret;
}

void arcp_secret_free(arcp_secret *secret)
{
    if (secret != NULL) {
        arcp_wipe(secret, sizeof *secret + secret->size);
        arcp__free(secret);
    }
}

arcp_span arcp_secret_reveal(const arcp_secret *secret)
{
    return arcp_span_make(secret->bytes, secret->size);
}

/* Reads all of `candidate`, whatever the secret's length is. */
static bool equal(const char *secret, size_t secret_size, arcp_span candidate)
{
    volatile unsigned char difference = secret_size != candidate.size;
    for (size_t i = 0; i < candidate.size; i++) {
        const unsigned char byte = secret_size == 0 ? 0 : (unsigned char)secret[i % secret_size];
        difference = (unsigned char)(difference | (byte ^ (unsigned char)candidate.data[i]));
    }
    return difference == 0;
}

bool arcp_secret_equal(const arcp_secret *secret, arcp_span candidate)
{
    return equal(secret->bytes, secret->size, candidate);
}

bool arcp_bytes_equal_constant_time(arcp_span a, arcp_span b)
{
    return equal(a.data, a.size, b);
}

void arcp_wipe(void *memory, size_t size)
{
    if (size != 0) {
        explicit_bzero(memory, size);
    }
}
