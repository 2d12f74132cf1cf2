/* Checksums of runs and rows: CRC-32C over the identity and the content, so that content in the
 * place of another run or row counts as damage as well. */
#ifndef ARCP_STORE_POSTGRES_CRC_H
#define ARCP_STORE_POSTGRES_CRC_H

#include <endian.h>

#include <arcp/span.h>

#include "base/crc32c.h"

static inline uint32_t arcp__pg_crc_integer(uint32_t crc, int64_t value)
{
    const uint64_t word = htole64((uint64_t)value);
    return arcp__crc32c(crc, &word, sizeof word);
}

/* Of a run without its data, which the caller adds. */
static inline uint32_t arcp__pg_crc_run(int64_t shard, int64_t stream, int64_t first, int64_t count)
{
    const uint32_t crc = arcp__pg_crc_integer(arcp__pg_crc_integer(0, shard), stream);
    return arcp__pg_crc_integer(arcp__pg_crc_integer(crc, first), count);
}

static inline uint32_t arcp__pg_crc_add(uint32_t crc, arcp_span bytes)
{
    return arcp__crc32c(crc, bytes.data, bytes.size);
}

/* The size of the key goes first, so that the boundary is part of the checksum. */
static inline uint32_t arcp__pg_crc_row(int64_t shard, int64_t table, arcp_span key,
                                        arcp_span value)
{
    uint32_t crc = arcp__pg_crc_integer(arcp__pg_crc_integer(0, shard), table);
    crc = arcp__pg_crc_integer(crc, (int64_t)key.size);
    return arcp__pg_crc_add(arcp__pg_crc_add(crc, key), value);
}

#endif
