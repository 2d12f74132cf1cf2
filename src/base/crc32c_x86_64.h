/* CRC-32C by the instruction that SSE 4.2 has for it. Only crc32c.c includes this. */
#ifndef ARCP_BASE_CRC32C_X86_64_H
#define ARCP_BASE_CRC32C_X86_64_H

#include <nmmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool crc32c_has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_by_instruction(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint64_t wide = ~crc;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        wide = _mm_crc32_u64(wide, word);
    }
    uint32_t narrow = (uint32_t)wide;
    for (; size != 0; size--, bytes++) {
        narrow = _mm_crc32_u8(narrow, *bytes);
    }
    return ~narrow;
}

#endif
