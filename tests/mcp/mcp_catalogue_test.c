/* The names of tools, lists of several servers, and definitions that change. */
#include "mcp/mcp_fixture.h"

#include "mcp/mcp_catalogue.h"
#include "support/failing_alloc.h"

#define LIST(tools)    "{\"tools\":[" tools "]}"
#define TOOL(name)     "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define MEMBERS        ",\"inputSchema\":{\"type\":\"object\"}}"
#define X10            "xxxxxxxxxx"
#define RESPONSE(rest) "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[" rest "\n"

/* A sealed set with the tools of one page. */
static arcp__mcp_toolset *set_of(const char *server, const char *page)
{
    arcp__mcp_toolset *set = NULL;
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_ref cursor = 0;
    arcp_error err = {0};
    mcp_scan(&json, page);
    check_ok(arcp__mcp_toolset_new(arcp_span_cstr(server), &set, &err), &err);
    check_ok(arcp__mcp_toolset_add(set, &json, ARCP_JSON_ROOT, &cursor, &err), &err);
    check_ok(arcp__mcp_toolset_seal(set, &err), &err);
    arcp__json_fini(&json);
    return set;
}

/* ---- names ---- */

typedef struct name_row {
    const char *name;
    const char *page;
    const char *listed; /* names, a space behind each */
} name_row;

static const name_row name_rows[] = {
    {"plain names are kept", LIST(TOOL("read_file") "," TOOL("A-1")), "web__read_file web__A-1 "},
    {"other characters become underscores", LIST(TOOL("a.b") "," TOOL("c/d e")),
     "web__a_b web__c_d_e "},
    {"each byte of a character becomes one", LIST(TOOL("\xc3\xa9")), "web____ "},
    {"48 bytes are kept", LIST(TOOL(X10 X10 X10 X10 "abc")), "web__" X10 X10 X10 X10 "abc "},
    {"49 bytes end with digits", LIST(TOOL(X10 X10 X10 X10 "abcd")),
     "web__" X10 X10 X10 "xxxx_cbf2d95b "},
    {"names that become equal all end with digits", LIST(TOOL("a.b") "," TOOL("a_b")),
     "web__a_b_4535d331 web__a_b_91377d29 "},
    {"names that become equal, in the other order", LIST(TOOL("a_b") "," TOOL("a.b")),
     "web__a_b_91377d29 web__a_b_4535d331 "},
    {"a tool whose name is repeated is left out", LIST(TOOL("a") "," TOOL("b") "," TOOL("a")),
     "web__a web__b "},
    {"tools without a name are left out",
     LIST(TOOL("") ",{\"title\":\"x\"},{\"name\":1},5," TOOL("a")), "web__a "},
    {"a name that only its spelling tells apart is repeated", LIST(TOOL("a") "," TOOL("\\u0061")),
     "web__a "},
    {"a tool that has the name of others is not lost",
     LIST(TOOL("a.b") "," TOOL("a_b_91377d29") "," TOOL("a_b")),
     "web__a_b_4535d331 web__a_b_91377d29 "},
};

static void check_names(void **state)
{
    const name_row *row = *state;
    arcp__mcp_toolset *set = set_of("web", row->page);
    arcp_buf listed = arcp_buf_init();
    for (size_t i = 0; i < arcp__mcp_toolset_count(set); i++) {
        const arcp__mcp_tool *tool = arcp__mcp_toolset_at(set, i);
        arcp_buf_append(&listed, tool->listed);
        arcp_buf_append_byte(&listed, ' ');
        assert_true(tool->listed.size <= ARCP__MCP_LISTED_NAME_MAX);
        assert_ptr_equal(arcp__mcp_toolset_find(set, tool->name), tool);
        assert_ptr_equal(arcp__mcp_toolset_find_listed(set, tool->listed), tool);
    }
    check_span(arcp_buf_span(&listed), row->listed);
    arcp_buf_fini(&listed);
    arcp__mcp_toolset_free(set);
}

static void a_tool_has_the_name_of_its_server_in_its_target(void **state)
{
    arcp__mcp_toolset *set = set_of("my-web", LIST(TOOL("a.b")));
    const arcp__mcp_tool *tool = arcp__mcp_toolset_at(set, 0);
    check_span(tool->name, "a.b");
    check_span(tool->target, "my-web.a.b");
    check_span(arcp__mcp_toolset_server(set), "my-web");
    assert_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("a_b")));
    assert_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("")));
    assert_null(arcp__mcp_toolset_find_listed(set, ARCP_SPAN_LITERAL("my-web__a.b")));
    arcp__mcp_toolset_free(set);
}

static void a_tool_that_stays_without_a_name_of_its_own_cannot_be_called(void **state)
{
    arcp__mcp_toolset *set =
        set_of("web", LIST(TOOL("a.b") "," TOOL("a_b_91377d29") "," TOOL("a_b")));
    assert_int_equal(arcp__mcp_toolset_left_out(set), 1);
    assert_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("a_b")));
    assert_non_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("a_b_91377d29")));
    arcp__mcp_toolset_free(set);
}

/* A lease that grants the resources of a server must not grant a tool that it adds later. */
static void a_tool_with_the_name_of_a_granted_method_is_left_out(void **state)
{
    arcp__mcp_toolset *set = set_of(
        "web", LIST(TOOL("resources/read") "," TOOL("prompts/get") "," TOOL(
                   "completion/complete") "," TOOL("tools/call") "," TOOL("resources.read")));
    assert_int_equal(arcp__mcp_toolset_left_out(set), 3);
    assert_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("resources/read")));
    assert_non_null(arcp__mcp_toolset_find(set, ARCP_SPAN_LITERAL("resources.read")));
    arcp__mcp_toolset_free(set);
}

static void names_of_servers_are_checked(void **state)
{
    arcp__mcp_toolset *set = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__mcp_toolset_new(ARCP_SPAN_LITERAL("my_web"), &set, &err), ARCP_E_USAGE);
    assert_int_equal(arcp__mcp_toolset_new(ARCP_SPAN_LITERAL(""), &set, &err), ARCP_E_USAGE);
    assert_null(set);
}

typedef struct called_row {
    const char *name; /* that is called */
    const char *server, *tool;
    bool is_own;
} called_row;

/* Without a server: it is refused. */
static const called_row called_rows[] = {
    {"web.read_file", "web", "read_file", true},
    {"web.a.b", "web", "a.b", true},
    {"web.__a", "web", "__a", true},
    {"web__read_file", "web", "web__read_file", false},
    {"web__a__b", "web", "web__a__b", false},
    {"web___a", "web", "web___a", false},
    {"my-web__a.b", "my-web", "my-web__a.b", false},
    {"web", NULL, NULL, false},
    {"web.", NULL, NULL, false},
    {"web__", NULL, NULL, false},
    {"web_a", NULL, NULL, false},
    {".a", NULL, NULL, false},
    {"__a", NULL, NULL, false},
    {"Web.a", NULL, NULL, false},
    {"we b.a", NULL, NULL, false},
    {"", NULL, NULL, false},
};

static void check_called(void **state)
{
    const called_row *row = *state;
    arcp__mcp_called called;
    const bool is_read = arcp__mcp_called_read(arcp_span_cstr(row->name), &called);
    assert_int_equal(is_read, row->server != NULL);
    if (is_read) {
        check_span(called.server, row->server);
        check_span(called.name, row->tool);
        assert_int_equal(called.is_own, row->is_own);
    }
}

/* ---- pages of a server ---- */

static void pages_are_added_until_there_is_no_cursor(void **state)
{
    arcp__mcp_toolset *set = NULL;
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_ref cursor = 0;
    arcp_error err = {0};
    check_ok(arcp__mcp_toolset_new(ARCP_SPAN_LITERAL("web"), &set, &err), &err);
    mcp_scan(&json, "{\"tools\":[" TOOL("a") "],\"nextCursor\":\"p2\"}");
    check_ok(arcp__mcp_toolset_add(set, &json, 0, &cursor, &err), &err);
    check_span(arcp_json_raw(&json, cursor), "\"p2\"");
    mcp_scan(&json, "{\"tools\":[" TOOL("b") "],\"nextCursor\":null}");
    check_ok(arcp__mcp_toolset_add(set, &json, 0, &cursor, &err), &err);
    assert_int_equal(cursor, ARCP_JSON_ABSENT);
    assert_int_equal(arcp__mcp_toolset_count(set), 2);
    arcp__mcp_toolset_free(set);
    arcp__json_fini(&json);
}

static void a_list_has_at_most_64_pages(void **state)
{
    arcp__mcp_toolset *set = NULL;
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_ref cursor = 0;
    arcp_error err = {0};
    check_ok(arcp__mcp_toolset_new(ARCP_SPAN_LITERAL("web"), &set, &err), &err);
    mcp_scan(&json, "{\"tools\":[],\"nextCursor\":\"more\"}");
    for (int i = 1; i < ARCP__MCP_LIST_PAGES_MAX; i++) {
        check_ok(arcp__mcp_toolset_add(set, &json, 0, &cursor, &err), &err);
    }
    assert_int_equal(arcp__mcp_toolset_add(set, &json, 0, &cursor, &err), ARCP_E_INVALID_REQUEST);
    arcp__mcp_toolset_free(set);
    arcp__json_fini(&json);
}

static void a_result_without_a_list_is_refused(void **state)
{
    static const char *const pages[] = {"{}", "[]", "{\"tools\":{}}",
                                        "{\"tools\":[],\"nextCursor\":5}"};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        arcp__mcp_toolset *set = NULL;
        arcp_json json = ARCP__JSON_INIT;
        arcp_json_ref cursor = 0;
        arcp_error err = {0};
        check_ok(arcp__mcp_toolset_new(ARCP_SPAN_LITERAL("web"), &set, &err), &err);
        mcp_scan(&json, pages[i]);
        assert_int_equal(arcp__mcp_toolset_add(set, &json, 0, &cursor, &err),
                         ARCP_E_INVALID_REQUEST);
        arcp__mcp_toolset_free(set);
        arcp__json_fini(&json);
    }
}

/* A page with `count` tools, whose descriptions have `bytes` bytes each. */
static arcp_buf page_of(size_t count, size_t bytes)
{
    arcp_buf page = arcp_buf_init();
    arcp_buf_append_cstr(&page, "{\"tools\":[");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_format(&page, "%s{\"name\":\"t%zu\",\"description\":\"", i == 0 ? "" : ",",
                               i);
        for (size_t j = 0; j < bytes; j++) {
            arcp_buf_append_byte(&page, 'x');
        }
        arcp_buf_append_cstr(&page, "\"}");
    }
    arcp_buf_append_cstr(&page, "]}");
    arcp_buf_append_byte(&page, '\0');
    assert_false(page.failed);
    return page;
}

static void check_kept(size_t count, size_t bytes, size_t kept)
{
    arcp_buf page = page_of(count, bytes);
    arcp__mcp_toolset *set = set_of("web", page.data);
    assert_int_equal(arcp__mcp_toolset_count(set), kept);
    assert_int_equal(arcp__mcp_toolset_left_out(set), count - kept);
    arcp__mcp_toolset_free(set);
    arcp_buf_fini(&page);
}

static void a_server_has_at_most_2048_tools(void **state)
{
    check_kept(2048, 1, 2048);
    check_kept(2049, 1, 2048);
}

static void a_server_has_at_most_4_mib_of_definitions(void **state)
{
    check_kept(3, 1398000, 3);
    check_kept(3, 1399000, 2);
}

static void a_name_has_at_most_256_bytes(void **state)
{
    arcp_buf page = arcp_buf_init();
    for (size_t size = 256; size <= 257; size++) {
        arcp_buf_clear(&page);
        arcp_buf_append_cstr(&page, "{\"tools\":[{\"name\":\"");
        for (size_t i = 0; i < size; i++) {
            arcp_buf_append_byte(&page, 'n');
        }
        arcp_buf_append_cstr(&page, "\"}]}");
        arcp_buf_append_byte(&page, '\0');
        arcp__mcp_toolset *set = set_of("web", page.data);
        assert_int_equal(arcp__mcp_toolset_count(set), size == 256);
        arcp__mcp_toolset_free(set);
    }
    arcp_buf_fini(&page);
}

/* ---- the list for a client ---- */

static bool may_list(void *user, const arcp__mcp_tool *tool)
{
    const char *hidden = user;
    return hidden == NULL || !arcp_span_equal_cstr(tool->target, hidden);
}

static void check_page(arcp__mcp_page *page, bool is_modern, const char *expected)
{
    arcp_buf out = arcp_buf_init();
    page->may_list = may_list;
    arcp__mcp_put_page(&out, ARCP_SPAN_LITERAL("7"), is_modern, page);
    check_span(arcp_buf_span(&out), expected);
    arcp_buf_fini(&out);
}

static void tools_of_all_servers_are_one_page(void **state)
{
    arcp__mcp_toolset *a = set_of("a", LIST(TOOL("x") "," TOOL("y")));
    arcp__mcp_toolset *b =
        set_of("b", LIST("{ \"title\" : \"X\", \"name\":\"x\"},{\"name\":\"n\"}"));
    const arcp__mcp_toolset *const sets[] = {a, b};
    arcp__mcp_page page = {.sets = sets, .set_count = 2, .user = (void *)"a.y"};
    check_page(&page, false,
               RESPONSE("{\"name\":\"a__x\"" MEMBERS
                        ",{\"name\":\"b__x\",\"title\":\"X\"},{\"name\":\"b__n\"}]}}"));
    assert_int_equal(page.shown, 3);
    assert_int_equal(page.hidden, 1);
    page.set_count = 1;
    page.has_own_names = true;
    check_page(&page, true,
               RESPONSE("{\"name\":\"x\"" MEMBERS
                        "],\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"}}"));
    page.set_count = 0;
    check_page(&page, false, RESPONSE("]}}"));
    arcp__mcp_toolset_free(a);
    arcp__mcp_toolset_free(b);
}

static void headers_of_schemas_are_not_listed(void **state)
{
    arcp__mcp_toolset *set =
        set_of("a", LIST("{\"name\":\"x\",\"inputSchema\":{\"properties\":{\"p\":{\"x-mcp-header\":"
                         "\"P\",\"type\":\"string\"},\"x-mcp-header\":{\"type\":\"string\"}}}}"));
    const arcp__mcp_toolset *const sets[] = {set};
    arcp__mcp_page page = {.sets = sets, .set_count = 1};
    check_page(&page, false,
               RESPONSE("{\"name\":\"a__x\",\"inputSchema\":{\"properties\":{\"p\":{\"type\":"
                        "\"string\"},\"x-mcp-header\":{\"type\":\"string\"}}}}]}}"));
    arcp__mcp_toolset_free(set);
}

/* Each server is within its limits, and all together are not. */
static void check_left_out(size_t count, size_t bytes, size_t shown)
{
    arcp_buf text = page_of(count, bytes);
    arcp__mcp_toolset *a = set_of("a", text.data);
    arcp__mcp_toolset *b = set_of("b", LIST(TOOL("x")));
    const arcp__mcp_toolset *const sets[] = {a, b};
    arcp__mcp_page page = {.sets = sets, .set_count = 2, .may_list = may_list};
    arcp_buf out = arcp_buf_init();
    arcp__mcp_put_page(&out, ARCP_SPAN_LITERAL("1"), false, &page);
    assert_false(out.failed);
    assert_int_equal(page.shown, shown);
    assert_int_equal(page.left_out, count + 1 - shown);
    arcp_buf_fini(&out);
    arcp_buf_fini(&text);
    arcp__mcp_toolset_free(a);
    arcp__mcp_toolset_free(b);
}

static void a_page_has_limits(void **state)
{
    check_left_out(2047, 1, 2048);
    check_left_out(2048, 1, 2048);
    check_left_out(1, 4194200, 2);
    check_left_out(1, 4194260, 1);
}

/* ---- definitions that change ---- */

static arcp__mcp_change look(arcp__mcp_seen *seen, const char *page)
{
    arcp__mcp_toolset *set = set_of("web", page);
    arcp__mcp_change change = ARCP__MCP_CHANGED;
    assert_int_equal(arcp__mcp_seen_check(seen, arcp__mcp_toolset_at(set, 0), &change), ARCP_OK);
    arcp__mcp_toolset_free(set);
    return change;
}

static void a_definition_is_compared_with_the_first_one(void **state)
{
    static const char first[] = LIST("{\"name\":\"a\",\"description\":\"reads\"}");
    static const char same[] = LIST("{ \"description\" : \"re\\u0061ds\", \"name\": \"a\" }");
    static const char other[] = LIST("{\"name\":\"a\",\"description\":\"reads, and sends\"}");
    arcp__mcp_seen seen = {0};
    assert_int_equal(look(&seen, first), ARCP__MCP_FIRST_SEEN);
    assert_int_equal(look(&seen, same), ARCP__MCP_UNCHANGED);
    assert_int_equal(look(&seen, other), ARCP__MCP_CHANGED);
    assert_int_equal(look(&seen, other), ARCP__MCP_CHANGED_AGAIN);
    assert_int_equal(look(&seen, first), ARCP__MCP_UNCHANGED);
    assert_int_equal(look(&seen, other), ARCP__MCP_CHANGED);
    assert_int_equal(look(&seen, LIST(TOOL("b"))), ARCP__MCP_FIRST_SEEN);
    arcp__mcp_seen_fini(&seen);
}

static void a_header_of_a_schema_is_a_part_of_the_definition(void **state)
{
    arcp__mcp_seen seen = {0};
    assert_int_equal(look(&seen, LIST(TOOL("a"))), ARCP__MCP_FIRST_SEEN);
    assert_int_equal(look(&seen, LIST("{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\","
                                      "\"x-mcp-header\":\"P\"}}")),
                     ARCP__MCP_CHANGED);
    arcp__mcp_seen_fini(&seen);
}

static void definitions_beyond_the_limit_are_not_remembered(void **state)
{
    arcp__mcp_seen seen = {0};
    arcp__mcp_change change = ARCP__MCP_CHANGED;
    arcp__mcp_tool tool = {0};
    char target[16];
    for (int i = 0; i <= ARCP__MCP_SEEN_MAX; i++) {
        tool.target = arcp_span_make(target, (size_t)snprintf(target, sizeof target, "w.%d", i));
        assert_int_equal(arcp__mcp_seen_check(&seen, &tool, &change), ARCP_OK);
        assert_int_equal(change,
                         i < ARCP__MCP_SEEN_MAX ? ARCP__MCP_FIRST_SEEN : ARCP__MCP_NOT_SEEN);
    }
    tool.target = ARCP_SPAN_LITERAL("w.0");
    assert_int_equal(arcp__mcp_seen_check(&seen, &tool, &change), ARCP_OK);
    assert_int_equal(change, ARCP__MCP_UNCHANGED);
    arcp__mcp_seen_fini(&seen);
}

/* ---- memory ---- */

static arcp_status whole_list(void *user, arcp_error *err)
{
    static const char page[] = LIST(TOOL("a.b") "," TOOL("a_b") "," TOOL(X10 X10 X10 X10 X10));
    arcp__mcp_toolset *set = NULL;
    arcp__mcp_seen seen = {0};
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_ref cursor = 0;
    arcp__mcp_change change;
    arcp_buf out = arcp_buf_init();
    arcp_status status = arcp_json_scan(&json, arcp_span_cstr(page), NULL, err);
    status =
        status == ARCP_OK ? arcp__mcp_toolset_new(ARCP_SPAN_LITERAL("web"), &set, err) : status;
    status = status == ARCP_OK ? arcp__mcp_toolset_add(set, &json, 0, &cursor, err) : status;
    status = status == ARCP_OK ? arcp__mcp_toolset_seal(set, err) : status;
    for (size_t i = 0; status == ARCP_OK && i < arcp__mcp_toolset_count(set); i++) {
        status = arcp__mcp_seen_check(&seen, arcp__mcp_toolset_at(set, i), &change);
    }
    if (status == ARCP_OK) {
        const arcp__mcp_toolset *const sets[] = {set};
        arcp__mcp_page list = {.sets = sets, .set_count = 1, .may_list = may_list};
        arcp__mcp_put_page(&out, ARCP_SPAN_LITERAL("1"), true, &list);
        status = out.failed ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    arcp_buf_fini(&out);
    arcp__mcp_seen_fini(&seen);
    arcp__mcp_toolset_free(set);
    arcp__json_fini(&json);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    assert_true(failing_alloc_sweep(whole_list, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_has_the_name_of_its_server_in_its_target),
        cmocka_unit_test(a_tool_that_stays_without_a_name_of_its_own_cannot_be_called),
        cmocka_unit_test(a_tool_with_the_name_of_a_granted_method_is_left_out),
        cmocka_unit_test(names_of_servers_are_checked),
        cmocka_unit_test(pages_are_added_until_there_is_no_cursor),
        cmocka_unit_test(a_list_has_at_most_64_pages),
        cmocka_unit_test(a_result_without_a_list_is_refused),
        cmocka_unit_test(a_server_has_at_most_2048_tools),
        cmocka_unit_test(a_server_has_at_most_4_mib_of_definitions),
        cmocka_unit_test(a_name_has_at_most_256_bytes),
        cmocka_unit_test(tools_of_all_servers_are_one_page),
        cmocka_unit_test(headers_of_schemas_are_not_listed),
        cmocka_unit_test(a_page_has_limits),
        cmocka_unit_test(a_definition_is_compared_with_the_first_one),
        cmocka_unit_test(a_header_of_a_schema_is_a_part_of_the_definition),
        cmocka_unit_test(definitions_beyond_the_limit_are_not_remembered),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    int failed = run_rows(name_rows, sizeof name_rows / sizeof name_rows[0], sizeof name_rows[0],
                          check_names);
    failed += run_rows(called_rows, sizeof called_rows / sizeof called_rows[0],
                       sizeof called_rows[0], check_called);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
