/* The checksums of what is stored: CRC-32C over a row's content and over what says whose it
 * is, so that content in another row's place is damage, too. Written with each row, compared
 * by everything that reads one. Integers go in as eight bytes, the lowest first. */
#ifndef ARCP_STORE_SQLITE_CRC_H
#define ARCP_STORE_SQLITE_CRC_H

#include "store/sqlite_connection.h"

/* Of a row of `runs`: 32 bits over id, count and bytes, which are read without the data, and
 * 32 bits over the data. */
int64_t arcp__sqlite_crc_run(int64_t id, int64_t count, int64_t bytes, arcp_span data);
bool arcp__sqlite_crc_is_of_run(int64_t crc, int64_t id, int64_t count, int64_t bytes);
bool arcp__sqlite_crc_is_of_data(int64_t crc, arcp_span data);

/* Of a row of a table. */
int64_t arcp__sqlite_crc_row(arcp_span table, arcp_span key, arcp_span value);

/* Of a row of `streams`; a key of no bytes: it was dropped. */
int64_t arcp__sqlite_crc_stream(int64_t id, arcp_span key, int64_t next, int64_t is_open);
/* What a stream counts for in the sum of `streams`: which one it is. */
int64_t arcp__sqlite_crc_stream_name(int64_t id, arcp_span key);

/* Of a row of `sums`. */
int64_t arcp__sqlite_crc_sum(arcp_span name, int64_t count, int64_t sum, int64_t changes);

/* Makes these functions of SQL: arcp_crc_run(id, count, bytes, data), arcp_crc_row(table, key,
 * value), arcp_crc_stream(id, key, next, open), arcp_crc_stream_name(id, key),
 * arcp_crc_sum(name, count, sum, changes). */
arcp_status arcp__sqlite_crc_add_functions(arcp__sqlite *sqlite, arcp_error *err);

#endif
