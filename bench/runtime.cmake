arcp_bench(runtime_bench SOURCES runtime_bench.c frame_client.c served_runtime.c
  NEEDS arcp_runtime)
arcp_bench(jobs_bench SOURCES jobs_bench.c frame_client.c served_runtime.c
  NEEDS arcp_runtime)
add_executable(arcp-jobs-bench-agent jobs_bench_agent.c)
set_target_properties(arcp-jobs-bench-agent PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
target_link_libraries(arcp-jobs-bench-agent PRIVATE arcp_flags)
target_compile_definitions(jobs_bench PRIVATE
  ARCP_JOBS_BENCH_AGENT="$<TARGET_FILE:arcp-jobs-bench-agent>")
add_dependencies(jobs_bench arcp-jobs-bench-agent)
