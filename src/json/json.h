/* The index of a scan as our own code sees it: in place, with accessors that are inlined. */
#ifndef ARCP_JSON_JSON_H
#define ARCP_JSON_JSON_H

#include <arcp/json.h>

/* One entry of the index. */
typedef struct arcp__json_node {
    uint32_t start; /* first byte of the value in the text */
    uint32_t size;  /* bytes of the value, quotes and brackets included */
    uint32_t next;  /* index of the node after this value and all inside it */
    uint8_t type;   /* arcp_json_type */
    uint8_t flags;  /* 1: a string with escapes */
    uint16_t reserved;
} arcp__json_node;

struct arcp_json {
    arcp_span text;
    arcp__json_node *nodes; /* owned; in an object a name node precedes each value node */
    uint32_t count;
    uint32_t capacity;
    bool has_space;  /* insignificant white space occurs in the text */
    void *workspace; /* owned; for finding duplicate names */
};

#define ARCP__JSON_INIT                                                                            \
    {                                                                                              \
        {NULL, 0}, NULL, 0, 0, false, NULL                                                         \
    }

/* For texts that were checked before, or made by us: the largest values that the settings
 * limits.json_depth and limits.json_members may have, because they may have been lowered since. */
#define ARCP__JSON_CHECKED_LIMITS ((arcp_json_limits){512, 1000000, SIZE_MAX})

/* Frees what the index owns; it is as initialised. */
void arcp__json_fini(arcp_json *json);

/* The public functions of the same names, for the compiler to inline; it takes the functions
 * themselves (json_access.c) where it does not. */
#ifndef ARCP__JSON_INLINE
#define ARCP__JSON_INLINE extern inline __attribute__((gnu_inline))
#endif

ARCP__JSON_INLINE arcp_json_type arcp_json_type_of(const arcp_json *json, arcp_json_ref ref)
{
    return ref == ARCP_JSON_ABSENT ? ARCP_JSON_NULL : (arcp_json_type)json->nodes[ref].type;
}

ARCP__JSON_INLINE bool arcp_json_is_missing(const arcp_json *json, arcp_json_ref ref)
{
    return ref == ARCP_JSON_ABSENT || json->nodes[ref].type == ARCP_JSON_NULL;
}

ARCP__JSON_INLINE bool arcp_json_is(const arcp_json *json, arcp_json_ref ref, arcp_json_type type)
{
    return ref != ARCP_JSON_ABSENT && json->nodes[ref].type == (uint8_t)type;
}

ARCP__JSON_INLINE arcp_span arcp_json_raw(const arcp_json *json, arcp_json_ref ref)
{
    if (ref == ARCP_JSON_ABSENT) {
        return (arcp_span){NULL, 0};
    }
    return (arcp_span){json->text.data + json->nodes[ref].start, json->nodes[ref].size};
}

#endif
