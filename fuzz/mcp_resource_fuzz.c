/* Resources and prompts of MCP servers. A URI that is allowed names a file or a URL that the lease
 * grants, however it is written; asked again, what is sent is allowed and stays the same. A list
 * has the items that may be listed, each under a name that leads back to its server.
 * Input: a line with the list, `resources`, `templates` or `prompts`, and `+` behind it for a
 * merged one; a URI, which is also a name; then the pages of a server, a line each. */
#include "lines.h"
#include "mcp/mcp.h"
#include "mcp/mcp_resource.h"
#include "json/json.h"

#define ROOT "/srv/docs/"
#define SITE "https://docs.example.com/"

static arcp_authority *make_authority(void)
{
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    require(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"fs.read\":[\"" ROOT "**\"],"
                                               "\"net.fetch\":[\"" SITE "**\"]}"),
                             arcp_span_make(NULL, 0), NULL, &lease, NULL) == ARCP_OK);
    require(arcp_authority_new(lease, NULL, &authority, NULL) == ARCP_OK);
    arcp_lease_unref(lease);
    return authority;
}

/* ---- URIs ---- */

/* What a program opens for an escaped path: each %XX is a byte. */
static arcp_buf opened(arcp_span path)
{
    arcp_buf out = arcp_buf_init();
    for (size_t i = 0; i < path.size; i++) {
        char digits[3] = {0};
        if (path.data[i] == '%' && i + 2 < path.size) {
            memcpy(digits, path.data + i + 1, 2);
            arcp_buf_append_byte(&out, (char)strtoul(digits, NULL, 16));
            i += 2;
        } else {
            arcp_buf_append_byte(&out, path.data[i]);
        }
    }
    arcp_buf_append_byte(&out, '\0');
    return out;
}

/* The path lies below ROOT, and no part of it leads elsewhere. */
static void check_file(arcp_span sent)
{
    const char *slash = memmem(sent.data, sent.size, "//", 2);
    require(slash != NULL);
    arcp_span path = arcp_span_from(sent, (size_t)(slash + 2 - sent.data));
    require(path.size != 0);
    if (path.data[0] != '/') {
        require(arcp_span_starts_with(path, ARCP_SPAN_LITERAL("localhost/")));
        path = arcp_span_from(path, 9);
    }
    arcp_buf file = opened(path);
    require(strlen(file.data) == file.size - 1);
    require(strncmp(file.data, ROOT, sizeof ROOT - 1) == 0);
    require(strstr(file.data, "//") == NULL && strstr(file.data, "/./") == NULL &&
            strstr(file.data, "/../") == NULL);
    for (const char *const *end = (const char *const[]){"/.", "/..", NULL}; *end != NULL; end++) {
        require(!arcp_span_ends_with(arcp_span_cstr(file.data), arcp_span_cstr(*end)));
    }
    arcp_buf_fini(&file);
}

static bool begins(arcp_span uri, const char *scheme)
{
    return uri.size >= strlen(scheme) && strncasecmp(uri.data, scheme, strlen(scheme)) == 0;
}

static void check_uri(const arcp_authority *authority, arcp_span uri)
{
    static arcp__mcp_uri_question question, again;
    const bool is_file = begins(uri, "file:");
    const bool is_url = begins(uri, "http:") || begins(uri, "https:");
    question = (arcp__mcp_uri_question){.authority = authority, .uri = uri};
    require(arcp__mcp_uri_ask(&question) == ARCP_OK);
    require(arcp__mcp_uri_is_asked(uri) == (is_file || is_url));
    if (!question.is_allowed) {
        require(question.fault != NULL || question.decision.code != ARCP_OK);
    } else {
        require(question.fault == NULL && question.sent.size != 0);
        if (is_file) {
            check_file(question.sent);
        }
        require(!is_url || arcp_span_starts_with(question.sent, ARCP_SPAN_LITERAL(SITE)));
        require(is_url || arcp_span_equal(question.sent, uri));
        again = (arcp__mcp_uri_question){.authority = authority, .uri = question.sent};
        require(arcp__mcp_uri_ask(&again) == ARCP_OK && again.is_allowed);
        require(arcp_span_equal(again.sent, question.sent));
        arcp__mcp_uri_question_fini(&again);
    }
    arcp__mcp_uri_question_fini(&question);
}

/* ---- names ---- */

static void require_joined(arcp_span whole, const char *before, arcp_span server,
                           const char *between, arcp_span own)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, before);
    arcp_buf_append(&text, server);
    arcp_buf_append_cstr(&text, between);
    arcp_buf_append(&text, own);
    require(arcp_span_equal(arcp_buf_span(&text), whole));
    arcp_buf_fini(&text);
}

static void check_name(arcp_span name)
{
    arcp_span server, own;
    if (arcp__mcp_uri_split(name, &server, &own)) {
        require(arcp__mcp_name_is_valid(server));
        require_joined(name, "arcp+", server, "+", own);
    }
    if (arcp__mcp_prompt_split(name, &server, &own)) {
        require(arcp__mcp_name_is_valid(server) && own.size != 0);
        require(name.size > server.size);
        const bool has_dot = name.data[server.size] == '.';
        require_joined(name, "", server, has_dot ? "." : "__", own);
    }
}

/* ---- lists ---- */

static bool may_list(void *user, arcp_span uri)
{
    return uri.size % 5 != 4;
}

static void check_item(const arcp__mcp_gather *gather, const arcp_json *json, arcp_json_ref item)
{
    const bool is_prompt = gather->method == ARCP__MCP_METHOD_PROMPTS_LIST;
    const char *key = is_prompt                                           ? "name"
                      : gather->method == ARCP__MCP_METHOD_RESOURCES_LIST ? "uri"
                                                                          : "uriTemplate";
    arcp_buf room = arcp_buf_init();
    const arcp_span name =
        arcp_json_string(json, arcp_json_member(json, item, arcp_span_cstr(key)), &room);
    arcp_span server = arcp_span_make(NULL, 0);
    arcp_span own = name;
    require(name.size != 0);
    if (gather->is_merged) {
        require((is_prompt ? arcp__mcp_prompt_split : arcp__mcp_uri_split)(name, &server, &own));
        require(arcp_span_equal_cstr(server, "s"));
    }
    require(gather->method != ARCP__MCP_METHOD_RESOURCES_LIST || may_list(NULL, own));
    arcp_buf_fini(&room);
}

static void check_list(const arcp__mcp_gather *gather, const char *list)
{
    arcp_buf out = arcp_buf_init();
    arcp_json *json = arcp_json_new();
    size_t count = 0;
    arcp__mcp_put_gathered(&out, ARCP_SPAN_LITERAL("1"), gather->count % 2 == 0, gather);
    require(json != NULL && !out.failed);
    require(arcp_json_scan(json, arcp_buf_span(&out), &ARCP__JSON_CHECKED_LIMITS, NULL) == ARCP_OK);
    require(memchr(out.data, '\n', out.size - 1) == NULL);
    const arcp_json_ref result =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("result"));
    const arcp_json_ref items = arcp_json_member(json, result, arcp_span_cstr(list));
    for (arcp_json_ref item = arcp_json_first(json, items); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, items, item)) {
        check_item(gather, json, item);
        count++;
    }
    require(count == gather->count);
    arcp_json_free(json);
    arcp_buf_fini(&out);
}

static void gather_pages(arcp__mcp_gather *gather, arcp_span pages)
{
    bool is_over = false;
    while (pages.size != 0 && !is_over) {
        arcp_json *json = arcp_json_new();
        arcp_json_ref cursor = ARCP_JSON_ABSENT;
        require(json != NULL);
        if (arcp_json_scan(json, take_line(&pages), &ARCP__JSON_CHECKED_LIMITS, NULL) == ARCP_OK) {
            const arcp_status status = arcp__mcp_gather_add(gather, ARCP_SPAN_LITERAL("s"), json,
                                                            ARCP_JSON_ROOT, &cursor, NULL);
            require(status == ARCP_OK || status == ARCP_E_INVALID_REQUEST);
            is_over = status != ARCP_OK || cursor == ARCP_JSON_ABSENT;
        }
        arcp_json_free(json);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_span input = arcp_span_make((const char *)data, size);
    const arcp_span list = take_line(&input);
    const arcp_span name = take_line(&input);
    const char first = list.size == 0 ? 'r' : list.data[0];
    arcp__mcp_gather gather = {.method = first == 'p'   ? ARCP__MCP_METHOD_PROMPTS_LIST
                                         : first == 't' ? ARCP__MCP_METHOD_TEMPLATES_LIST
                                                        : ARCP__MCP_METHOD_RESOURCES_LIST,
                               .is_merged = arcp_span_ends_with(list, ARCP_SPAN_LITERAL("+")),
                               .may_list = may_list};
    arcp_authority *authority = make_authority();
    check_uri(authority, name);
    check_name(name);
    gather_pages(&gather, input);
    check_list(&gather, first == 'p'   ? "prompts"
                        : first == 't' ? "resourceTemplates"
                                       : "resources");
    arcp__mcp_gather_fini(&gather);
    arcp_authority_unref(authority);
    return 0;
}
