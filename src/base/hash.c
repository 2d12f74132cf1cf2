#include "base/hash.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "base/random.h"

static uint64_t process_key[2];
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void draw_key(void)
{
    arcp__random(process_key, sizeof process_key);
}

static inline uint64_t rotate(uint64_t value, int by)
{
    return (value << by) | (value >> (64 - by));
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t arcp__siphash(const uint64_t key[2], const void *data, size_t size)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const unsigned char *bytes = data;
    size_t left = size;
    uint64_t word = 0;
    for (; left >= sizeof word; left -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        word = le64toh(word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; i < left; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int round = 0; round < 3; round++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t arcp__hash_bytes(const void *data, size_t size)
{
    (void)pthread_once(&process_key_once, draw_key);
    return arcp__siphash(process_key, data, size);
}
