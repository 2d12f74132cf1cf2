arcp_bench(sandbox_start_bench SOURCES sandbox_start_bench.c NEEDS arcp_launch arcp_sandbox)
target_compile_definitions(sandbox_start_bench PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
target_include_directories(sandbox_start_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
add_dependencies(sandbox_start_bench arcp-sandbox)
