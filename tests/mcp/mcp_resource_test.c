/* Resources and prompts: names of merged lists, what the lease is asked of a URI, and lists. */
#include "mcp/mcp_fixture.h"

#include "mcp/mcp_resource.h"
#include "support/failing_alloc.h"

#define GRANTS                                                                                     \
    "{\"fs.read\":[\"/srv/docs/**\",\"/srv/A\"],\"net.fetch\":[\"https://docs.example.com/**\"]}"

/* ---- names ---- */

typedef struct name_row {
    const char *name;
    const char *given, *server, *own; /* server NULL: it names none */
    bool is_prompt;
} name_row;

static const name_row names[] = {
    {"a URI has its server before it", "arcp+docs+file:///a", "docs", "file:///a", false},
    {"a URI may have further signs", "arcp+docs+git+file:///a", "docs", "git+file:///a", false},
    {"a URI without a server", "file:///a", NULL, NULL, false},
    {"a URI whose server has no end", "arcp+docs", NULL, NULL, false},
    {"a URI whose server is empty", "arcp++file:///a", NULL, NULL, false},
    {"a URI whose server is no name", "arcp+Docs+file:///a", NULL, NULL, false},
    {"a prompt has its server before it", "docs__review", "docs", "review", true},
    {"a prompt may have further lines", "docs__a__b", "docs", "a__b", true},
    {"a prompt may be named with a dot", "docs.review", "docs", "review", true},
    {"a prompt without a server", "review", NULL, NULL, true},
    {"a prompt whose name is empty", "docs__", NULL, NULL, true},
};

static void check_name(void **state)
{
    const name_row *row = *state;
    arcp_span server = arcp_span_make(NULL, 0);
    arcp_span own = arcp_span_make(NULL, 0);
    const arcp_span given = arcp_span_cstr(row->given);
    const bool is_split = row->is_prompt ? arcp__mcp_prompt_split(given, &server, &own)
                                         : arcp__mcp_uri_split(given, &server, &own);
    assert_int_equal(is_split, row->server != NULL);
    if (is_split) {
        check_span(server, row->server);
        check_span(own, row->own);
    }
}

/* ---- URIs ---- */

typedef struct uri_row {
    const char *name;
    const char *uri;
    const char *sent; /* NULL: it is denied */
    bool is_fault;    /* by its form, not by the lease */
} uri_row;

static const uri_row uris[] = {
    {"a file that is granted", "file:///srv/docs/a", "file:///srv/docs/a", false},
    {"a file of this host", "file://localhost/srv/docs/a", "file://localhost/srv/docs/a", false},
    {"a file whose name needs an escape", "file:///srv/docs/a%20b", "file:///srv/docs/a%20b",
     false},
    {"a file that is not granted", "file:///srv/a", NULL, false},
    {"capitals are the same scheme", "FiLe:///srv/a", NULL, false},
    {"a file of another host", "file://other/srv/docs/a", NULL, true},
    {"a file without an authority", "file:/srv/docs/a", NULL, true},
    {"a file whose path is relative", "file://", NULL, true},
    {"a file URI that has nothing else", "file:", NULL, true},
    {"a path that leaves the grant", "file:///srv/docs/../a", NULL, false},
    {"a path with dots", "file:///srv/docs/b/../a", NULL, true},
    {"a path with two slashes", "file:///srv/docs//a", NULL, true},
    {"dots that are escaped", "file:///srv/docs/%2e%2E/a", NULL, true},
    {"a letter that is escaped names another file for some", "file:///srv/%41", NULL, true},
    {"a slash that is escaped", "file:///srv/docs%2fa", NULL, true},
    {"NUL", "file:///srv/docs/a%00", NULL, true},
    {"half an escape", "file:///srv/docs/a%2", NULL, true},
    {"an escape that is none", "file:///srv/docs/a%zz", NULL, true},
    {"a query", "file:///srv/docs/a?b", NULL, true},
    {"a fragment", "file:///srv/docs/a#b", NULL, true},
    {"a backslash", "file:///srv/docs/a\\b", NULL, true},
    {"a space", "file:///srv/docs/a b", NULL, true},
    {"a URL that is granted", "https://docs.example.com/a", "https://docs.example.com/a", false},
    {"a URL is sent as it was matched", "https://DOCS.example.com/a", "https://docs.example.com/a",
     false},
    {"a URL that is not granted", "https://intranet/a", NULL, false},
    {"a URL of another scheme", "http://docs.example.com/a", NULL, false},
    {"a scheme of the server's own", "demo://one", "demo://one", false},
    {"a text without a scheme", "/srv/docs/a", NULL, true},
    {"a text that begins with a space", " file:///srv/a", NULL, true},
    {"a scheme with a tab", "fi\tle:///srv/a", NULL, true},
    {"nothing", "", NULL, true},
};

static void check_uri(void **state)
{
    const uri_row *row = *state;
    arcp_authority *authority = mcp_authority(GRANTS, "");
    arcp__mcp_uri_question question = {
        .authority = authority, .now = mcp_begun, .uri = arcp_span_cstr(row->uri)};
    assert_int_equal(arcp__mcp_uri_ask(&question), ARCP_OK);
    assert_int_equal(question.is_allowed, row->sent != NULL);
    assert_int_equal(question.fault != NULL, row->is_fault);
    if (row->sent != NULL) {
        check_span(question.sent, row->sent);
    } else if (!row->is_fault) {
        assert_int_equal(question.decision.code, ARCP_E_PERMISSION_DENIED);
    }
    arcp__mcp_uri_question_fini(&question);
    arcp_authority_unref(authority);
}

static void a_uri_has_at_most_16_kib(void **state)
{
    arcp_authority *authority = mcp_authority(GRANTS, "");
    for (size_t over = 0; over < 2; over++) {
        arcp_buf uri = arcp_buf_init();
        arcp_buf_append_cstr(&uri, "demo:");
        while (uri.size < ARCP_TARGET_BYTES_MAX + over) {
            arcp_buf_append_byte(&uri, 'x');
        }
        arcp__mcp_uri_question question = {
            .authority = authority, .now = mcp_begun, .uri = arcp_buf_span(&uri)};
        assert_int_equal(arcp__mcp_uri_ask(&question), ARCP_OK);
        assert_int_equal(question.is_allowed, over == 0);
        arcp__mcp_uri_question_fini(&question);
        arcp_buf_fini(&uri);
    }
    arcp_authority_unref(authority);
}

/* ---- lists ---- */

static bool all(void *user, arcp_span uri)
{
    return true;
}

static arcp__mcp_gather begin_gather(arcp__mcp_method method)
{
    return (arcp__mcp_gather){.method = method, .is_merged = true, .may_list = all};
}

static arcp_status add_page(arcp__mcp_gather *gather, const char *page, arcp_json_ref *cursor)
{
    arcp_json json = ARCP__JSON_INIT;
    mcp_scan(&json, page);
    const arcp_status status = arcp__mcp_gather_add(gather, ARCP_SPAN_LITERAL("docs"), &json,
                                                    ARCP_JSON_ROOT, cursor, NULL);
    arcp__json_fini(&json);
    return status;
}

static void items_are_listed_with_their_server_and_all_their_members(void **state)
{
    arcp__mcp_gather gather = begin_gather(ARCP__MCP_METHOD_PROMPTS_LIST);
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    arcp_buf out = arcp_buf_init();
    assert_int_equal(
        add_page(&gather, "{\"prompts\":[{\"title\":\"T\",\"name\":\"a\"},5,{}]}", &cursor),
        ARCP_OK);
    assert_int_equal(cursor, ARCP_JSON_ABSENT);
    assert_int_equal(gather.left_out, 2);
    arcp__mcp_put_gathered(&out, ARCP_SPAN_LITERAL("1"), true, &gather);
    check_span(arcp_buf_span(&out),
               MESSAGE("\"id\":1,\"result\":{\"prompts\":[{\"name\":\"docs__a\",\"title\":\"T\"}],"
                       "\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"}") "\n");
    arcp_buf_fini(&out);
    arcp__mcp_gather_fini(&gather);
}

static void a_list_has_at_most_2048_items_and_64_pages(void **state)
{
    arcp__mcp_gather gather = begin_gather(ARCP__MCP_METHOD_RESOURCES_LIST);
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    arcp_buf page = arcp_buf_init();
    arcp_buf_append_cstr(&page, "{\"resources\":[");
    for (size_t i = 0; i < ARCP__MCP_TOOLS_MAX + 1; i++) {
        arcp_buf_append_format(&page, "%s{\"uri\":\"demo:%zu\"}", i == 0 ? "" : ",", i);
    }
    arcp_buf_append_cstr(&page, "],\"nextCursor\":\"x\"}");
    assert_int_equal(add_page(&gather, arcp_buf_cstr(&page), &cursor), ARCP_OK);
    assert_int_not_equal(cursor, ARCP_JSON_ABSENT);
    assert_int_equal(gather.count, ARCP__MCP_TOOLS_MAX);
    assert_int_equal(gather.left_out, 1);
    for (size_t i = 2; i < ARCP__MCP_LIST_PAGES_MAX; i++) {
        assert_int_equal(add_page(&gather, "{\"resources\":[],\"nextCursor\":\"x\"}", &cursor),
                         ARCP_OK);
    }
    assert_int_equal(add_page(&gather, "{\"resources\":[],\"nextCursor\":\"x\"}", &cursor),
                     ARCP_E_INVALID_REQUEST);
    arcp_buf_fini(&page);
    arcp__mcp_gather_fini(&gather);
}

static void responses_without_a_list_are_refused(void **state)
{
    static const char *const pages[] = {"{}", "5", "{\"resources\":{}}",
                                        "{\"resources\":[],\"nextCursor\":5}", "{\"prompts\":[]}"};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        arcp__mcp_gather gather = begin_gather(ARCP__MCP_METHOD_RESOURCES_LIST);
        arcp_json_ref cursor = ARCP_JSON_ABSENT;
        assert_int_equal(add_page(&gather, pages[i], &cursor), ARCP_E_INVALID_REQUEST);
        arcp__mcp_gather_fini(&gather);
    }
}

static arcp_status gather_once(void *user, arcp_error *err)
{
    arcp__mcp_gather gather = begin_gather(ARCP__MCP_METHOD_RESOURCES_LIST);
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    const arcp_span page = ARCP_SPAN_LITERAL("{\"resources\":[{\"uri\":\"d\\u0065mo:1\"}]}");
    arcp_status status = arcp_json_scan(&json, page, NULL, NULL);
    if (status == ARCP_OK) {
        status = arcp__mcp_gather_add(&gather, ARCP_SPAN_LITERAL("docs"), &json, ARCP_JSON_ROOT,
                                      &cursor, NULL);
    }
    arcp__json_fini(&json);
    arcp__mcp_gather_fini(&gather);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    assert_true(failing_alloc_sweep(gather_once, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_has_at_most_16_kib),
        cmocka_unit_test(items_are_listed_with_their_server_and_all_their_members),
        cmocka_unit_test(a_list_has_at_most_2048_items_and_64_pages),
        cmocka_unit_test(responses_without_a_list_are_refused),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    int failed = run_rows(names, sizeof names / sizeof names[0], sizeof names[0], check_name);
    failed += run_rows(uris, sizeof uris / sizeof uris[0], sizeof uris[0], check_uri);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
