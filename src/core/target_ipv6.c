#include "core/target_ipv6.h"

#include "base/hex.h"

typedef enum place {
    AT_START,
    AFTER_FIRST_COLON, /* which must be the first of two */
    AFTER_TWO_COLONS,
    AFTER_COLON,
    IN_GROUP,
    AFTER_POINT, /* of a dotted quad */
    IN_OCTET     /* the second to the fourth of a dotted quad */
} place;

enum { GROUPS = 8, NOT_AN_OCTET = 0x1ff };

typedef struct address {
    place place;
    unsigned groups;   /* complete ones before the current group */
    bool is_shortened; /* "::" has come */
    unsigned digits;   /* of the current group or octet */
    unsigned value;    /* of the group read as an octet, or NOT_AN_OCTET */
    unsigned octets;   /* complete ones */
} address;

static address unpack(uint32_t state)
{
    return (address){.place = (place)(state & 7),
                     .groups = state >> 3 & 15,
                     .is_shortened = (state >> 7 & 1) != 0,
                     .digits = state >> 8 & 7,
                     .value = state >> 11 & 0x1ff,
                     .octets = state >> 20 & 3};
}

static uint32_t pack(const address *a)
{
    return (uint32_t)a->place | a->groups << 3 | (uint32_t)a->is_shortened << 7 | a->digits << 8 |
           a->value << 11 | a->octets << 20;
}

/* How many groups may be written: "::" stands for at least one. */
static unsigned groups_max(const address *a)
{
    return a->is_shortened ? GROUPS - 1 : GROUPS;
}

/* A decimal octet has no leading zero and is at most 255. */
static unsigned add_to_octet(unsigned value, unsigned digits, unsigned char byte)
{
    if (byte < '0' || byte > '9' || value == NOT_AN_OCTET || (digits > 0 && value == 0)) {
        return NOT_AN_OCTET;
    }
    const unsigned grown = value * 10 + (unsigned)(byte - '0');
    return grown <= 255 ? grown : NOT_AN_OCTET;
}

static bool begin_group(address *a, unsigned char byte)
{
    if (arcp__hex_value(byte) < 0 || a->groups == groups_max(a)) {
        return false;
    }
    a->place = IN_GROUP;
    a->digits = 1;
    /* A dotted quad takes the room of two groups. */
    a->value = a->groups + 2 <= groups_max(a) ? add_to_octet(0, 0, byte) : NOT_AN_OCTET;
    return true;
}

static bool feed_group(address *a, unsigned char byte)
{
    if (byte == ':') {
        a->groups++;
        a->place = AFTER_COLON;
    } else if (byte == '.') {
        /* What looked like a group is the first octet of the last two groups. */
        if (a->value == NOT_AN_OCTET) {
            return false;
        }
        a->octets = 1;
        a->place = AFTER_POINT;
    } else {
        if (arcp__hex_value(byte) < 0 || a->digits == 4) {
            return false;
        }
        a->value = add_to_octet(a->value, a->digits, byte);
        a->digits++;
        return true;
    }
    a->digits = 0;
    a->value = 0;
    return true;
}

static bool feed_octet(address *a, unsigned char byte)
{
    if (byte == '.' && a->place == IN_OCTET) {
        if (a->octets == 3) {
            return false;
        }
        a->octets++;
        a->place = AFTER_POINT;
        a->digits = 0;
        a->value = 0;
        return true;
    }
    a->value = add_to_octet(a->value, a->digits, byte);
    a->place = IN_OCTET;
    a->digits++;
    return a->value != NOT_AN_OCTET;
}

static bool feed(address *a, unsigned char byte)
{
    switch (a->place) {
    case AT_START:
        if (byte == ':') {
            a->place = AFTER_FIRST_COLON;
            return true;
        }
        return begin_group(a, byte);
    case AFTER_FIRST_COLON:
    case AFTER_COLON:
        if (byte == ':' && !a->is_shortened && a->groups < GROUPS) {
            a->is_shortened = true;
            a->place = AFTER_TWO_COLONS;
            return true;
        }
        return a->place == AFTER_COLON && begin_group(a, byte);
    case AFTER_TWO_COLONS:
        return begin_group(a, byte);
    case IN_GROUP:
        return feed_group(a, byte);
    case AFTER_POINT:
    case IN_OCTET:
        return feed_octet(a, byte);
    }
    return false;
}

bool arcp__ipv6_feed(uint32_t *state, unsigned char byte)
{
    address a = unpack(*state);
    if (!feed(&a, byte)) {
        return false;
    }
    *state = pack(&a);
    return true;
}

bool arcp__ipv6_may_end(uint32_t state)
{
    const address a = unpack(state);
    switch (a.place) {
    case AFTER_TWO_COLONS:
        return true;
    case IN_GROUP:
        return a.is_shortened ? a.groups + 1 <= GROUPS - 1 : a.groups + 1 == GROUPS;
    case IN_OCTET:
        return a.octets == 3 &&
               (a.is_shortened ? a.groups + 2 <= GROUPS - 1 : a.groups + 2 == GROUPS);
    case AT_START:
    case AFTER_FIRST_COLON:
    case AFTER_COLON:
    case AFTER_POINT:
        break;
    }
    return false;
}

/* Whether an octet, or a group that may still be one, can go on wherever the other can: a
 * smaller value leaves at least as much room, but nothing follows a zero. */
static bool octet_covers(const address *wide, const address *narrow)
{
    if (narrow->value == NOT_AN_OCTET || narrow->value == wide->value) {
        return true;
    }
    return wide->value != NOT_AN_OCTET && wide->value != 0 &&
           (narrow->value == 0 || wide->value < narrow->value);
}

bool arcp__ipv6_covers(uint32_t a, uint32_t b)
{
    const address wide = unpack(a);
    const address narrow = unpack(b);
    /* Behind "::" there may be fewer groups than would have had room. */
    return wide.place == narrow.place && wide.is_shortened == narrow.is_shortened &&
           wide.octets == narrow.octets && wide.digits <= narrow.digits &&
           (wide.groups == narrow.groups || (wide.is_shortened && wide.groups < narrow.groups)) &&
           octet_covers(&wide, &narrow);
}
