/* An owned, growing run of bytes.
 *
 * Appending never fails at the call: when memory runs out the buffer keeps what
 * it had, remembers the failure, and ignores further appends. The writer checks
 * once, at the end, with arcp_buf_status. One thread at a time.
 *
 * A buffer that is marked `secret` wipes every byte that it no longer uses: its previous memory
 * when it grows, bytes that are cleared or consumed, and all of its memory in the end. */
#ifndef ARCP_BUF_H
#define ARCP_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_buf {
    char *data; /* owned; NULL until the first append */
    size_t size;
    size_t capacity;
    bool failed; /* an append ran out of memory */
    /* Wiped, as above. The owner may set it at any time before the first byte of the secret is
     * written, and must release the memory (arcp_buf_fini) before resetting it. */
    bool secret;
    /* Spans into the bytes stay valid until the buffer is cleared: when it grows, its previous
     * memory is kept until then. Set by arcp_json_string, reset when the buffer is emptied. */
    bool stays;
    struct arcp_buf_left *left; /* owned: the previous memory that is kept */
} arcp_buf;

/* An empty buffer; one whose bytes are all zero is the same. */
static inline arcp_buf arcp_buf_init(void)
{
    arcp_buf buf = {NULL, 0, 0, false, false, false, NULL};
    return buf;
}

/* For tokens, credentials, keys, and every text that has one in it. */
static inline arcp_buf arcp_buf_secret_init(void)
{
    arcp_buf buf = {NULL, 0, 0, false, true, false, NULL};
    return buf;
}

/* Releases the memory. The buffer is empty and can be used again; `secret` stays as it is. */
ARCP_API void arcp_buf_fini(arcp_buf *buf);

/* Empties the buffer and clears its failure; keeps the memory. */
ARCP_API void arcp_buf_clear(arcp_buf *buf);

/* Makes room for `more` bytes behind the current ones; false (and failed) when
 * that is not possible. */
ARCP_API bool arcp_buf_reserve(arcp_buf *buf, size_t more);

/* For arcp_buf_append below, when there is no room. */
ARCP_API void arcp_buf_append_slow(arcp_buf *buf, const char *data, size_t size);
ARCP_API void arcp_buf_append_format(arcp_buf *buf, const char *format, ...) ARCP_PRINTF(2, 3);
ARCP_API void arcp_buf_append_u64(arcp_buf *buf, uint64_t value);
ARCP_API void arcp_buf_append_i64(arcp_buf *buf, int64_t value);

/* Removes the first `count` bytes (at most all of them). */
ARCP_API void arcp_buf_consume(arcp_buf *buf, size_t count);

/* The bytes as a NUL-terminated string, valid until the next call that changes the buffer; the NUL
 * does not count. "" (and failed) when out of memory. */
ARCP_API const char *arcp_buf_cstr(arcp_buf *buf);

/* Hands the bytes over as a NUL-terminated string that the caller frees with
 * arcp_free; the buffer is empty afterwards. NULL when out of memory. The string of a
 * secret buffer is the only copy that remains: the caller wipes it (arcp_wipe, strlen
 * bytes) before freeing it. */
ARCP_API ARCP_MUST_CHECK char *arcp_buf_take_cstr(arcp_buf *buf);

static inline void arcp_buf_append(arcp_buf *buf, arcp_span bytes)
{
    if (!buf->failed && bytes.size <= buf->capacity - buf->size) {
        if (bytes.size != 0) {
            memcpy(buf->data + buf->size, bytes.data, bytes.size);
            buf->size += bytes.size;
        }
        return;
    }
    arcp_buf_append_slow(buf, bytes.data, bytes.size);
}

static inline void arcp_buf_append_cstr(arcp_buf *buf, const char *text)
{
    arcp_buf_append(buf, arcp_span_cstr(text));
}

static inline void arcp_buf_append_byte(arcp_buf *buf, char byte)
{
    arcp_buf_append(buf, arcp_span_make(&byte, 1));
}

/* The bytes so far; valid until the next call that changes the buffer (see also `stays`). */
static inline arcp_span arcp_buf_span(const arcp_buf *buf)
{
    return arcp_span_make(buf->data, buf->size);
}

/* ARCP_E_NO_MEMORY when any append failed since the last clear. */
static inline arcp_status arcp_buf_status(const arcp_buf *buf)
{
    return buf->failed ? ARCP_E_NO_MEMORY : ARCP_OK;
}

/* Frees memory that a function returned with the note that it is freed with arcp_free. */
ARCP_API void arcp_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
