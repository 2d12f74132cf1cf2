# Our side of `make bench-peers` (tools/bench-peers): the same work as the programs of bench/peers/.
function(arcp_peer_program name)
  cmake_parse_arguments(P "" "" "SOURCES;NEEDS" ${ARGN})
  add_executable(${name} ${P_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_link_libraries(${name} PRIVATE ${P_NEEDS} arcp_flags)
  arcp_optimise_whole(${name})
endfunction()

arcp_peer_program(arcp-bench-host SOURCES peer_host.c served_runtime.c NEEDS arcp_runtime)
arcp_peer_program(arcp-bench-lease SOURCES peer_lease.c NEEDS arcp_core arcp_bench_harness)
arcp_peer_program(arcp-bench-push SOURCES bare_push.c
  NEEDS PkgConfig::UV PkgConfig::CRYPTO arcp_wslay)
arcp_peer_program(arcp-bench-models SOURCES peer_models.c model_calls.c NEEDS Threads::Threads)
# On ours alone: no registry is asked.
find_program(ARCP_PYTHON python3)
if(ARCP_BUILD_TESTS AND ARCP_PYTHON)
  arcp_register_test(bench_peers_runs LABELS slow native
    COMMAND ${PROJECT_SOURCE_DIR}/tools/bench-peers ${CMAKE_BINARY_DIR} --quick --ours
      --only host-memory --only arcpd-sqlite --only bare-push
      --docs ${CMAKE_BINARY_DIR}/bench/peers-docs)
endif()
