#include "base/ulid.h"

#include <string.h>

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#define TIME_SIZE 10 /* characters of the milliseconds; those of the random part follow */

static void format(int64_t ms, const uint8_t tail[10], char out[ARCP__ULID_SIZE])
{
    uint64_t time = (uint64_t)ms;
    for (int i = TIME_SIZE - 1; i >= 0; i--) {
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
            out[TIME_SIZE + half * 8 + i] = alphabet[bits & 31];
            bits >>= 5;
        }
    }
}

static void begin_ms(arcp__ulid_source *source, int64_t ms)
{
    uint8_t tail[10];
    source->random(source->user, tail, sizeof tail);
    tail[0] &= 0x7f; /* room to grow within the millisecond */
    source->last_ms = ms;
    format(ms, tail, source->last);
}

/* Adds one to the random part; false when it has wrapped around. */
static bool count(char last[ARCP__ULID_SIZE])
{
    for (int i = ARCP__ULID_SIZE - 1; i >= TIME_SIZE; i--) {
        switch (last[i]) {
        case '9':
            last[i] = 'A';
            return true;
        case 'H':
            last[i] = 'J';
            return true; /* there is no I, L, O and U */
        case 'K':
            last[i] = 'M';
            return true;
        case 'N':
            last[i] = 'P';
            return true;
        case 'T':
            last[i] = 'V';
            return true;
        case 'Z':
            last[i] = '0';
            break;
        default:
            last[i]++;
            return true;
        }
    }
    return false;
}

void arcp__ulid_next(arcp__ulid_source *source, int64_t wall_ms, char out[ARCP__ULID_SIZE])
{
    wall_ms = wall_ms < 0 ? 0 : wall_ms;
    if (wall_ms > source->last_ms || source->last[0] == '\0') {
        begin_ms(source, wall_ms);
    } else if (!count(source->last)) {
        begin_ms(source, source->last_ms + 1);
    }
    memcpy(out, source->last, ARCP__ULID_SIZE);
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
