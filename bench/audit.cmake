# Starts the programs of this build: the fixture is the tests' own.
set(fixture ${PROJECT_SOURCE_DIR}/tests/arcpd)
add_executable(arcp-audit-agent audit_agent.c)
set_target_properties(arcp-audit-agent PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
target_link_libraries(arcp-audit-agent PRIVATE arcp_flags)
arcp_bench(audit_bench SOURCES audit_bench.c ${fixture}/wire.c ${fixture}/daemon.c NEEDS arcp_json)
target_include_directories(audit_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(audit_bench PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(audit_bench arcpd arcp-audit-agent)
