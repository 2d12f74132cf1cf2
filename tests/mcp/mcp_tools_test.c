/* What a client sees of a server: its tools and its capabilities. */
#include "mcp/mcp_fixture.h"

static void a_list_has_the_tools_that_may_be_called(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(
        &f, MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"write\"},"
                    "{\"description\":\"d\",\"name\":\"read_file\",\"annotations\":{}},"
                    "{\"title\":\"no name\"},7,{\"name\":5},{\"name\":\"\"},{\"name\":\"echo\"}],"
                    "\"nextCursor\":\"c\",\"ttlMs\":60000,\"cacheScope\":\"public\"}"));
    mcp_check_sent(&f, "",
                   MESSAGE("\"id\":1,\"result\":{\"tools\":["
                           "{\"description\":\"d\",\"name\":\"read_file\",\"annotations\":{}},"
                           "{\"name\":\"echo\"}],\"nextCursor\":\"c\",\"ttlMs\":0,\"cacheScope\":"
                           "\"private\"}") "\n");
    assert_int_equal(f.shown, 2);
    assert_int_equal(f.hidden, 5);
    check_span(arcp_buf_span(&f.decided), ""); /* only calls are recorded */
    mcp_end(&f);
}

static void a_list_names_no_headers(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f,
               MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{"
                       "\"type\":\"object\",\"properties\":{\"a\":{\"x-mcp-header\":\"A\",\"type\":"
                       "\"string\"},\"x-mcp-header\":{\"type\":\"string\"},\"b\":{\"anyOf\":[{"
                       "\"type\":\"string\",\"\\u0078-mcp-header\":\"B\"},7]}}}}]}"));
    mcp_check_sent(&f, "",
                   MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{"
                           "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},"
                           "\"x-mcp-header\":{\"type\":\"string\"},\"b\":{\"anyOf\":[{\"type\":"
                           "\"string\"},7]}}}}]}") "\n");
    mcp_end(&f);
}

static void a_list_that_is_none_is_an_error(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, MESSAGE("\"id\":1,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f, MESSAGE("\"id\":1,\"result\":{\"tools\":{\"name\":\"write\"}}"));
    mcp_check_sent(&f, "", ERROR("1", "-32603", "the response of the server has no list of tools"));
    mcp_end(&f);
}

static void few_capabilities_of_a_server_are_shown(void **state)
{
    static const char capabilities[] =
        "\"capabilities\":{\"prompts\":{},\"tools\":{\"listChanged\":true},\"resources\":{},"
        "\"completions\":{},\"tasks\":{},\"experimental\":{},\"logging\":{}}";
    char line[512];
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, MESSAGE("\"id\":1,\"method\":\"initialize\""));
    mcp_client(&f, MESSAGE("\"id\":2,\"method\":\"server/discover\""));
    arcp_buf_clear(&f.output.to_server);
    (void)snprintf(line, sizeof line, MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"v\",%s}"),
                   capabilities);
    mcp_server(&f, line);
    mcp_check_sent(
        &f, "",
        MESSAGE("\"id\":1,\"result\":{\"protocolVersion\":\"v\",\"capabilities\":{\"tools\":{"
                "\"listChanged\":true},\"logging\":{}}}") "\n");
    (void)snprintf(line, sizeof line, MESSAGE("\"id\":2,\"result\":{%s,\"instructions\":\"i\"}"),
                   capabilities);
    mcp_server(&f, line);
    mcp_check_sent(&f, "",
                   MESSAGE("\"id\":2,\"result\":{\"capabilities\":{\"tools\":{},\"logging\":{}},"
                           "\"instructions\":\"i\"}") "\n");
    mcp_client(&f, MESSAGE("\"id\":1,\"method\":\"initialize\""));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f, MESSAGE("\"id\":1,\"result\":[]"));
    mcp_check_sent(&f, "", ERROR("1", "-32603", "the response of the server is not an object"));
    mcp_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_the_tools_that_may_be_called),
        cmocka_unit_test(a_list_names_no_headers),
        cmocka_unit_test(a_list_that_is_none_is_an_error),
        cmocka_unit_test(few_capabilities_of_a_server_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
