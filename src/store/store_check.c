#include "store/store_check.h"

static const char *const table_names[] = {
#define ARCP_STORE_TABLE(name, text) [ARCP_STORE_##name] = (text),
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
};

const char *arcp_store_table_name(arcp_store_table table)
{
    return (size_t)table < (size_t)ARCP_STORE_TABLE_COUNT ? table_names[table] : NULL;
}

static arcp_status check_key(arcp_span key, arcp_error *err)
{
    if (key.size == 0 || key.data == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a key is empty");
    }
    if (key.size > ARCP_STORE_KEY_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "a key has %zu bytes, more than %u", key.size,
                              ARCP_STORE_KEY_BYTES_MAX);
    }
    return ARCP_OK;
}

static arcp_status check_table(arcp_store_table table, arcp_error *err)
{
    if (arcp_store_table_name(table) == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no table %d", (int)table);
    }
    return ARCP_OK;
}

/* A line feed would become a record of its own when records are joined on disk. */
static arcp_status check_value(arcp_span value, arcp_error *err)
{
    if (value.size > ARCP_STORE_VALUE_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "a value has %zu bytes, more than %u", value.size,
                              ARCP_STORE_VALUE_BYTES_MAX);
    }
    if (value.size != 0 && memchr(value.data, '\n', value.size) != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a value has a line feed");
    }
    return ARCP_OK;
}

static arcp_status check_op(const arcp_store_op *op, arcp_error *err)
{
    arcp_status status = check_key(op->key, err);
    if (status != ARCP_OK) {
        return status;
    }
    switch (op->kind) {
    case ARCP_STORE_APPEND:
        if (op->position > ARCP_STORE_POSITION_MAX) {
            return arcp_error_set(err, ARCP_E_LIMIT, "position %llu is past the last one, %llu",
                                  (unsigned long long)op->position,
                                  (unsigned long long)ARCP_STORE_POSITION_MAX);
        }
        return check_value(op->value, err);
    case ARCP_STORE_TRIM:
    case ARCP_STORE_DROP:
        return ARCP_OK;
    case ARCP_STORE_PUT:
        status = check_table(op->table, err);
        return status != ARCP_OK ? status : check_value(op->value, err);
    case ARCP_STORE_DELETE:
        return check_table(op->table, err);
    }
    return arcp_error_set(err, ARCP_E_USAGE, "there is no operation %d", (int)op->kind);
}

arcp_status arcp__store_check_batch(const arcp_store_batch *batch, size_t *bytes, arcp_error *err)
{
    size_t total = 0;
    for (size_t at = 0; at < batch->count; at++) {
        arcp_status status = check_op(&batch->ops[at], err);
        if (status != ARCP_OK) {
            return status;
        }
        /* Cannot overflow: these bytes are all in memory at once. */
        total += batch->ops[at].key.size + arcp__store_value_size(&batch->ops[at]);
    }
    *bytes = total;
    return ARCP_OK;
}

arcp_status arcp__store_check_read(arcp_span stream, size_t count_max, arcp_error *err)
{
    if (count_max == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "a read of no records");
    }
    return check_key(stream, err);
}

arcp_status arcp__store_check_scan(arcp_store_table table, arcp_span prefix, arcp_error *err)
{
    arcp_status status = check_table(table, err);
    if (status == ARCP_OK && prefix.size > ARCP_STORE_KEY_BYTES_MAX) {
        status = arcp_error_set(err, ARCP_E_USAGE, "a prefix has %zu bytes, more than %u",
                                prefix.size, ARCP_STORE_KEY_BYTES_MAX);
    }
    return status;
}

arcp_status arcp__store_position_error(arcp_span stream, uint64_t position, uint64_t next,
                                       arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "stream \"%.*s\": position %llu was appended where %llu is next",
                          (int)arcp_span_first(stream, 128).size, stream.data,
                          (unsigned long long)position, (unsigned long long)next);
}
