/* Finds duplicate member names. Small objects, which nearly all are, cost one multiplication per
 * name: a filter of 64 bits shows that most names are new. Larger objects use a hash table under
 * the process's key, so that a peer cannot choose names that collide. */

#include "base/alloc.h"
#include "base/hash.h"
#include "json/json.h"
#include "json/json_parts.h"

/* Up to this size comparing all pairs, the worst case, is cheap enough. */
#define SMALL_MAX 16u

typedef struct name_slot {
    uint32_t hash;
    uint32_t node; /* 0: free; the name of a member is never node 0 */
} name_slot;

typedef struct name_table {
    name_slot *slots; /* owned; a power of two, at least twice the members */
    uint32_t capacity;
    arcp_buf scratch; /* an unescaped name */
} name_table;

static bool same_name(const arcp_json *json, uint32_t a, uint32_t b)
{
    const arcp__json_node *first = &json->nodes[a];
    const arcp__json_node *second = &json->nodes[b];
    if (((first->flags | second->flags) & ARCP__JSON_ESCAPED) == 0) {
        return first->size == second->size &&
               memcmp(json->text.data + first->start, json->text.data + second->start,
                      first->size) == 0;
    }
    return arcp__json_compare_strings(arcp_json_raw(json, a), arcp_json_raw(json, b)) == 0;
}

static arcp_status refuse_duplicate(const arcp_json *json, uint32_t name, arcp_error *err)
{
    const arcp_span raw = arcp_json_raw(json, name);
    const arcp_span shown = arcp_span_first(raw, 64);
    const size_t offset = json->nodes[name].start;
    return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset,
                             "JSON: the name %.*s%s occurs twice in one object, again at byte %zu",
                             (int)shown.size, shown.data, shown.size < raw.size ? "..." : "",
                             offset);
}

/* ---- few members ---- */

/* Mixes up to eight bytes of a name with its size; equal for equal names without escapes. */
static uint64_t fingerprint(const arcp_json *json, const arcp__json_node *name)
{
    uint64_t word = 0;
    const char *inside = json->text.data + name->start + 1;
    const size_t size = name->size - 2;
    if (size >= sizeof word) {
        memcpy(&word, inside, sizeof word);
    } else if (size >= 4) {
        uint32_t halves[2];
        memcpy(&halves[0], inside, 4);
        memcpy(&halves[1], inside + size - 4, 4);
        word = (uint64_t)halves[0] << 32 | halves[1];
    } else {
        for (size_t i = 0; i < size; i++) {
            word = word << 8 | (unsigned char)inside[i];
        }
    }
    return word ^ size * UINT64_C(0xff51afd7ed558ccd);
}

static arcp_status check_small(const arcp_json *json, const uint32_t *names, uint32_t count,
                               bool any_escaped, arcp_error *err)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t mixed =
            fingerprint(json, &json->nodes[names[i]]) * UINT64_C(0x9e3779b97f4a7c15);
        uint64_t bit = UINT64_C(1) << (mixed >> 58);
        if ((seen & bit) != 0 || any_escaped) {
            for (uint32_t other = 0; other < i; other++) {
                if (same_name(json, names[other], names[i])) {
                    return refuse_duplicate(json, names[i], err);
                }
            }
        }
        seen |= bit;
    }
    return ARCP_OK;
}

/* ---- many members ---- */

static arcp_status check_large(arcp_json *json, uint32_t object, uint32_t members, arcp_error *err)
{
    name_table *table = json->workspace;
    uint64_t capacity = 64;
    while (capacity < (uint64_t)members * 2) {
        capacity *= 2;
    }
    if (table == NULL) {
        table = json->workspace = arcp__alloc(sizeof *table);
    }
    if (table != NULL && table->capacity < capacity && capacity <= UINT32_MAX) {
        arcp__free(table->slots);
        table->slots = arcp__alloc_array((size_t)capacity, sizeof *table->slots);
        table->capacity = table->slots == NULL ? 0 : (uint32_t)capacity;
    } else if (table != NULL && table->capacity >= capacity) {
        memset(table->slots, 0, (size_t)capacity * sizeof *table->slots);
    }
    if (table == NULL || table->capacity < capacity) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const uint32_t mask = (uint32_t)capacity - 1;
    for (uint32_t name = object + 1; name < json->count; name = json->nodes[name + 1].next) {
        arcp_buf_clear(&table->scratch);
        const arcp_span text = arcp_json_string(json, name, &table->scratch);
        if (table->scratch.failed) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        const uint32_t hash = (uint32_t)arcp__hash_bytes(text.data, text.size);
        uint32_t slot = hash & mask;
        for (; table->slots[slot].node != 0; slot = (slot + 1) & mask) {
            if (table->slots[slot].hash == hash && same_name(json, table->slots[slot].node, name)) {
                return refuse_duplicate(json, name, err);
            }
        }
        table->slots[slot] = (name_slot){hash, name};
    }
    return ARCP_OK;
}

arcp_status arcp__json_check_names(arcp_json *json, arcp_json_ref object, uint32_t members_max,
                                   arcp_error *err)
{
    uint32_t names[SMALL_MAX];
    uint32_t members = 0;
    uint8_t flags = 0;
    for (uint32_t name = object + 1; name < json->count; name = json->nodes[name + 1].next) {
        if (members == members_max) {
            const size_t offset = json->nodes[name].start;
            return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, offset,
                                     "JSON: an object has more than %u members, at byte %zu",
                                     members_max, offset);
        }
        if (members < SMALL_MAX) {
            names[members] = name;
            flags |= json->nodes[name].flags;
        }
        members++;
    }
    if (members > SMALL_MAX) {
        return check_large(json, object, members, err);
    }
    return check_small(json, names, members, (flags & ARCP__JSON_ESCAPED) != 0, err);
}

void arcp__json_names_fini(arcp_json *json)
{
    name_table *table = json->workspace;
    if (table != NULL) {
        arcp_buf_fini(&table->scratch);
        arcp__free(table->slots);
        arcp__free(table);
        json->workspace = NULL;
    }
}
