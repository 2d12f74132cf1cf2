#include "core/target_url.h"

#include "base/hex.h"

typedef enum place {
    AT_START,
    AFTER_FIRST_COLON, /* a second colon must follow */
    AFTER_TWO_COLONS,
    AFTER_COLON,
    IN_GROUP,
    AFTER_POINT, /* of a dotted quad */
    IN_OCTET     /* the second to the fourth of a dotted quad */
} place;

enum { GROUPS = 8, NOT_AN_OCTET = 0x1ff };

/* The fields of a state. */
typedef union address {
    uint32_t state;
    struct {
        unsigned place : 3;
        unsigned groups : 4;       /* complete ones before the current group */
        unsigned is_shortened : 1; /* "::" has come */
        unsigned digits : 3;       /* of the current group or octet */
        unsigned value : 9;        /* of the group read as an octet, or NOT_AN_OCTET */
        unsigned octets : 2;       /* complete ones */
    };
} address;

/* The most groups that may be written: "::" stands for at least one. */
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
    /* A dotted quad takes two groups. */
    a->value = a->groups + 2U <= groups_max(a) ? add_to_octet(0, 0, byte) : NOT_AN_OCTET;
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
    if (a->place == IN_GROUP) {
        return feed_group(a, byte);
    }
    if (a->place == IN_OCTET || a->place == AFTER_POINT) {
        return feed_octet(a, byte);
    }
    if (byte != ':') {
        return a->place != AFTER_FIRST_COLON && begin_group(a, byte);
    }
    if (a->place == AT_START) {
        a->place = AFTER_FIRST_COLON;
        return true;
    }
    if (a->place == AFTER_TWO_COLONS || a->is_shortened || a->groups == GROUPS) {
        return false;
    }
    a->is_shortened = 1;
    a->place = AFTER_TWO_COLONS;
    return true;
}

bool arcp__ipv6_feed(uint32_t *state, unsigned char byte)
{
    address a = {.state = *state};
    const bool is_address = feed(&a, byte);
    *state = is_address ? a.state : *state;
    return is_address;
}

bool arcp__ipv6_may_end(uint32_t state)
{
    const address a = {.state = state};
    /* "::" stands for one group at least. */
    const bool is_quad = a.place == IN_OCTET && a.octets == 3;
    const unsigned groups = a.groups + (is_quad ? 2U : 1U);
    return a.place == AFTER_TWO_COLONS || ((a.place == IN_GROUP || is_quad) &&
                                           (a.is_shortened ? groups < GROUPS : groups == GROUPS));
}

bool arcp__ipv6_covers(uint32_t a, uint32_t b)
{
    const address wide = {.state = a};
    const address narrow = {.state = b};
    /* For an octet, or a group that may still become one, a smaller value can be followed by at
     * least as much, except that nothing follows a zero. */
    const bool value_covers = narrow.value == NOT_AN_OCTET || narrow.value == wide.value ||
                              (wide.value != NOT_AN_OCTET && wide.value != 0 &&
                               (narrow.value == 0 || wide.value < narrow.value));
    /* After "::" fewer groups than possible are valid, too. */
    return wide.place == narrow.place && wide.is_shortened == narrow.is_shortened &&
           wide.octets == narrow.octets && wide.digits <= narrow.digits &&
           (wide.groups == narrow.groups || (wide.is_shortened && wide.groups < narrow.groups)) &&
           value_covers;
}
