#include "egress/egress_names.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/hex.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/lease.h"
#include "core/url_pattern.h"
#include "egress/egress.h"

enum { LABEL_MAX = 63 };

/* 198.18.0.2 and 198.18.0.3. */
#define FIRST_GATEWAY UINT32_C(0xc6120002)
static const char *const gateway_names[ARCP__EGRESS_GATEWAYS] = {"llm.arcp", "mcp.arcp"};

/* 198.18.0.16, the address of the first name; the next name has the next one. */
#define FIRST_ADDRESS UINT32_C(0xc6120010)

typedef struct entry {
    UT_hash_handle hh;
    size_t size;
    uint32_t address;
    char name[ARCP__EGRESS_NAME_MAX + 1];
} entry;

/* Whether any canonical URL matches a pattern: found out when the pattern is first reached. */
typedef enum fate { FATE_UNKNOWN, FATE_ALIVE, FATE_DEAD } fate;

typedef struct line {
    arcp_span text; /* the lease's */
    arcp__url_parts parts;
    fate fate;
} line;

struct arcp__egress_names {
    arcp_lease *lease;
    entry *by_name;
    entry **by_address; /* `count` of them, from FIRST_ADDRESS on */
    size_t count, capacity;
    unsigned gateways; /* a bit for each that there is */
    size_t line_count;
    line lines[]; /* of net.fetch */
};

arcp_status arcp__egress_names_new(const arcp_lease *lease, arcp__egress_names **out,
                                   arcp_error *err)
{
    const arcp__lease_capability *granted =
        arcp__lease_find(lease, ARCP__CAPABILITY_NET_FETCH, ARCP_SPAN_LITERAL("net.fetch"));
    const size_t count = granted == NULL ? 0 : granted->count;
    arcp__egress_names *names = arcp__alloc(sizeof *names + count * sizeof *names->lines);
    if (names == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the names of a sandbox");
    }
    names->lease = arcp_lease_ref(lease);
    names->line_count = count;
    for (size_t i = 0; i < count; i++) {
        names->lines[i].text = granted->patterns[i];
        names->lines[i].parts = arcp__url_take_apart(granted->patterns[i]);
    }
    *out = names;
    return ARCP_OK;
}

void arcp__egress_names_free(arcp__egress_names *names)
{
    if (names == NULL) {
        return;
    }
    HASH_CLEAR(hh, names->by_name);
    for (size_t i = 0; i < names->count; i++) {
        arcp__free(names->by_address[i]);
    }
    arcp__free(names->by_address);
    arcp_lease_unref(names->lease);
    arcp__free(names);
}

/* Whether a label is a number as resolvers that follow inet_aton read it. */
static bool is_number(const char *label, size_t size)
{
    const bool is_hex = size >= 2 && label[0] == '0' && label[1] == 'x';
    for (size_t i = is_hex ? 2 : 0; i < size; i++) {
        if (is_hex ? arcp__hex_value((unsigned char)label[i]) < 0
                   : label[i] < '0' || label[i] > '9') {
            return false;
        }
    }
    return true;
}

/* The canonical byte of a host name; 0: it is none. */
static char name_byte(char byte)
{
    if (byte >= 'A' && byte <= 'Z') {
        return (char)(byte | 0x20);
    }
    const bool is_valid = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                          byte == '-' || byte == '_' || byte == '.';
    return is_valid ? byte : '\0';
}

bool arcp__egress_name_canonical(arcp_span name, char out[ARCP__EGRESS_NAME_MAX + 1])
{
    out[0] = '\0';
    const bool has_dot = name.size > 0 && name.data[name.size - 1] == '.';
    const size_t size = name.size - (has_dot ? 1 : 0);
    if (size == 0 || size > ARCP__EGRESS_NAME_MAX) {
        return false;
    }
    char text[ARCP__EGRESS_NAME_MAX + 1];
    size_t label = 0; /* where it begins */
    for (size_t i = 0; i <= size; i++) {
        text[i] = i < size ? name_byte(name.data[i]) : '.';
        if (text[i] == '\0' || i - label > LABEL_MAX || (text[i] == '.' && i == label)) {
            return false;
        }
        if (text[i] == '.' && i < size) {
            label = i + 1;
        }
    }
    if (is_number(text + label, size - label)) {
        return false;
    }
    memcpy(out, text, size);
    out[size] = '\0';
    return true;
}

bool arcp__egress_name_is_reserved(arcp_span name)
{
    return arcp_span_equal_cstr(name, "arcp") ||
           arcp_span_ends_with(name, ARCP_SPAN_LITERAL(".arcp"));
}

void arcp__egress_names_set_gateways(arcp__egress_names *names, unsigned gateways)
{
    names->gateways = gateways;
}

unsigned arcp__egress_names_gateway(const arcp__egress_names *names, arcp_span name)
{
    for (unsigned i = 0; i < ARCP__EGRESS_GATEWAYS; i++) {
        if ((names->gateways >> i & 1) != 0 && arcp_span_equal_cstr(name, gateway_names[i])) {
            return i;
        }
    }
    return ARCP__EGRESS_GATEWAYS;
}

/* False when memory runs out, too. */
static bool is_alive(line *pattern)
{
    bool is_dead = true;
    if (pattern->fate == FATE_UNKNOWN &&
        arcp__glob_is_dead(ARCP__CAPABILITY_NET_FETCH, pattern->text, NULL, &is_dead, NULL) ==
            ARCP_OK) {
        pattern->fate = is_dead ? FATE_DEAD : FATE_ALIVE;
    }
    return pattern->fate == FATE_ALIVE;
}

bool arcp__egress_names_may_reach(arcp__egress_names *names, arcp_span name)
{
    if (arcp__egress_name_is_reserved(name)) {
        return arcp__egress_names_gateway(names, name) != ARCP__EGRESS_GATEWAYS;
    }
    for (size_t i = 0; i < names->line_count; i++) {
        line *pattern = &names->lines[i];
        if (pattern->fate != FATE_DEAD && arcp__url_may_have_host(&pattern->parts, name) &&
            arcp__glob_reaches_host(pattern->text, name) && is_alive(pattern)) {
            return true;
        }
    }
    return false;
}

/* NULL when memory runs out. */
static entry *add(arcp__egress_names *names, arcp_span name)
{
    entry **grown = arcp__make_room(names->by_address, names->count, &names->capacity,
                                    sizeof *names->by_address);
    entry *added = arcp__alloc(sizeof *added);
    names->by_address = grown == NULL ? names->by_address : grown;
    if (grown == NULL || added == NULL) {
        arcp__free(added);
        return NULL;
    }
    added->size = name.size;
    memcpy(added->name, name.data, name.size);
    added->address = FIRST_ADDRESS + (uint32_t)names->count;
    HASH_ADD_KEYPTR(hh, names->by_name, added->name, added->size, added);
    if (!ARCP__HASH_ADDED(added)) {
        arcp__free(added);
        return NULL;
    }
    names->by_address[names->count++] = added;
    return added;
}

uint32_t arcp__egress_names_address(arcp__egress_names *names, arcp_span name)
{
    if (name.size == 0 || name.size > ARCP__EGRESS_NAME_MAX) {
        return 0;
    }
    const unsigned gateway = arcp__egress_names_gateway(names, name);
    if (gateway != ARCP__EGRESS_GATEWAYS) {
        return FIRST_GATEWAY + gateway;
    }
    entry *found = NULL;
    HASH_FIND(hh, names->by_name, name.data, name.size, found);
    if (found == NULL && names->count < ARCP__EGRESS_NAMES_MAX &&
        arcp__egress_names_may_reach(names, name)) {
        found = add(names, name);
    }
    return found == NULL ? 0 : found->address;
}

arcp_span arcp__egress_names_find(const arcp__egress_names *names, uint32_t address)
{
    for (unsigned i = 0; i < ARCP__EGRESS_GATEWAYS; i++) {
        if (address == FIRST_GATEWAY + i && (names->gateways >> i & 1) != 0) {
            return arcp_span_cstr(gateway_names[i]);
        }
    }
    if (address < FIRST_ADDRESS || address - FIRST_ADDRESS >= names->count) {
        return arcp_span_make(NULL, 0);
    }
    const entry *found = names->by_address[address - FIRST_ADDRESS];
    return arcp_span_make(found->name, found->size);
}
