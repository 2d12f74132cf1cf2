/* No instruction for CRC-32C is known here. Only crc32c.c includes this. */
#ifndef ARCP_BASE_CRC32C_GENERIC_H
#define ARCP_BASE_CRC32C_GENERIC_H

#include <stdbool.h>

#define crc32c_by_instruction arcp__crc32c_by_table

static inline bool crc32c_has_instruction(void)
{
    return false;
}

#endif
