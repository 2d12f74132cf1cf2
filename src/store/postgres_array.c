#include "store/postgres_array.h"

#include <endian.h>

#define HEAD_BYTES 20u /* dimensions, has NULLs, type, count, lower bound */

static void put_be32(arcp_buf *out, uint32_t value)
{
    const uint32_t be = htobe32(value);
    arcp_buf_append(out, arcp_span_make((const char *)&be, sizeof be));
}

/* The bytes of an integer type. */
static uint32_t size_of(unsigned type)
{
    return type == ARCP__PG_INT2 ? 2 : type == ARCP__PG_INT4 ? 4 : 8;
}

static void put_integer(arcp_buf *out, unsigned type, int64_t value)
{
    const uint64_t be = htobe64((uint64_t)value);
    const size_t size = size_of(type);
    arcp_buf_append(out, arcp_span_make((const char *)&be + sizeof be - size, size));
}

void arcp__pg_array_begin(arcp__pg_array *array, unsigned element)
{
    static const char head[HEAD_BYTES] = {0};
    arcp_buf_clear(&array->bytes);
    arcp_buf_append(&array->bytes, arcp_span_make(head, sizeof head));
    array->element = element;
    array->count = 0;
    array->is_scalar = false;
    array->has_null = false;
}

void arcp__pg_array_fini(arcp__pg_array *array)
{
    arcp_buf_fini(&array->bytes);
}

void arcp__pg_add_integer(arcp__pg_array *array, int64_t value)
{
    put_be32(&array->bytes, size_of(array->element));
    put_integer(&array->bytes, array->element, value);
    array->count++;
}

void arcp__pg_begin_text(arcp__pg_array *array, size_t size)
{
    put_be32(&array->bytes, (uint32_t)size);
    array->count++;
}

void arcp__pg_add_text(arcp__pg_array *array, arcp_span text)
{
    arcp__pg_begin_text(array, text.size);
    arcp_buf_append(&array->bytes, text);
}

void arcp__pg_add_null(arcp__pg_array *array)
{
    put_be32(&array->bytes, UINT32_MAX);
    array->count++;
    array->has_null = true;
}

void arcp__pg_set_integer(arcp__pg_array *array, unsigned type, int64_t value)
{
    arcp_buf_clear(&array->bytes);
    put_integer(&array->bytes, type, value);
    array->element = type;
    array->is_scalar = true;
}

/* ---- keys ---- */

#define ESCAPE '\1'

static bool is_special(char byte)
{
    return byte == '\0' || byte == ESCAPE;
}

static size_t count_special(arcp_span key)
{
    size_t count = 0;
    for (size_t i = 0; i < key.size; i++) {
        count += is_special(key.data[i]);
    }
    return count;
}

static void put_key(arcp_buf *out, arcp_span key)
{
    for (size_t i = 0; i < key.size; i++) {
        if (is_special(key.data[i])) {
            arcp_buf_append_byte(out, ESCAPE);
        }
        arcp_buf_append_byte(out, (char)(key.data[i] + is_special(key.data[i])));
    }
}

void arcp__pg_add_key(arcp__pg_array *array, arcp_span key)
{
    const size_t special = count_special(key);
    if (special == 0) {
        arcp__pg_add_text(array, key);
        return;
    }
    arcp__pg_begin_text(array, key.size + special);
    put_key(&array->bytes, key);
}

void arcp__pg_set_key(arcp__pg_array *array, arcp_span key)
{
    arcp_buf_clear(&array->bytes);
    (void)arcp_buf_reserve(&array->bytes, 1); /* an empty text is not NULL */
    put_key(&array->bytes, key);
    array->element = ARCP__PG_TEXT;
    array->is_scalar = true;
}

arcp_span arcp__pg_key_of(arcp_span text, char out[ARCP_STORE_KEY_BYTES_MAX])
{
    size_t size = 0;
    if (count_special(text) == 0) {
        return text;
    }
    for (size_t i = 0; i < text.size && size < ARCP_STORE_KEY_BYTES_MAX; i++) {
        const bool is_escaped = text.data[i] == ESCAPE && i + 1 < text.size;
        i += is_escaped;
        out[size++] = (char)(text.data[i] - is_escaped);
    }
    return arcp_span_make(out, size);
}

bool arcp__pg_array_finish(arcp__pg_array *array)
{
    if (!array->is_scalar && !array->bytes.failed) {
        const uint32_t head[] = {htobe32(array->count == 0 ? 0 : 1), htobe32(array->has_null),
                                 htobe32(array->element), htobe32(array->count), htobe32(1)};
        /* An empty array has no dimension, so nothing follows its type. */
        memcpy(array->bytes.data, head, sizeof head);
        array->bytes.size = array->count == 0 ? 12 : array->bytes.size;
    }
    return !array->bytes.failed;
}
