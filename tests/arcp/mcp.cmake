# `arcp mcp`, between a test that is the client and a stand-in that is the server.
add_executable(mcp_stand_in mcp_stand_in.c)
target_link_libraries(mcp_stand_in PRIVATE arcp_flags)
arcp_test(arcp_mcp_test SOURCES mcp_test.c NEEDS arcp_run_fixture LABELS integration slow)
target_compile_definitions(arcp_mcp_test PRIVATE MCP_STAND_IN="$<TARGET_FILE:mcp_stand_in>")
add_dependencies(arcp_mcp_test mcp_stand_in)
