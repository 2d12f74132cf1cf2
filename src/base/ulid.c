#include "base/ulid.h"

#include <string.h>

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void format(int64_t ms, const uint8_t tail[10], char out[ARCP__ULID_SIZE])
{
    uint64_t time = (uint64_t)ms;
    for (int i = 9; i >= 0; i--) {
        out[i] = alphabet[time & 31];
        time >>= 5;
    }
    /* 80 bits as two runs of 40: eight characters of five bits each. */
    for (int half = 0; half < 2; half++) {
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++) {
            bits = (bits << 8) | tail[half * 5 + i];
        }
        for (int i = 7; i >= 0; i--) {
            out[10 + half * 8 + i] = alphabet[bits & 31];
            bits >>= 5;
        }
    }
}

void arcp__ulid_next(arcp__ulid_source *source, int64_t wall_ms, char out[ARCP__ULID_SIZE])
{
    if (wall_ms < 0) {
        wall_ms = 0;
    }
    if (wall_ms > source->last_ms) {
        source->last_ms = wall_ms;
        source->random(source->user, source->tail, sizeof source->tail);
        source->tail[0] &= 0x7f; /* room to grow within the millisecond */
    } else {
        int i = 9;
        while (i >= 0 && ++source->tail[i] == 0) {
            i--;
        }
        if (i < 0) { /* the random part has wrapped around */
            source->last_ms++;
            source->random(source->user, source->tail, sizeof source->tail);
        }
    }
    format(source->last_ms, source->tail, out);
}

static int digit_value(char digit)
{
    if (digit >= 'a' && digit <= 'z') {
        digit = (char)(digit - 'a' + 'A');
    }
    const char *found = digit == '\0' ? NULL : strchr(alphabet, digit);
    return found == NULL ? -1 : (int)(found - alphabet);
}

bool arcp__ulid_is_valid(arcp_span text)
{
    if (text.size != ARCP__ULID_SIZE || digit_value(text.data[0]) > 7) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (digit_value(text.data[i]) < 0) {
            return false;
        }
    }
    return true;
}
