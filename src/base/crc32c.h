/* CRC-32C (Castagnoli, polynomial 0x1edc6f41, reflected): the checksum of what is stored. */
#ifndef ARCP_BASE_CRC32C_H
#define ARCP_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues the checksum `crc` (0: start) with `size` bytes. Uses the processor's instruction if
 * there is one. */
uint32_t arcp__crc32c(uint32_t crc, const void *data, size_t size);

/* The same without the instruction, for any processor. */
uint32_t arcp__crc32c_by_table(uint32_t crc, const void *data, size_t size);

#endif
