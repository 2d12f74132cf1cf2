/* Checksums of rows: CRC-32C over the content and the identity of a row, so that content in the
 * place of another row counts as damage as well. They are written with each row and compared by
 * every reader. Integers are hashed as eight bytes, little-endian. */
#ifndef ARCP_STORE_SQLITE_CRC_H
#define ARCP_STORE_SQLITE_CRC_H

#include "store/sqlite_connection.h"

/* For a row of `runs`: 32 bits over id, count and bytes, which are also read without the data, and
 * 32 bits over the data. */
int64_t arcp__sqlite_crc_run(int64_t id, int64_t count, int64_t bytes, arcp_span data);
bool arcp__sqlite_crc_is_of_run(int64_t crc, int64_t id, int64_t count, int64_t bytes);
bool arcp__sqlite_crc_is_of_data(int64_t crc, arcp_span data);

/* For a row of a table. */
int64_t arcp__sqlite_crc_row(arcp_span table, arcp_span key, arcp_span value);

/* For a row of `streams`; the key of a dropped stream is empty. */
int64_t arcp__sqlite_crc_stream(int64_t id, arcp_span key, int64_t next, int64_t is_open);
/* The value of a stream in the sum of `streams`: only its identity. */
int64_t arcp__sqlite_crc_stream_name(int64_t id, arcp_span key);

/* For a row of `sums`. */
int64_t arcp__sqlite_crc_sum(arcp_span name, int64_t count, int64_t sum, int64_t changes,
                             int64_t is_open);

/* Adds the SQL functions arcp_crc_run(id, count, bytes, data), arcp_crc_row(table, key,
 * value), arcp_crc_stream(id, key, next, open), arcp_crc_stream_name(id, key),
 * arcp_crc_sum(name, count, sum, changes, open); in schema 2 without `open`. */
arcp_status arcp__sqlite_crc_add_functions(arcp__sqlite *sqlite, arcp_error *err);

#endif
