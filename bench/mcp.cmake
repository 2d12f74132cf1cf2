arcp_bench(mcp_bench SOURCES mcp_bench.c NEEDS arcp_mcp)
target_compile_definitions(mcp_bench PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(mcp_bench arcp)
