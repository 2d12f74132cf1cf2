/* A client's POST to the gateway of tools: whatever is answered is one message, and a call in
 * protocol 2026-07-28 has the name that its headers have. Input: the headers MCP-Protocol-Version,
 * Mcp-Method and Mcp-Name, a line each (empty: absent), then the body. */
#include "lines.h"
#include "mcp/mcp_post.h"
#include "mcp/mcp_resource.h"
#include "json/json.h"

static arcp_span header(arcp_span *input)
{
    const arcp_span line = take_line(input);
    return line.size == 0 ? arcp_span_make(NULL, 0) : line;
}

static void check_answer(const arcp__mcp_post *post, const arcp_buf *answer)
{
    arcp_json *json = arcp_json_new();
    require(json != NULL);
    require(post->status == 200 || post->status == 202 || post->status == 400 ||
            post->status == 404);
    require((answer->size == 0) == (post->status == 202 || (post->kind != ARCP__MCP_POST_ANSWER &&
                                                            post->kind != ARCP__MCP_POST_CANCEL)));
    if (answer->size != 0) {
        require(arcp_json_scan(json, arcp_buf_span(answer), &ARCP__JSON_CHECKED_LIMITS, NULL) ==
                ARCP_OK);
        require(memchr(answer->data, '\n', answer->size - 1) == NULL);
    }
    arcp_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_span input = arcp_span_make((const char *)data, size);
    arcp__mcp_headers headers = {.content_type = ARCP_SPAN_LITERAL("application/json")};
    headers.version = header(&input);
    headers.method = header(&input);
    headers.name = header(&input);
    headers.accept = headers.version;
    arcp__mcp_post post = {.offers = size % 8};
    arcp_buf answer = arcp_buf_init();
    require(arcp__mcp_post_read(&post, &headers, input, &answer) == ARCP_OK);
    check_answer(&post, &answer);
    if (post.kind == ARCP__MCP_POST_CALL) {
        require(post.tool.size != 0 && post.id.size != 0);
        require(post.arguments == ARCP_JSON_ABSENT ||
                arcp_json_is(&post.json, post.arguments, ARCP_JSON_OBJECT));
        require(!post.is_modern || arcp_span_equal(headers.name, post.tool) ||
                arcp_span_starts_with(headers.name, ARCP_SPAN_LITERAL("=?base64?")));
    }
    if (post.kind == ARCP__MCP_POST_FETCH) {
        arcp_buf params = arcp_buf_init();
        require(post.tool.size != 0 && (post.offers & post.wanted) != 0);
        arcp__mcp_put_fetch(&post, post.tool, &params);
        require(params.size != 0 && params.data[0] == '"');
        arcp_buf_fini(&params);
    }
    arcp__mcp_post_fini(&post);
    arcp_buf_fini(&answer);
    return 0;
}
