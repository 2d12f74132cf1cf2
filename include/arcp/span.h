/* Borrowed bytes. A span owns nothing and is passed by value; it is valid as
 * long as the memory that it points to. */
#ifndef ARCP_SPAN_H
#define ARCP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_span {
    const char *data; /* may be NULL when size is 0; a NUL follows only where documented */
    size_t size;      /* bytes */
} arcp_span;

/* A span over a string literal. */
#ifdef __cplusplus
#define ARCP_SPAN_LITERAL(text) (arcp_span{("" text), sizeof(text) - 1})
#else
#define ARCP_SPAN_LITERAL(text) ((arcp_span){("" text), sizeof(text) - 1})
#endif

static inline arcp_span arcp_span_make(const char *data, size_t size)
{
    arcp_span span = {data, size};
    return span;
}

/* A span over a NUL-terminated string; empty for NULL. */
static inline arcp_span arcp_span_cstr(const char *text)
{
    return arcp_span_make(text, text == NULL ? 0 : strlen(text));
}

static inline bool arcp_span_is_empty(arcp_span span)
{
    return span.size == 0;
}

/* Equal bytes. Not for secrets: use arcp_secret_equal. */
static inline bool arcp_span_equal(arcp_span a, arcp_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool arcp_span_equal_cstr(arcp_span a, const char *b)
{
    return arcp_span_equal(a, arcp_span_cstr(b));
}

static inline bool arcp_span_starts_with(arcp_span span, arcp_span prefix)
{
    return span.size >= prefix.size &&
           (prefix.size == 0 || memcmp(span.data, prefix.data, prefix.size) == 0);
}

static inline bool arcp_span_ends_with(arcp_span span, arcp_span suffix)
{
    return span.size >= suffix.size &&
           (suffix.size == 0 ||
            memcmp(span.data + (span.size - suffix.size), suffix.data, suffix.size) == 0);
}

/* Bytes [from, size); empty when `from` is past the end. */
static inline arcp_span arcp_span_from(arcp_span span, size_t from)
{
    if (from >= span.size) {
        return arcp_span_make(span.data == NULL ? NULL : span.data + span.size, 0);
    }
    return arcp_span_make(span.data + from, span.size - from);
}

/* At most the first `size` bytes. */
static inline arcp_span arcp_span_first(arcp_span span, size_t size)
{
    return arcp_span_make(span.data, size < span.size ? size : span.size);
}

#ifdef __cplusplus
}
#endif
#endif
