# Processes: starting, talking to, ending and sweeping them.
add_executable(arcp-process-probe programs/probe.c)
set_target_properties(arcp-process-probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
target_link_libraries(arcp-process-probe PRIVATE arcp_flags)

function(arcp_process_test name)
  arcp_test(${name} SOURCES ${ARGN} process_support.c NEEDS arcp_runtime LABELS integration)
  add_dependencies(${name} arcp-process-probe arcp-agent-exec)
endfunction()

arcp_process_test(runtime_launcher_test launcher_test.c launcher_fixture.c)
arcp_process_test(runtime_launcher_end_test launcher_end_test.c launcher_fixture.c)
arcp_process_test(runtime_launch_cgroup_test launch_cgroup_test.c launcher_fixture.c)
arcp_process_test(runtime_agent_process_test agent_process_test.c one_process.c process_rig.c)
arcp_process_test(runtime_agent_process_end_test agent_process_end_test.c one_process.c process_rig.c)
arcp_process_test(runtime_agent_turns_test agent_turns_test.c process_rig.c)
arcp_process_test(runtime_agent_pool_test agent_pool_test.c process_rig.c)
arcp_process_test(runtime_stray_test stray_test.c)
arcp_process_test(runtime_agent_cgroups_test agent_cgroups_test.c)
arcp_test(runtime_agent_environment_test SOURCES agent_environment_test.c
  NEEDS arcp_runtime arcp_test_support)
