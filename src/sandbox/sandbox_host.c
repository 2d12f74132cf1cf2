/* Whether the host and port of a pattern can be those of a connection. Inside, names are looked up
 * in lower case and without a dot at the end, and addresses have one form; a pattern with another
 * one is never matched, although the gate allows it to who asks. */
#include "sandbox/sandbox_parts.h"

enum { LABEL_MAX = 63, NAME_MAX_BYTES = 253, GROUPS = 8 };

/* Without what stands for a port. */
static arcp_span without_port(arcp_span host)
{
    const bool is_bracket = host.size > 0 && host.data[0] == '[';
    const char *end = host.size == 0 ? NULL : memchr(host.data, is_bracket ? ']' : ':', host.size);
    return end == NULL ? host : arcp_span_first(host, (size_t)(end - host.data) + is_bracket);
}

static bool ends_with(arcp_span text, const char *end)
{
    const size_t size = strlen(end);
    return text.size >= size && memcmp(text.data + text.size - size, end, size) == 0;
}

/* ---- addresses ---- */

/* Four numbers of at most 255, without zeros in front. */
static bool read_ipv4(arcp_span text, unsigned char out[4])
{
    size_t at = 0;
    for (size_t i = 0; i < 4; i++) {
        const size_t begin = at;
        unsigned value = 0;
        while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && value <= 255) {
            value = value * 10 + (unsigned)(text.data[at++] - '0');
        }
        const bool has_zero = at - begin > 1 && text.data[begin] == '0';
        const bool has_end = i == 3 ? at == text.size : at < text.size && text.data[at] == '.';
        if (at == begin || value > 255 || has_zero || !has_end) {
            return false;
        }
        out[i] = (unsigned char)value;
        at++;
    }
    return true;
}

static arcp__sandbox_note judge_ipv4(arcp_span text)
{
    unsigned char address[4];
    if (!read_ipv4(text, address) || address[0] >> 4 == 0xe) { /* multicast */
        return ARCP__SANDBOX_NOTE_HOST_NEVER;
    }
    const bool is_zero = arcp_span_equal_cstr(text, "0.0.0.0");
    const bool is_fake = address[0] == 198 && (address[1] == 18 || address[1] == 19);
    return is_zero || is_fake ? ARCP__SANDBOX_NOTE_HOST_PROXY : ARCP__SANDBOX_NOTE_NONE;
}

/* The groups of an IPv6 address as they are written. */
typedef struct groups {
    bool is_zero[GROUPS];
    size_t count;
    size_t gap; /* how many groups are before the two colons; GROUPS: there are none */
} groups;

/* False when a group has zeros in front, or is no number. */
static bool read_groups(arcp_span text, groups *out)
{
    size_t at = 0;
    *out = (groups){.gap = GROUPS};
    while (at < text.size) {
        if (text.size - at >= 2 && memcmp(text.data + at, "::", 2) == 0) {
            out->gap = out->count;
            at += 2;
            continue;
        }
        at += text.data[at] == ':' ? 1 : 0;
        const size_t begin = at;
        while (at < text.size && strchr("0123456789abcdef", text.data[at]) != NULL) {
            at++;
        }
        if (out->count == GROUPS || at == begin || (text.data[begin] == '0' && at - begin > 1)) {
            return false;
        }
        out->is_zero[out->count++] = text.data[begin] == '0';
    }
    return true;
}

/* Whether the two colons stand for the longest row of zeros, the first of several, and for two
 * groups at least (RFC 5952). */
static bool is_shortest(const groups *all)
{
    bool is_zero[GROUPS];
    const size_t hidden = GROUPS - all->count;
    size_t longest = 1;
    size_t gap = GROUPS;
    for (size_t i = 0; i < GROUPS; i++) {
        is_zero[i] = i < all->gap            ? all->is_zero[i]
                     : i < all->gap + hidden ? true
                                             : all->is_zero[i - hidden];
    }
    for (size_t i = 0; i < GROUPS; i++) {
        size_t row = 0;
        while (i + row < GROUPS && is_zero[i + row]) {
            row++;
        }
        if (row > longest) {
            longest = row;
            gap = i;
        }
    }
    return all->gap == gap && hidden == (gap == GROUPS ? 0 : longest);
}

static arcp__sandbox_note judge_ipv6(arcp_span text)
{
    groups all;
    if (!read_groups(text, &all) || !is_shortest(&all) ||
        arcp_span_starts_with(text, ARCP_SPAN_LITERAL("ff")) ||
        arcp_span_starts_with(text, ARCP_SPAN_LITERAL("::ffff:"))) {
        return ARCP__SANDBOX_NOTE_HOST_NEVER; /* another form, multicast, or an address of IPv4 */
    }
    return arcp_span_equal_cstr(text, "::") ? ARCP__SANDBOX_NOTE_HOST_PROXY
                                            : ARCP__SANDBOX_NOTE_NONE;
}

/* ---- names ---- */

/* Resolvers read a name as an address when its last label is a number. */
static bool is_number(arcp_span label)
{
    const bool is_hex = label.size >= 2 && label.data[0] == '0' && label.data[1] == 'x';
    const char *digits = is_hex ? "0123456789abcdef" : "0123456789";
    for (size_t i = is_hex ? 2 : 0; i < label.size; i++) {
        if (strchr(digits, label.data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static arcp__sandbox_note judge_name(arcp_span name)
{
    size_t begin = 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.data[i] != '.') {
            continue;
        }
        if (i == begin || i - begin > LABEL_MAX) {
            return ARCP__SANDBOX_NOTE_HOST_NEVER;
        }
        if (i < name.size) {
            begin = i + 1;
        }
    }
    if (name.size > NAME_MAX_BYTES) {
        return ARCP__SANDBOX_NOTE_HOST_NEVER;
    }
    return is_number(arcp_span_from(name, begin)) ? judge_ipv4(name) : ARCP__SANDBOX_NOTE_NONE;
}

arcp__sandbox_note arcp__sandbox_judge_host(const arcp__url_parts *parts)
{
    const arcp_span host = without_port(parts->host);
    bool has_star = false;
    if (parts->has_zero) {
        return ARCP__SANDBOX_NOTE_PORT_NEVER;
    }
    if (parts->is_spanning || host.size == 0) {
        return ARCP__SANDBOX_NOTE_NONE;
    }
    for (size_t i = 0; i < host.size; i++) {
        has_star = has_star || host.data[i] == '*';
        if (host.data[i] >= 'A' && host.data[i] <= 'Z') {
            return ARCP__SANDBOX_NOTE_HOST_CASE;
        }
    }
    if (arcp_span_equal_cstr(host, "arcp") || ends_with(host, ".arcp")) {
        return ARCP__SANDBOX_NOTE_HOST_RESERVED;
    }
    if (ends_with(host, ".")) {
        return ARCP__SANDBOX_NOTE_HOST_NEVER;
    }
    if (has_star) {
        return ARCP__SANDBOX_NOTE_NONE;
    }
    return host.data[0] == '[' ? judge_ipv6(arcp_span_make(host.data + 1, host.size - 2))
                               : judge_name(host);
}
