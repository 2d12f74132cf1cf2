#include "core/target_url.h"

#include "base/hex.h"

/* Reading 0 is the segment as written, reading r is reading r - 1 decoded once. Of the last reading
 * only whether decoding would change it matters.
 *
 * For each reading, five bits are the state of an escape (none, after '%', or ESCAPE_DIGIT + the
 * first digit), and three bits the state of the current component. */
enum {
    READINGS = 5,
    ESCAPE_BITS = 5,
    COMPONENT_SHIFT = READINGS * ESCAPE_BITS,
    COMPONENT_BITS = 3,

    ESCAPE_NONE = 0,
    ESCAPE_PERCENT = 1,
    ESCAPE_DIGIT = 2,

    COMPONENT_EMPTY = 0,
    COMPONENT_DOT = 1,
    COMPONENT_DOT_DOT = 2,
    COMPONENT_OTHER = 3,
    COMPONENT_ENDS_IN_E0 = 4, /* followed by 80 to 9f: overlong in three bytes */
    COMPONENT_ENDS_IN_F0 = 5  /* followed by 80 to 8f: overlong in four bytes */
};

_Static_assert(COMPONENT_SHIFT + COMPONENT_BITS * READINGS == ARCP__ESCAPE_BITS,
               "the state's size");

static unsigned get_escape(uint64_t state, unsigned reading)
{
    return (state >> (reading * ESCAPE_BITS)) & 31;
}

static void set_escape(uint64_t *state, unsigned reading, unsigned escape)
{
    const unsigned shift = reading * ESCAPE_BITS;
    *state = (*state & ~(UINT64_C(31) << shift)) | (uint64_t)escape << shift;
}

static unsigned get_component(uint64_t state, unsigned reading)
{
    return (state >> (COMPONENT_SHIFT + COMPONENT_BITS * reading)) & 7;
}

static bool is_dots(unsigned component)
{
    return component == COMPONENT_DOT || component == COMPONENT_DOT_DOT;
}

/* Feeds a byte to the component of one reading. */
static bool feed_component(uint64_t *state, unsigned reading, unsigned char byte)
{
    const unsigned component = get_component(*state, reading);
    const bool is_blank = byte <= ' ' || byte == 0x7f;
    const bool ends =
        byte == '/' || byte == '\\' || byte == ';' || byte == '?' || byte == '#' || is_blank;
    const bool is_overlong = byte >= 0x80 && (byte == 0xc0 || byte == 0xc1 ||
                                              (component == COMPONENT_ENDS_IN_E0 && byte <= 0x9f) ||
                                              (component == COMPONENT_ENDS_IN_F0 && byte <= 0x8f));
    if (byte == '\0' || (ends && is_dots(component)) || is_overlong) {
        return false;
    }
    unsigned next = COMPONENT_OTHER;
    if (byte == '/' || byte == '\\' || (is_blank && component == COMPONENT_EMPTY)) {
        next = COMPONENT_EMPTY;
    } else if (byte == '.' && component < COMPONENT_DOT_DOT) {
        next = component + 1;
    } else if (byte == 0xe0 || byte == 0xf0) {
        next = byte == 0xe0 ? COMPONENT_ENDS_IN_E0 : COMPONENT_ENDS_IN_F0;
    }
    const unsigned shift = COMPONENT_SHIFT + COMPONENT_BITS * reading;
    *state = (*state & ~(UINT64_C(7) << shift)) | (uint64_t)next << shift;
    return true;
}

static bool feed_reading(uint64_t *state, unsigned reading, unsigned char byte);

static bool feed_next(uint64_t *state, unsigned reading, unsigned char byte)
{
    return reading + 1 == READINGS || feed_reading(state, reading + 1, byte);
}

/* What looked like an escape is none: it goes to the next reading unchanged. */
static bool give_up_escape(uint64_t *state, unsigned reading)
{
    const unsigned escape = get_escape(*state, reading);
    set_escape(state, reading, ESCAPE_NONE);
    if (escape == ESCAPE_NONE) {
        return true;
    }
    if (reading == 0) {
        return false;
    }
    return feed_next(state, reading, '%') &&
           (escape == ESCAPE_PERCENT ||
            feed_next(state, reading, (unsigned char)"0123456789abcdef"[escape - ESCAPE_DIGIT]));
}

/* The depth of the recursion is the number of readings. */
static bool feed_reading(uint64_t *state, unsigned reading, unsigned char byte)
{
    if (!feed_component(state, reading, byte)) {
        return false;
    }
    const unsigned escape = get_escape(*state, reading);
    const int digit = arcp__hex_value(byte);
    if (escape == ESCAPE_PERCENT && digit >= 0) {
        set_escape(state, reading, ESCAPE_DIGIT + (unsigned)digit);
        return true;
    }
    if (escape >= ESCAPE_DIGIT && digit >= 0) {
        set_escape(state, reading, ESCAPE_NONE);
        const unsigned value = (escape - ESCAPE_DIGIT) * 16 + (unsigned)digit;
        return reading + 1 < READINGS && feed_next(state, reading, (unsigned char)value);
    }
    if (!give_up_escape(state, reading)) {
        return false;
    }
    if (byte == '%') {
        set_escape(state, reading, ESCAPE_PERCENT);
        return true;
    }
    return feed_next(state, reading, byte);
}

bool arcp__escape_feed(uint64_t *state, unsigned char byte)
{
    const uint64_t escapes = (UINT64_C(1) << COMPONENT_SHIFT) - 1;
    if ((*state & escapes) != 0 || byte == '%') {
        return feed_reading(state, 0, byte);
    }
    /* Outside escapes a byte is the same in every reading. */
    for (unsigned reading = 0; reading < READINGS; reading++) {
        if (!feed_component(state, reading, byte)) {
            return false;
        }
    }
    return true;
}

bool arcp__escape_may_end(uint64_t state)
{
    for (unsigned reading = 0; reading < READINGS; reading++) {
        if (!give_up_escape(&state, reading) || is_dots(get_component(state, reading))) {
            return false;
        }
    }
    return true;
}
