/* Whether a pattern reaches a host: its states are led through every scheme, the host, and every
 * port at once. */
#include "core/glob_pattern.h"

#include <string.h>

#include "core/target_url.h"

enum { PORT_DIGITS_MAX = 5 };

/* What the digits of a port are, compared with as many of the first digits of 65535. A state has a
 * bit for each, because several ports may lead to it, and three more for ports that are zero so
 * far. */
enum {
    PORT_LESS = 1,
    PORT_SAME = 2,
    PORT_MORE = 4,
    PORT_MARKS = PORT_LESS | PORT_SAME | PORT_MORE,
    PORT_ZERO_SHIFT = 3
};

typedef struct walker {
    arcp__glob_states states;
    bool is_http; /* only URLs of http and https, whose paths begin with '/' */
    unsigned char room[ARCP__GLOB_ROOM(ARCP__GLOB_PATTERN_BYTES_MAX)];
    uint8_t at[ARCP__GLOB_PATTERN_BYTES_MAX + 1]; /* for each state, not 0: it is reached */
} walker;

static bool is_letter(unsigned char byte)
{
    return byte >= 'a' && byte <= 'z';
}

static bool is_digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_scheme_byte(unsigned char byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '+' || byte == '-' || byte == '.';
}

static bool has_literal(const arcp__glob_states *states, uint32_t state, unsigned char byte)
{
    return state < states->last && states->literals[state] == byte;
}

/* Marks the states that the literal of `from` leads to. */
static void pass(const arcp__glob_states *states, uint32_t from, uint8_t marks, uint8_t *to)
{
    to[from + 1] |= marks;
    if ((states->loops[from + 1] & ARCP__GLOB_LOOP_SKIP) != 0) {
        to[from + 2] |= marks;
    }
}

static void read_byte(walker *w, unsigned char byte)
{
    const arcp__glob_class byte_class = arcp__glob_class_of(ARCP__TARGET_URL, byte);
    /* Downwards, so that a state is read before it is written. */
    for (uint32_t state = w->states.last + 1; state-- > 0;) {
        const uint8_t marks = w->at[state];
        w->at[state] = arcp__glob_loop_takes(&w->states, state, byte_class) ? marks : 0;
        if (marks != 0 && has_literal(&w->states, state, byte)) {
            pass(&w->states, state, marks, w->at);
        }
    }
}

/* Whether the byte leads anywhere. From every state the accepting one can be reached, so any state
 * is an answer. */
static bool may_follow(const arcp__glob_states *states, const uint8_t *at, unsigned char byte)
{
    const arcp__glob_class byte_class = arcp__glob_class_of(ARCP__TARGET_URL, byte);
    for (uint32_t state = 0; state <= states->last; state++) {
        if (at[state] != 0 && (arcp__glob_loop_takes(states, state, byte_class) ||
                               has_literal(states, state, byte))) {
            return true;
        }
    }
    return false;
}

/* Whether the authority may end here. */
static bool may_end(const walker *w, const uint8_t *at)
{
    const arcp__glob_states *states = &w->states;
    return may_follow(states, at, '/') ||
           (!w->is_http && (may_follow(states, at, '?') || at[states->last] != 0 ||
                            (states->tail && states->last > 0 && at[states->last - 1] != 0)));
}

static uint8_t compare_digit(uint8_t marks, uint8_t digit, size_t index)
{
    static const uint8_t most[PORT_DIGITS_MAX] = {6, 5, 5, 3, 5};
    const uint8_t same = digit < most[index]    ? PORT_LESS
                         : digit == most[index] ? PORT_SAME
                                                : PORT_MORE;
    return (uint8_t)((marks & (PORT_LESS | PORT_MORE)) | ((marks & PORT_SAME) != 0 ? same : 0));
}

static uint8_t add_digit(uint8_t marks, uint8_t digit, size_t index)
{
    const uint8_t zero = compare_digit((uint8_t)(marks >> PORT_ZERO_SHIFT), digit, index);
    return (uint8_t)(compare_digit(marks & PORT_MARKS, digit, index) |
                     (digit == 0 ? zero << PORT_ZERO_SHIFT : zero));
}

/* Reads one more digit, whichever it is. */
static void read_digit(walker *w, size_t index)
{
    uint8_t next[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    memset(next, 0, w->states.last + 1);
    for (uint32_t state = 0; state <= w->states.last; state++) {
        const uint8_t marks = w->at[state];
        const bool takes = arcp__glob_loop_takes(&w->states, state, ARCP__GLOB_ORDINARY);
        for (uint8_t digit = 0; marks != 0 && digit <= 9; digit++) {
            const uint8_t grown = add_digit(marks, digit, index);
            next[state] |= takes ? grown : 0;
            if (has_literal(&w->states, state, (unsigned char)('0' + digit))) {
                pass(&w->states, state, grown, next);
            }
        }
    }
    memcpy(w->at, next, w->states.last + 1);
}

/* Whether a port from 1 to 65535, of at most five digits, may follow. */
static bool may_have_port(walker *w)
{
    read_byte(w, ':');
    for (uint32_t state = 0; state <= w->states.last; state++) {
        w->at[state] = w->at[state] != 0 ? PORT_SAME << PORT_ZERO_SHIFT : 0;
    }
    for (size_t i = 0; i < PORT_DIGITS_MAX; i++) {
        read_digit(w, i);
        const uint8_t valid = i + 1 < PORT_DIGITS_MAX ? PORT_MARKS : PORT_LESS | PORT_SAME;
        uint8_t ended[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
        for (uint32_t state = 0; state <= w->states.last; state++) {
            ended[state] = w->at[state] & valid;
        }
        if (may_end(w, ended)) {
            return true;
        }
    }
    return false;
}

/* Marks the states after every scheme. */
static void read_any_scheme(walker *w)
{
    const arcp__glob_states *states = &w->states;
    const bool skips = (states->loops[0] & ARCP__GLOB_LOOP_SKIP) != 0;
    for (uint32_t state = skips ? 2 : 1; state-- > 0;) {
        if (state < states->last && is_letter(states->literals[state])) {
            pass(states, state, 1, w->at);
        }
        w->at[state] |= arcp__glob_loop_takes(states, state, ARCP__GLOB_ORDINARY) ? 1 : 0;
    }
    /* Upwards, so that what was reached leads on; a loop leads to its own state again. */
    for (uint32_t state = 0; state < states->last; state++) {
        if (w->at[state] != 0 && is_scheme_byte(states->literals[state])) {
            pass(states, state, 1, w->at);
        }
    }
}

/* Reads the scheme that the pattern begins with, `size` bytes before a ':'. False: no URL that may
 * be fetched has it. */
static bool read_scheme(walker *w, arcp_span scheme)
{
    for (size_t i = 0; i < scheme.size; i++) {
        const unsigned char byte = (unsigned char)scheme.data[i];
        if (i == 0 ? !is_letter(byte) : !is_scheme_byte(byte)) {
            return false;
        }
    }
    const arcp__url_scheme kind = arcp__url_scheme_of(scheme);
    w->is_http = kind == ARCP__URL_HTTP;
    w->at[scheme.size] = 1;
    return scheme.size > 0 && kind != ARCP__URL_FILE;
}

/* Whether "://", the host, and what may come behind it can be read after `rest`, which are literal
 * bytes. It says no only if no URL can. */
static bool may_agree(arcp_span rest, arcp_span host)
{
    const arcp_span slashes = ARCP_SPAN_LITERAL("://");
    const arcp_span behind = arcp_span_from(rest, slashes.size + host.size);
    return arcp__glob_bases_meet(arcp_span_first(rest, slashes.size), slashes) &&
           arcp__glob_bases_meet(arcp_span_first(arcp_span_from(rest, slashes.size), host.size),
                                 host) &&
           (behind.size == 0 || memchr("/:?", behind.data[0], 3) != NULL);
}

bool arcp__glob_reaches_host(arcp_span pattern, arcp_span host)
{
    const arcp_span literal = arcp__glob_literal_prefix(pattern);
    const char *colon = literal.size == 0 ? NULL : memchr(literal.data, ':', literal.size);
    const size_t scheme = colon == NULL ? 0 : (size_t)(colon - literal.data);
    if (pattern.size == 0 || pattern.size > ARCP__GLOB_PATTERN_BYTES_MAX ||
        (colon != NULL && !may_agree(arcp_span_from(literal, scheme), host))) {
        return false;
    }
    walker w;
    w.is_http = false;
    arcp__glob_parse(pattern, w.room, &w.states);
    memset(w.at, 0, w.states.last + 1);
    if (colon == NULL) {
        read_any_scheme(&w);
    } else if (!read_scheme(&w, arcp_span_first(literal, scheme))) {
        return false;
    }
    const arcp_span slashes = ARCP_SPAN_LITERAL("://");
    for (size_t i = 0; i < slashes.size; i++) {
        read_byte(&w, (unsigned char)slashes.data[i]);
    }
    for (size_t i = 0; i < host.size; i++) {
        read_byte(&w, (unsigned char)host.data[i]);
    }
    return may_end(&w, w.at) || may_have_port(&w);
}
