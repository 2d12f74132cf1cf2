#include <arcp/buf.h>

#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"

/* Memory that the buffer has outgrown but that spans still point into. */
struct arcp_buf_left {
    struct arcp_buf_left *next;
    char *data;
    size_t capacity;
};

/* Wipes the bytes from `from` up to `to` if the buffer is secret. */
static void wipe(arcp_buf *buf, size_t from, size_t to)
{
    if (buf->secret && from < to) {
        arcp_wipe(buf->data + from, to - from);
    }
}

static void free_all_left(arcp_buf *buf)
{
    while (buf->left != NULL) {
        struct arcp_buf_left *left = buf->left;
        buf->left = left->next;
        if (buf->secret) {
            arcp_wipe(left->data, left->capacity);
        }
        arcp__free(left->data);
        arcp__free(left);
    }
}

/* Inline, because buffers are cleared many times per job and most have no outgrown memory. */
static inline void free_left(arcp_buf *buf)
{
    if (buf->left != NULL) {
        free_all_left(buf);
    }
    buf->stays = false;
}

void arcp_buf_fini(arcp_buf *buf)
{
    free_left(buf);
    /* Wipe the whole capacity: writers that reserve and then write, or that shorten `size`, leave
     * bytes behind the end. */
    wipe(buf, 0, buf->capacity);
    arcp__free(buf->data);
    *buf = (arcp_buf){.secret = buf->secret};
}

void arcp_buf_clear(arcp_buf *buf)
{
    free_left(buf);
    wipe(buf, 0, buf->size);
    buf->size = 0;
    buf->failed = false;
}

/* Keeps the buffer's memory until it is cleared; false when out of memory. */
static bool leave(arcp_buf *buf)
{
    struct arcp_buf_left *left = arcp__alloc(sizeof *left);
    if (left == NULL) {
        return false;
    }
    *left = (struct arcp_buf_left){buf->left, buf->data, buf->capacity};
    buf->left = left;
    return true;
}

/* Like arcp__realloc, but the old memory of a secret is wiped before it is freed, and memory that
 * spans point into is kept. */
static char *resize(arcp_buf *buf, size_t capacity)
{
    const bool keeps = buf->stays && buf->size != 0;
    if (!buf->secret && !keeps) {
        return arcp__realloc(buf->data, capacity);
    }
    char *data = arcp__realloc(NULL, capacity);
    if (data == NULL || (keeps && !leave(buf))) {
        arcp__free(data);
        return NULL;
    }
    if (buf->size != 0) {
        memcpy(data, buf->data, buf->size);
    }
    if (!keeps) {
        wipe(buf, 0, buf->capacity);
        arcp__free(buf->data);
    }
    return data;
}

bool arcp_buf_reserve(arcp_buf *buf, size_t more)
{
    size_t need = 0;
    if (buf->failed) {
        return false;
    }
    if (__builtin_add_overflow(buf->size, more, &need)) {
        buf->failed = true;
        return false;
    }
    if (need <= buf->capacity) {
        return true;
    }
    size_t capacity = buf->capacity < 64 ? 64 : buf->capacity;
    while (capacity < need) {
        if (__builtin_mul_overflow(capacity, 2, &capacity)) {
            capacity = need;
        }
    }
    char *data = resize(buf, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void arcp_buf_append_slow(arcp_buf *buf, const char *data, size_t size)
{
    if (arcp_buf_reserve(buf, size) && size != 0) {
        memcpy(buf->data + buf->size, data, size);
        buf->size += size;
    }
}

void arcp_buf_append_format(arcp_buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0 || !arcp_buf_reserve(buf, (size_t)size + 1)) {
        buf->failed = true;
    } else {
        (void)vsnprintf(buf->data + buf->size, (size_t)size + 1, format, again);
        buf->size += (size_t)size;
    }
    va_end(again);
}

void arcp_buf_append_u64(arcp_buf *buf, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    arcp_buf_append(buf, arcp_span_make(digits + first, sizeof digits - first));
}

void arcp_buf_append_i64(arcp_buf *buf, int64_t value)
{
    if (value < 0) {
        arcp_buf_append_byte(buf, '-');
        arcp_buf_append_u64(buf, 0 - (uint64_t)value);
    } else {
        arcp_buf_append_u64(buf, (uint64_t)value);
    }
}

void arcp_buf_consume(arcp_buf *buf, size_t count)
{
    const size_t left = count < buf->size ? buf->size - count : 0;
    if (left != 0) {
        memmove(buf->data, buf->data + count, left);
    }
    wipe(buf, left, buf->size);
    buf->size = left;
}

const char *arcp_buf_cstr(arcp_buf *buf)
{
    if (!arcp_buf_reserve(buf, 1)) {
        return "";
    }
    buf->data[buf->size] = '\0';
    return buf->data;
}

char *arcp_buf_take_cstr(arcp_buf *buf)
{
    if (!arcp_buf_reserve(buf, 1)) {
        return NULL;
    }
    char *text = buf->data;
    free_left(buf);
    text[buf->size] = '\0';
    wipe(buf, buf->size + 1, buf->capacity);
    *buf = (arcp_buf){.secret = buf->secret};
    return text;
}
