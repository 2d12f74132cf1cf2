arcp_bench(confined_jobs_bench SOURCES confined_jobs_bench.c frame_client.c served_runtime.c
  NEEDS arcp_runtime)
target_include_directories(confined_jobs_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(confined_jobs_bench PRIVATE
  ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}"
  ARCP_JOBS_BENCH_AGENT="${CMAKE_BINARY_DIR}/bench/arcp-jobs-bench-agent")
add_dependencies(confined_jobs_bench arcp-jobs-bench-agent arcp-sandbox)
