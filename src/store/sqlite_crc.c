#include "store/sqlite_crc.h"

#include <endian.h>

#include "base/crc32c.h"

/* At most four integers. */
static uint32_t add_integers(uint32_t crc, const int64_t *values, size_t count)
{
    uint64_t words[4];
    for (size_t i = 0; i < count; i++) {
        words[i] = htole64((uint64_t)values[i]);
    }
    return arcp__crc32c(crc, words, count * sizeof words[0]);
}

static uint32_t add_integer(uint32_t crc, int64_t value)
{
    return add_integers(crc, &value, 1);
}

/* The size goes first, so that the boundary between two texts is part of the checksum. */
static uint32_t add_text(uint32_t crc, arcp_span text)
{
    return arcp__crc32c(add_integer(crc, (int64_t)text.size), text.data, text.size);
}

static uint32_t crc_of_head(int64_t id, int64_t count, int64_t bytes)
{
    const int64_t head[] = {id, count, bytes};
    return add_integers(0, head, 3);
}

int64_t arcp__sqlite_crc_run(int64_t id, int64_t count, int64_t bytes, arcp_span data)
{
    const uint64_t head = crc_of_head(id, count, bytes);
    return (int64_t)(head << 32 | arcp__crc32c(0, data.data, data.size));
}

bool arcp__sqlite_crc_is_of_run(int64_t crc, int64_t id, int64_t count, int64_t bytes)
{
    return (uint32_t)((uint64_t)crc >> 32) == crc_of_head(id, count, bytes);
}

bool arcp__sqlite_crc_is_of_data(int64_t crc, arcp_span data)
{
    return (uint32_t)(uint64_t)crc == arcp__crc32c(0, data.data, data.size);
}

int64_t arcp__sqlite_crc_row(arcp_span table, arcp_span key, arcp_span value)
{
    return add_text(add_text(add_text(0, table), key), value);
}

int64_t arcp__sqlite_crc_stream(int64_t id, arcp_span key, int64_t next, int64_t is_open)
{
    const int64_t state[] = {next, is_open};
    return add_integers(add_text(add_integer(0, id), key), state, 2);
}

int64_t arcp__sqlite_crc_stream_name(int64_t id, arcp_span key)
{
    return add_text(add_integer(0, id), key);
}

int64_t arcp__sqlite_crc_sum(arcp_span name, int64_t count, int64_t sum, int64_t changes,
                             int64_t is_open)
{
    const int64_t state[] = {count, sum, changes, is_open};
    return add_integers(add_text(0, name), state, 4);
}

/* ---- SQL functions ---- */

static void run_in_sql(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_result_int64(context, arcp__sqlite_crc_run(sqlite3_value_int64(values[0]),
                                                       sqlite3_value_int64(values[1]),
                                                       sqlite3_value_int64(values[2]),
                                                       arcp__sqlite_value_text(values[3])));
}

/* The other functions compute a CRC over all their arguments in order. */
static void crc_in_sql(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint32_t crc = 0;
    for (int i = 0; i < count; i++) {
        crc = sqlite3_value_type(values[i]) == SQLITE_INTEGER
                  ? add_integer(crc, sqlite3_value_int64(values[i]))
                  : add_text(crc, arcp__sqlite_value_text(values[i]));
    }
    sqlite3_result_int64(context, crc);
}

arcp_status arcp__sqlite_crc_add_functions(arcp__sqlite *sqlite, arcp_error *err)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {{"arcp_crc_run", 4, run_in_sql},
                     {"arcp_crc_row", 3, crc_in_sql},
                     {"arcp_crc_stream", 4, crc_in_sql},
                     {"arcp_crc_stream_name", 2, crc_in_sql},
                     {"arcp_crc_sum", -1, crc_in_sql}};
    for (size_t i = 0; err->status == ARCP_OK && i < sizeof functions / sizeof functions[0]; i++) {
        const int code = sqlite3_create_function(
            sqlite->db, functions[i].name, functions[i].arguments,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, functions[i].call, NULL, NULL);
        if (code != SQLITE_OK) {
            (void)arcp__sqlite_error(sqlite, code, err);
        }
    }
    return err->status;
}
