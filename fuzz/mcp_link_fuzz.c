/* The gateway as a client of an MCP server: each line that the server gets is one message, each
 * call ends once, and the tools of a list have different names that every provider of models takes.
 * Input: lines of the server. A line that is empty sends a call. */
#include "lines.h"
#include "mcp/mcp_link.h"
#include "json/json.h"

#define CALLS_MAX 64

typedef struct state {
    arcp_json *json;
    int open[CALLS_MAX]; /* 1: it has no response */
    size_t calls;
} state;

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool may_list(void *user, const arcp__mcp_tool *tool)
{
    return tool->name.size % 5 != 4;
}

static void check_tool(const arcp__mcp_toolset *set, const arcp__mcp_tool *tool)
{
    arcp__mcp_called called;
    require(tool->listed.size <= ARCP__MCP_LISTED_NAME_MAX);
    for (size_t i = 0; i < tool->listed.size; i++) {
        require(is_plain(tool->listed.data[i]));
    }
    require(arcp__mcp_toolset_find(set, tool->name) == tool);
    require(arcp__mcp_toolset_find_listed(set, tool->listed) == tool);
    require(arcp__mcp_called_read(tool->listed, &called) && !called.is_own);
    require(arcp_span_equal_cstr(called.server, "s"));
    require(arcp__mcp_called_read(tool->target, &called) && called.is_own);
    require(arcp_span_equal(called.name, tool->name));
}

static void on_listed(void *user, arcp__mcp_toolset *set, const char *why)
{
    state *s = user;
    const arcp__mcp_toolset *const sets[] = {set};
    arcp__mcp_page page = {.sets = sets, .set_count = 1, .may_list = may_list};
    arcp_buf out = arcp_buf_init();
    require((set == NULL) == (why != NULL));
    if (set == NULL) {
        return;
    }
    for (size_t i = 0; i < arcp__mcp_toolset_count(set); i++) {
        check_tool(set, arcp__mcp_toolset_at(set, i));
    }
    arcp__mcp_put_page(&out, ARCP_SPAN_LITERAL("1"), true, &page);
    require(arcp_json_scan(s->json, arcp_buf_span(&out), &ARCP__JSON_CHECKED_LIMITS, NULL) ==
            ARCP_OK);
    require(page.shown + page.hidden + page.left_out == arcp__mcp_toolset_count(set));
    arcp_buf_fini(&out);
    arcp__mcp_toolset_free(set);
}

static void on_progress(void *user, void *call, const arcp_json *json, arcp_json_ref params)
{
    require(*(int *)call == 1);
}

static void on_answered(void *user, void *call, const arcp_json *json, arcp_json_ref outcome,
                        bool is_error)
{
    require(*(int *)call == 1 && outcome != ARCP_JSON_ABSENT);
    *(int *)call = 0;
}

static void on_failed(void *user, void *call, const char *why)
{
    require(*(int *)call == 1 && why[0] != '\0');
    *(int *)call = 0;
}

static void on_broken(void *user, const char *why)
{
    require(why[0] != '\0');
}

static void on_dropped(void *user, const char *why, arcp_span line)
{
    require(why[0] != '\0');
}

static void check_out(const state *s, arcp_buf *out)
{
    arcp_span rest = arcp_buf_span(out);
    require(rest.size == 0 || rest.data[rest.size - 1] == '\n');
    while (rest.size != 0) {
        require(arcp_json_scan(s->json, take_line(&rest), &ARCP__JSON_CHECKED_LIMITS, NULL) ==
                ARCP_OK);
        require(arcp_json_is(s->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT));
    }
    arcp_buf_clear(out);
}

static void send_call(arcp__mcp_link *link, state *s)
{
    uint64_t id = 0;
    if (s->calls == CALLS_MAX || arcp__mcp_link_state_of(link) != ARCP__MCP_LINK_READY) {
        return;
    }
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("t"),
                                      .wants_progress = s->calls % 2 == 0,
                                      .call = &s->open[s->calls]};
    s->open[s->calls++] = 1;
    require(arcp__mcp_link_send(link, &call, &id, NULL) == ARCP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    state s = {.json = arcp_json_new()};
    const arcp__mcp_link_events events = {on_listed, on_progress, on_answered, on_failed,
                                          on_broken, on_dropped,  &s};
    arcp__mcp_link *link = NULL;
    arcp_buf out = arcp_buf_init();
    arcp_span input = arcp_span_make((const char *)data, size);
    require(s.json != NULL);
    require(arcp__mcp_link_new(ARCP_SPAN_LITERAL("s"), &out, &events, &link, NULL) == ARCP_OK);
    while (input.size != 0) {
        const arcp_span line = take_line(&input);
        if (line.size == 0) {
            send_call(link, &s);
        } else {
            require(arcp__mcp_link_take(link, line, NULL) == ARCP_OK);
        }
        check_out(&s, &out);
    }
    arcp__mcp_link_end(link, "over");
    for (size_t i = 0; i < s.calls; i++) {
        require(s.open[i] == 0);
    }
    arcp__mcp_link_free(link);
    arcp_buf_fini(&out);
    arcp_json_free(s.json);
    return 0;
}
