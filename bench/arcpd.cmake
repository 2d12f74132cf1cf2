# Starts the programs of this build: the fixture is the tests' own.
if(ARCP_BUILD_TESTS)
  set(fixture ${PROJECT_SOURCE_DIR}/tests/arcpd)
  arcp_bench(arcpd_bench SOURCES arcpd_bench.c ${fixture}/wire.c ${fixture}/daemon.c NEEDS arcp_json)
  # Before src, which has another arcpd/daemon.h.
  target_include_directories(arcpd_bench BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(arcpd_bench PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_dependencies(arcpd_bench arcpd arcp-load-agent)

  # Attacks on an arcpd, and what another principal has of it meanwhile: `make bench-hostile`.
  arcp_bench(hostile_load SOURCES hostile_load.c hostile_attacks.c ${fixture}/wire.c
    ${fixture}/daemon.c NEEDS arcp_json)
  target_include_directories(hostile_load BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(hostile_load PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_dependencies(hostile_load arcpd arcp-load-agent)
  set_tests_properties(hostile_load_runs PROPERTIES PASS_REGULAR_EXPRESSION
    "\nnothing .*\nlist_jobs, not read .*\nleases hard to narrow .*\njobs with large leases .*\nflooding agents, owner gone .*\nrefused hellos .*\nrefused submits .*\npipelined submits .*\n4 links of ignored frames .*\nsilent connections .*\nhalf-open connections ")
endif()
