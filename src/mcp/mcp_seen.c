#include <string.h>

#include "base/hash.h"
#include "mcp/mcp_catalogue.h"

typedef struct arcp__mcp_seen_tool {
    UT_hash_handle hh;
    uint8_t first[ARCP__MCP_DIGEST_SIZE];
    uint8_t last[ARCP__MCP_DIGEST_SIZE]; /* of the last comparison */
    char target[];
} seen_tool;

static arcp_status add(arcp__mcp_seen *seen, const arcp__mcp_tool *tool)
{
    seen_tool *known = arcp__alloc(sizeof *known + tool->target.size);
    if (known == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    memcpy(known->first, tool->digest, sizeof known->first);
    memcpy(known->last, tool->digest, sizeof known->last);
    memcpy(known->target, tool->target.data, tool->target.size);
    HASH_ADD_KEYPTR(hh, seen->tools, known->target, tool->target.size, known);
    if (!ARCP__HASH_ADDED(known)) {
        arcp__free(known);
        return ARCP_E_NO_MEMORY;
    }
    return ARCP_OK;
}

arcp_status arcp__mcp_seen_check(arcp__mcp_seen *seen, const arcp__mcp_tool *tool,
                                 arcp__mcp_change *out)
{
    seen_tool *known = NULL;
    HASH_FIND(hh, seen->tools, tool->target.data, tool->target.size, known);
    if (known == NULL) {
        const bool is_full = HASH_COUNT(seen->tools) >= ARCP__MCP_SEEN_MAX;
        *out = is_full ? ARCP__MCP_NOT_SEEN : ARCP__MCP_FIRST_SEEN;
        return is_full ? ARCP_OK : add(seen, tool);
    }
    const bool is_first = memcmp(known->first, tool->digest, sizeof known->first) == 0;
    const bool is_last = memcmp(known->last, tool->digest, sizeof known->last) == 0;
    memcpy(known->last, tool->digest, sizeof known->last);
    *out = is_first ? ARCP__MCP_UNCHANGED : is_last ? ARCP__MCP_CHANGED_AGAIN : ARCP__MCP_CHANGED;
    return ARCP_OK;
}

void arcp__mcp_seen_fini(arcp__mcp_seen *seen)
{
    seen_tool *known;
    seen_tool *next;
    HASH_ITER (hh, seen->tools, known, next) {
        HASH_DEL(seen->tools, known);
        arcp__free(known);
    }
}
