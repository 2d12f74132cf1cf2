/* Toolsets: pages of a server's list are added, then the tools get the names that clients see. */
#include "mcp/mcp_catalogue.h"

#include <assert.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/arena.h"
#include "base/hex.h"
#include "mcp/mcp_parts.h"

#define SUFFIX_BYTES 4 /* of a digest, at the end of a name */

typedef struct entry {
    arcp__mcp_tool tool;
    UT_hash_handle by_name, by_listed;
    bool is_listed;    /* in the table by listed names */
    bool needs_suffix; /* its plain name is too long, or is another tool's as well */
} entry;

struct arcp__mcp_toolset {
    arcp_span server;    /* in the arena */
    arcp__arena arena;   /* entries and texts */
    const entry **order; /* of the list */
    size_t count, capacity;
    entry *by_name, *by_listed;
    size_t bytes; /* of the members */
    size_t pages;
    size_t left_out;
    bool is_sealed;
};

/* ---- the object ---- */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

arcp_status arcp__mcp_toolset_new(arcp_span server, arcp__mcp_toolset **out, arcp_error *err)
{
    if (!arcp__mcp_name_is_valid(server)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the name of a server has 1 to 32 of a-z, 0-9 and -");
    }
    arcp__mcp_toolset *set = arcp__alloc(sizeof *set);
    if (set == NULL) {
        return no_memory(err);
    }
    set->server = arcp__arena_copy(&set->arena, server);
    if (set->server.data == NULL) {
        arcp__mcp_toolset_free(set);
        return no_memory(err);
    }
    *out = set;
    return ARCP_OK;
}

void arcp__mcp_toolset_free(arcp__mcp_toolset *set)
{
    if (set == NULL) {
        return;
    }
    HASH_CLEAR(by_name, set->by_name);
    HASH_CLEAR(by_listed, set->by_listed);
    arcp__free(set->order);
    arcp__arena_fini(&set->arena);
    arcp__free(set);
}

arcp_span arcp__mcp_toolset_server(const arcp__mcp_toolset *set)
{
    return set->server;
}

size_t arcp__mcp_toolset_count(const arcp__mcp_toolset *set)
{
    return set->count;
}

size_t arcp__mcp_toolset_left_out(const arcp__mcp_toolset *set)
{
    return set->left_out;
}

const arcp__mcp_tool *arcp__mcp_toolset_at(const arcp__mcp_toolset *set, size_t i)
{
    assert(i < set->count);
    return &set->order[i]->tool;
}

const arcp__mcp_tool *arcp__mcp_toolset_find(const arcp__mcp_toolset *set, arcp_span name)
{
    entry *found = NULL;
    assert(set->is_sealed);
    HASH_FIND(by_name, set->by_name, name.data, name.size, found);
    return found == NULL ? NULL : &found->tool;
}

const arcp__mcp_tool *arcp__mcp_toolset_find_listed(const arcp__mcp_toolset *set, arcp_span listed)
{
    entry *found = NULL;
    assert(set->is_sealed);
    HASH_FIND(by_listed, set->by_listed, listed.data, listed.size, found);
    return found == NULL ? NULL : &found->tool;
}

/* ---- adding ---- */

static bool digest_of(arcp_span bytes, uint8_t out[ARCP__MCP_DIGEST_SIZE])
{
    return EVP_Digest(bytes.data, bytes.size, out, NULL, EVP_sha256(), NULL) == 1;
}

/* The digest of the definition, and its members without the name. */
static arcp_status read_definition(arcp__mcp_toolset *set, const arcp_json *json,
                                   arcp_json_ref tool, entry *e)
{
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp_json_canonical(json, tool, &text, NULL);
    if (status == ARCP_OK && !digest_of(arcp_buf_span(&text), e->tool.digest)) {
        status = ARCP_E_NO_MEMORY;
    }
    arcp_buf_clear(&text);
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &text);
    arcp__mcp_write_tool(&writer, json, tool, false);
    if (status == ARCP_OK && !text.failed) {
        const arcp_span whole = arcp_buf_span(&text);
        e->tool.members =
            arcp__arena_copy(&set->arena, arcp_span_make(whole.data + 1, whole.size - 2));
    }
    arcp_buf_clear(&text);
    arcp__mcp_append_headers(json, tool, &text);
    if (text.size != 0) {
        e->tool.headers = arcp__arena_copy(&set->arena, arcp_buf_span(&text));
        text.failed = text.failed || e->tool.headers.data == NULL;
    }
    status = status == ARCP_OK && text.failed ? ARCP_E_NO_MEMORY : status;
    status = status == ARCP_OK && e->tool.members.data == NULL ? ARCP_E_NO_MEMORY : status;
    arcp_buf_fini(&text);
    return status;
}

/* SERVER, `middle`, NAME, in the arena. NULL: out of memory. */
static char *join(arcp__mcp_toolset *set, arcp_span middle, arcp_span name, arcp_span *out)
{
    const size_t size = set->server.size + middle.size + name.size;
    char *text = arcp__arena_take(&set->arena, size);
    if (text != NULL) {
        memcpy(text, set->server.data, set->server.size);
        memcpy(text + set->server.size, middle.data, middle.size);
        memcpy(text + set->server.size + middle.size, name.data, name.size);
        *out = arcp_span_make(text, size);
    }
    return text;
}

static arcp_status add_entry(arcp__mcp_toolset *set, entry *e)
{
    const entry **order =
        arcp__make_room(set->order, set->count, &set->capacity, sizeof(const entry *));
    if (order == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    set->order = order;
    HASH_ADD_KEYPTR(by_name, set->by_name, e->tool.name.data, e->tool.name.size, e);
    if (e->by_name.tbl == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    set->order[set->count++] = e;
    set->bytes += e->tool.members.size + e->tool.target.size;
    return ARCP_OK;
}

static arcp_status add_tool(arcp__mcp_toolset *set, const arcp_json *json, arcp_json_ref tool,
                            arcp_buf *room)
{
    entry *known = NULL;
    const arcp_span name =
        arcp_json_string(json, arcp_json_member(json, tool, ARCP_SPAN_LITERAL("name")), room);
    if (room->failed) {
        return ARCP_E_NO_MEMORY;
    }
    if (name.size != 0) {
        HASH_FIND(by_name, set->by_name, name.data, name.size, known);
    }
    if (name.size == 0 || name.size > ARCP__MCP_TOOL_NAME_MAX ||
        arcp__mcp_is_granted_method(name) || known != NULL || set->count == ARCP__MCP_TOOLS_MAX ||
        arcp_json_raw(json, tool).size > ARCP__MCP_TOOLS_BYTES - set->bytes) {
        set->left_out++;
        return ARCP_OK;
    }
    entry *e = arcp__arena_take(&set->arena, sizeof *e);
    if (e == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    *e = (entry){0};
    if (join(set, ARCP_SPAN_LITERAL("."), name, &e->tool.target) == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    e->tool.name = arcp_span_from(e->tool.target, set->server.size + 1);
    const arcp_status status = read_definition(set, json, tool, e);
    if (status != ARCP_OK) {
        return status;
    }
    if (e->tool.members.size + e->tool.target.size > ARCP__MCP_TOOLS_BYTES - set->bytes) {
        set->left_out++;
        return ARCP_OK;
    }
    return add_entry(set, e);
}

arcp_status arcp__mcp_toolset_add(arcp__mcp_toolset *set, const arcp_json *json,
                                  arcp_json_ref result, arcp_json_ref *cursor, arcp_error *err)
{
    const arcp_json_ref tools = arcp_json_member(json, result, ARCP_SPAN_LITERAL("tools"));
    const arcp_json_ref next = arcp_json_member(json, result, ARCP_SPAN_LITERAL("nextCursor"));
    const bool is_last = arcp_json_is_missing(json, next);
    arcp_buf room = arcp_buf_init();
    arcp_status status = ARCP_OK;
    assert(!set->is_sealed);
    if (!arcp_json_is(json, tools, ARCP_JSON_ARRAY) ||
        (!is_last && !arcp_json_is(json, next, ARCP_JSON_STRING))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the response of the server has no list of tools");
    }
    set->pages++;
    if (!is_last && set->pages == ARCP__MCP_LIST_PAGES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the list of the server has more than %d pages",
                              ARCP__MCP_LIST_PAGES_MAX);
    }
    for (arcp_json_ref tool = arcp_json_first(json, tools);
         tool != ARCP_JSON_ABSENT && status == ARCP_OK; tool = arcp_json_next(json, tools, tool)) {
        arcp_buf_clear(&room);
        status = add_tool(set, json, tool, &room);
    }
    arcp_buf_fini(&room);
    *cursor = is_last ? ARCP_JSON_ABSENT : next;
    return status == ARCP_OK ? ARCP_OK : no_memory(err);
}

/* ---- names ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* SERVER__TOOL with plain characters only, at whatever length. False: out of memory. */
static bool join_plainly(arcp__mcp_toolset *set, entry *e)
{
    char *text = join(set, ARCP_SPAN_LITERAL("__"), e->tool.name, &e->tool.listed);
    for (size_t i = 0; text != NULL && i < e->tool.listed.size; i++) {
        text[i] = is_plain(text[i]) ? text[i] : '_';
    }
    return text != NULL;
}

/* Cuts a plain name, and adds the digits of its target. */
static bool add_suffix(arcp__mcp_toolset *set, entry *e)
{
    uint8_t digest[ARCP__MCP_DIGEST_SIZE];
    const size_t suffix = 1 + 2 * (size_t)SUFFIX_BYTES;
    const arcp_span kept = arcp_span_first(e->tool.listed, ARCP__MCP_LISTED_NAME_MAX - suffix);
    char *text = arcp__arena_take(&set->arena, kept.size + suffix);
    if (text == NULL || !digest_of(e->tool.target, digest)) {
        return false;
    }
    memcpy(text, kept.data, kept.size);
    text[kept.size] = '_';
    arcp__hex_format(digest, SUFFIX_BYTES, text + kept.size + 1);
    e->tool.listed = arcp_span_make(text, kept.size + suffix);
    return true;
}

/* Adds the entry to the table by listed names; *other is the one that has its name. False: out of
 * memory. */
static bool list_entry(arcp__mcp_toolset *set, entry *e, entry **other)
{
    HASH_FIND(by_listed, set->by_listed, e->tool.listed.data, e->tool.listed.size, *other);
    if (*other != NULL) {
        return true;
    }
    HASH_ADD_KEYPTR(by_listed, set->by_listed, e->tool.listed.data, e->tool.listed.size, e);
    e->is_listed = e->by_listed.tbl != NULL;
    return e->is_listed;
}

/* Plain names of at most 48 bytes; tools that share one all get a suffix, so that their names do
 * not depend on the order of the list. */
static bool name_plainly(arcp__mcp_toolset *set)
{
    entry *e;
    entry *next;
    HASH_ITER (by_name, set->by_name, e, next) {
        entry *other = NULL;
        if (!join_plainly(set, e)) {
            return false;
        }
        e->needs_suffix = e->tool.listed.size > ARCP__MCP_LISTED_NAME_MAX;
        if (!e->needs_suffix && !list_entry(set, e, &other)) {
            return false;
        }
        if (other != NULL) {
            other->needs_suffix = true;
            e->needs_suffix = true;
        }
    }
    return true;
}

static bool name_with_suffix(arcp__mcp_toolset *set)
{
    entry *e;
    entry *next;
    HASH_ITER (by_name, set->by_name, e, next) {
        if (e->needs_suffix && e->is_listed) {
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
            HASH_DELETE(by_listed, set->by_listed, e);
            e->is_listed = false;
        }
    }
    HASH_ITER (by_name, set->by_name, e, next) {
        entry *other = NULL;
        if (e->needs_suffix && (!add_suffix(set, e) || !list_entry(set, e, &other))) {
            return false;
        }
    }
    return true;
}

arcp_status arcp__mcp_toolset_seal(arcp__mcp_toolset *set, arcp_error *err)
{
    entry *e;
    entry *next;
    size_t kept = 0;
    assert(!set->is_sealed);
    if (!name_plainly(set) || !name_with_suffix(set)) {
        return no_memory(err);
    }
    for (size_t i = 0; i < set->count; i++) {
        if (set->order[i]->is_listed) {
            set->order[kept++] = set->order[i];
        }
    }
    set->left_out += set->count - kept;
    set->count = kept;
    HASH_ITER (by_name, set->by_name, e, next) {
        if (!e->is_listed) {
            HASH_DELETE(by_name, set->by_name, e);
        }
    }
    set->is_sealed = true;
    return ARCP_OK;
}

bool arcp__mcp_called_read(arcp_span name, arcp__mcp_called *out)
{
    size_t size = 0;
    while (size < name.size && name.data[size] != '.' && name.data[size] != '_') {
        size++;
    }
    const arcp_span server = arcp_span_first(name, size);
    const arcp_span rest = arcp_span_from(name, size);
    const bool is_own = rest.size > 1 && rest.data[0] == '.';
    const bool is_listed = rest.size > 2 && rest.data[0] == '_' && rest.data[1] == '_';
    *out = (arcp__mcp_called){server, is_own ? arcp_span_from(rest, 1) : name, is_own};
    return (is_own || is_listed) && arcp__mcp_name_is_valid(server);
}

/* ---- the list for a client ---- */

static void write_listed(arcp_json_writer *writer, const arcp__mcp_tool *tool, arcp_span name)
{
    arcp_json_begin_object(writer);
    arcp__put_string(writer, "name", name);
    if (tool->members.size != 0) {
        arcp_buf_append_byte(writer->out, ',');
        arcp_buf_append(writer->out, tool->members);
    }
    arcp_json_end_object(writer);
}

static void write_page(arcp_json_writer *writer, arcp__mcp_page *page)
{
    size_t bytes = 0;
    for (size_t i = 0; i < page->set_count; i++) {
        const arcp__mcp_toolset *set = page->sets[i];
        for (size_t j = 0; j < set->count; j++) {
            const arcp__mcp_tool *tool = &set->order[j]->tool;
            const size_t size = tool->members.size + tool->target.size;
            if (!page->may_list(page->user, tool)) {
                page->hidden++;
            } else if (page->shown == ARCP__MCP_TOOLS_MAX || size > ARCP__MCP_TOOLS_BYTES - bytes) {
                page->left_out++;
            } else {
                write_listed(writer, tool, page->has_own_names ? tool->name : tool->listed);
                page->shown++;
                bytes += size;
            }
        }
    }
}

void arcp__mcp_put_page(arcp_buf *out, arcp_span id, bool is_modern, arcp__mcp_page *page)
{
    arcp_json_writer writer = arcp__mcp_begin(out, id);
    page->shown = 0;
    page->hidden = 0;
    page->left_out = 0;
    arcp__put_object(&writer, "result");
    arcp__put_array(&writer, "tools");
    write_page(&writer, page);
    arcp_json_end_array(&writer);
    arcp__mcp_put_freshness(&writer, is_modern);
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}
