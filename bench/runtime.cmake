arcp_bench(runtime_bench SOURCES runtime_bench.c frame_client.c served_runtime.c
  NEEDS arcp_runtime)
arcp_bench(jobs_bench SOURCES jobs_bench.c frame_client.c served_runtime.c
  NEEDS arcp_runtime)
foreach(kind jobs serve)
  add_executable(arcp-${kind}-bench-agent ${kind}_bench_agent.c)
  set_target_properties(arcp-${kind}-bench-agent PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_link_libraries(arcp-${kind}-bench-agent PRIVATE arcp_flags)
  add_dependencies(jobs_bench arcp-${kind}-bench-agent)
endforeach()
target_compile_definitions(jobs_bench PRIVATE
  ARCP_JOBS_BENCH_AGENT="$<TARGET_FILE:arcp-jobs-bench-agent>"
  ARCP_SERVE_BENCH_AGENT="$<TARGET_FILE:arcp-serve-bench-agent>"
  ARCP_SERVE_BENCH_HELPERS="${CMAKE_BINARY_DIR}/share/arcp")
