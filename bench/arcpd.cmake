# Starts the programs of this build: the fixture is the tests' own.
if(TARGET arcpd AND TARGET arcp-load-agent)
  set(fixture ${PROJECT_SOURCE_DIR}/tests/arcpd)
  arcp_bench(arcpd_bench SOURCES arcpd_bench.c ${fixture}/wire.c ${fixture}/daemon.c NEEDS arcp_json)
  # Before src, which has another arcpd/daemon.h.
  target_include_directories(arcpd_bench BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(arcpd_bench PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_dependencies(arcpd_bench arcpd arcp-load-agent)
endif()
