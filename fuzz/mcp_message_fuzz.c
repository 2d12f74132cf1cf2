/* The filter between an MCP client and its server: what a server gets is one message per line, and
 * a call in it is one that the gate allows; a client is shown no other tools. Input: lines, of the
 * client when they begin with `c`, of the server when they begin with `s`. */
#include "lines.h"
#include "mcp/mcp.h"
#include "json/json.h"

static const arcp_json_limits limits = {200, 1000000, SIZE_MAX};

typedef struct state {
    arcp_authority *authority;
    arcp__mcp_output output;
    size_t allowed; /* calls */
} state;

static bool on_decided(void *user, const arcp_decision *decision)
{
    state *s = user;
    s->allowed += decision->allowed;
    return true;
}

static void on_listed(void *user, size_t shown, size_t hidden)
{
}

static void on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line)
{
    require(why != NULL && why[0] != '\0');
}

static arcp_authority *make_authority(void)
{
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    require(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"tool.call\":[\"t.a*\",\"t.*.x\"]}"),
                             arcp_span_make(NULL, 0), NULL, &lease, NULL) == ARCP_OK);
    require(arcp_authority_new(lease, NULL, &authority, NULL) == ARCP_OK);
    arcp_lease_unref(lease);
    return authority;
}

static bool is_granted(const state *s, const arcp_json *json, arcp_json_ref name)
{
    static arcp_target_scratch scratch;
    arcp_decision decision;
    arcp_buf target = arcp_buf_init();
    arcp_buf room = arcp_buf_init();
    arcp_buf_append_cstr(&target, "t.");
    arcp_buf_append(&target, arcp_json_string(json, name, &room));
    const bool is_allowed =
        arcp_authorize(s->authority, (arcp_time){0, 0}, ARCP_SPAN_LITERAL("tool.call"),
                       arcp_buf_span(&target), &scratch, &decision);
    arcp_buf_fini(&room);
    arcp_buf_fini(&target);
    return is_allowed;
}

/* A line for the server. Returns whether it is a call. */
static bool check_sent(const state *s, const arcp_json *json)
{
    const arcp_json_ref params = arcp_json_member(json, 0, ARCP_SPAN_LITERAL("params"));
    const arcp_json_ref method = arcp_json_member(json, 0, ARCP_SPAN_LITERAL("method"));
    if (method == ARCP_JSON_ABSENT ||
        !arcp_json_string_equals(json, method, ARCP_SPAN_LITERAL("tools/call"))) {
        return false;
    }
    require(is_granted(s, json, arcp_json_member(json, params, ARCP_SPAN_LITERAL("name"))));
    return true;
}

/* A line for the client, whose only request is tools/list. */
static void check_shown(const state *s, const arcp_json *json)
{
    const arcp_json_ref result = arcp_json_member(json, 0, ARCP_SPAN_LITERAL("result"));
    const arcp_json_ref id = arcp_json_member(json, 0, ARCP_SPAN_LITERAL("id"));
    const arcp_json_ref tools = arcp_json_member(json, result, ARCP_SPAN_LITERAL("tools"));
    if (!arcp_span_equal_cstr(arcp_json_raw(json, id), "\"list\"")) {
        return;
    }
    for (arcp_json_ref tool = arcp_json_first(json, tools); tool != ARCP_JSON_ABSENT;
         tool = arcp_json_next(json, tools, tool)) {
        require(is_granted(s, json, arcp_json_member(json, tool, ARCP_SPAN_LITERAL("name"))));
    }
}

/* Takes what was written; returns the number of calls in it. */
static size_t check_lines(const state *s, arcp_buf *lines, bool is_for_server)
{
    arcp_json *json = arcp_json_new();
    arcp_span rest = arcp_buf_span(lines);
    size_t calls = 0;
    require(json != NULL);
    require(rest.size == 0 || rest.data[rest.size - 1] == '\n');
    while (rest.size != 0) {
        const arcp_span line = take_line(&rest);
        require(memchr(line.data, '\r', line.size) == NULL);
        require(arcp_json_scan(json, line, &limits, NULL) == ARCP_OK);
        require(arcp_json_is(json, 0, ARCP_JSON_OBJECT));
        if (is_for_server) {
            calls += check_sent(s, json);
        } else {
            check_shown(s, json);
        }
    }
    arcp_buf_clear(lines);
    arcp_json_free(json);
    return calls;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\"}";
    static const arcp_time now = {0, 0};
    state s = {.authority = make_authority()};
    const arcp__mcp_filter_options options = {
        .authority = s.authority,
        .name = ARCP_SPAN_LITERAL("t"),
        .output = &s.output,
        .events = {on_decided, on_listed, on_dropped, &s},
    };
    arcp__mcp_filter *filter = NULL;
    arcp__mcp_lines lines = {0};
    arcp_span input = arcp_span_make((const char *)data, size);
    arcp_span line;
    require(arcp__mcp_filter_new(&options, &filter, NULL) == ARCP_OK);
    require(arcp__mcp_filter_take_client(filter, now, arcp_span_cstr(list), NULL) == ARCP_OK);
    while (arcp__mcp_lines_next(&lines, &input, &line) == ARCP__MCP_LINE) {
        const arcp_span message = arcp_span_from(line, 1);
        const size_t before = s.allowed;
        arcp__mcp_skim skim = {0};
        arcp__mcp_skim_feed(&skim, message);
        (void)arcp__mcp_skim_id(&skim);
        require((line.data[0] == 's'
                     ? arcp__mcp_filter_take_server(filter, now, message, NULL)
                     : arcp__mcp_filter_take_client(filter, now, message, NULL)) == ARCP_OK);
        require(check_lines(&s, &s.output.to_server, true) == s.allowed - before);
        (void)check_lines(&s, &s.output.to_client, false);
    }
    const size_t pending = arcp__mcp_filter_pending(filter);
    require(arcp__mcp_filter_end(filter, "it has ended", NULL) == ARCP_OK);
    require(arcp__mcp_filter_pending(filter) == 0 && pending <= ARCP__MCP_PENDING_MAX);
    (void)check_lines(&s, &s.output.to_client, false);
    arcp__mcp_lines_fini(&lines);
    arcp__mcp_filter_free(filter);
    arcp_buf_fini(&s.output.to_client);
    arcp_buf_fini(&s.output.to_server);
    arcp_authority_unref(s.authority);
    return 0;
}
