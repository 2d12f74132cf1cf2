#include "store/memory_table.h"

#include <stdlib.h>

#include "store/store_check.h"

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a table of the store");
}

static void row_free(arcp__memory_tables *tables, arcp__memory_row *row)
{
    HASH_DEL(tables->rows[row->table], row);
    arcp__free(row->value);
    arcp__free(row->staged);
    arcp__free(row);
}

void arcp__memory_tables_fini(arcp__memory_tables *tables)
{
    for (size_t table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        arcp__memory_row *row = NULL;
        arcp__memory_row *next = NULL;
        HASH_ITER (hh, tables->rows[table], row, next) {
            row_free(tables, row);
        }
    }
    tables->staged = NULL;
    tables->bytes = 0;
}

static arcp__memory_row *row_find(const arcp__memory_tables *tables, arcp_store_table table,
                                  arcp_span key)
{
    arcp__memory_row *row = NULL;
    HASH_FIND(hh, tables->rows[table], key.data, key.size, row);
    return row;
}

static arcp__memory_row *row_new(arcp__memory_tables *tables, arcp_store_table table, arcp_span key)
{
    arcp__memory_row *row = arcp__alloc(sizeof(*row) + key.size);
    if (row == NULL) {
        return NULL;
    }
    row->table = table;
    row->key_size = key.size;
    memcpy(row->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, tables->rows[table], row->key, row->key_size, row);
    if (!ARCP__HASH_ADDED(row)) {
        arcp__free(row);
        return NULL;
    }
    return row;
}

static arcp__memory_value *value_new(arcp_span bytes)
{
    arcp__memory_value *value = arcp__alloc(sizeof(*value) + bytes.size);
    if (value != NULL) {
        value->size = bytes.size;
        if (bytes.size != 0) {
            memcpy(value->data, bytes.data, bytes.size);
        }
    }
    return value;
}

static bool row_is_there(const arcp__memory_row *row)
{
    return row != NULL && (row->is_staged ? row->staged : row->value) != NULL;
}

arcp_status arcp__memory_tables_stage(arcp__memory_tables *tables, const arcp_store_op *op,
                                      arcp_error *err)
{
    arcp__memory_row *row = row_find(tables, op->table, op->key);
    bool is_there = row_is_there(row);
    if (op->kind == ARCP_STORE_DELETE && !is_there) {
        return ARCP_OK;
    }
    arcp__memory_value *value = NULL;
    if (op->kind != ARCP_STORE_DELETE) {
        value = value_new(op->value);
        if (value == NULL) {
            return no_memory(err);
        }
    }
    if (row == NULL) {
        row = row_new(tables, op->table, op->key);
        if (row == NULL) {
            arcp__free(value);
            return no_memory(err);
        }
    }
    if (!row->is_staged) {
        row->is_staged = true;
        row->next_staged = tables->staged;
        tables->staged = row;
    }
    arcp__free(row->staged);
    row->staged = value;
    return ARCP_OK;
}

/* Either side of the change becomes the row's value; a row without one goes. */
static void settle(arcp__memory_tables *tables, bool keep_staged)
{
    arcp__memory_row *next = NULL;
    for (arcp__memory_row *row = tables->staged; row != NULL; row = next) {
        next = row->next_staged;
        if (keep_staged) {
            tables->bytes -= row->value == NULL ? 0 : row->key_size + row->value->size;
            tables->bytes += row->staged == NULL ? 0 : row->key_size + row->staged->size;
            arcp__free(row->value);
            row->value = row->staged;
        } else {
            arcp__free(row->staged);
        }
        row->staged = NULL;
        row->is_staged = false;
        row->next_staged = NULL;
        if (row->value == NULL) {
            row_free(tables, row);
        }
    }
    tables->staged = NULL;
}

void arcp__memory_tables_commit(arcp__memory_tables *tables)
{
    settle(tables, true);
}

void arcp__memory_tables_abandon(arcp__memory_tables *tables)
{
    settle(tables, false);
}

static int compare_rows(const void *left, const void *right)
{
    const arcp_store_row *a = left;
    const arcp_store_row *b = right;
    size_t shorter = a->key.size < b->key.size ? a->key.size : b->key.size;
    int order = memcmp(a->key.data, b->key.data, shorter);
    if (order != 0) {
        return order;
    }
    return (a->key.size > b->key.size) - (a->key.size < b->key.size);
}

arcp_status arcp__memory_tables_scan(const arcp__memory_tables *tables, arcp_store_table table,
                                     arcp_span prefix, arcp_store_row **rows, size_t *count,
                                     arcp_error *err)
{
    size_t capacity = HASH_COUNT(tables->rows[table]);
    arcp_store_row *found = arcp__alloc_array(capacity + 1, sizeof(*found));
    if (found == NULL) {
        return no_memory(err);
    }
    size_t found_count = 0;
    for (const arcp__memory_row *row = tables->rows[table]; row != NULL; row = row->hh.next) {
        arcp_span key = arcp_span_make(row->key, row->key_size);
        if (arcp_span_starts_with(key, prefix)) {
            found[found_count++] =
                (arcp_store_row){key, arcp_span_make(row->value->data, row->value->size)};
        }
    }
    qsort(found, found_count, sizeof(*found), compare_rows);
    *rows = found;
    *count = found_count;
    return ARCP_OK;
}
