/* Parameters of prepared statements in PostgreSQL's binary format: integers, texts and arrays of
 * them. */
#ifndef ARCP_STORE_POSTGRES_ARRAY_H
#define ARCP_STORE_POSTGRES_ARRAY_H

#include <arcp/buf.h>
#include <arcp/sys/store.h>

/* The numbers of types, which no release changes. */
enum { ARCP__PG_INT8 = 20, ARCP__PG_INT2 = 21, ARCP__PG_INT4 = 23, ARCP__PG_TEXT = 25 };

/* Zero-initialised is an empty one that has no type yet. */
typedef struct arcp__pg_array {
    arcp_buf bytes;
    unsigned element; /* its type */
    uint32_t count;
    bool is_scalar; /* one value, not an array */
    bool has_null;
} arcp__pg_array;

/* Empties it; the memory is kept. */
void arcp__pg_array_begin(arcp__pg_array *array, unsigned element);
void arcp__pg_array_fini(arcp__pg_array *array);

void arcp__pg_add_integer(arcp__pg_array *array, int64_t value);
void arcp__pg_add_text(arcp__pg_array *array, arcp_span text);
void arcp__pg_add_null(arcp__pg_array *array);
/* A key of the store. PostgreSQL has no text with a NUL, but a key may have one: the bytes 0 and 1
 * become 1 1 and 1 2, which keeps the order of keys, and which keys begin with which. */
void arcp__pg_add_key(arcp__pg_array *array, arcp_span key);
/* A text in pieces: its size first. The pieces are appended to `bytes`. */
void arcp__pg_begin_text(arcp__pg_array *array, size_t size);

/* Make it a single value. */
void arcp__pg_set_integer(arcp__pg_array *array, unsigned type, int64_t value);
void arcp__pg_set_key(arcp__pg_array *array, arcp_span key);

/* The key that such a text stands for: `text` itself, or in `out`. A text that is no key's gives a
 * key of its first bytes. */
arcp_span arcp__pg_key_of(arcp_span text, char out[ARCP_STORE_KEY_BYTES_MAX]);

/* The bytes for the server. False when out of memory. */
bool arcp__pg_array_finish(arcp__pg_array *array);

#endif
