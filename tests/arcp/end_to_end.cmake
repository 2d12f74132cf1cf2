# Start the programs of this build.
add_library(arcp_fixture STATIC fixture.c arcpd_run.c temp_tree.c process.c tcp_proxy.c cutting_proxy.c)
target_include_directories(arcp_fixture PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(arcp_fixture PRIVATE
  ARCP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(arcp_fixture PUBLIC arcp_base PkgConfig::CMOCKA Threads::Threads util
  PRIVATE arcp_flags)
add_dependencies(arcp_fixture arcp arcp-bench arcp-conformance arcpd arcp-bench-agent)

foreach(name submit submit_explain cancel logs query schedules show connect bench_run connection_loss interrupt ui)
  arcp_test(arcp_${name}_test SOURCES ${name}_test.c NEEDS arcp_fixture LABELS integration slow)
endforeach()
target_compile_definitions(arcp_ui_test PRIVATE ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
arcp_test(arcp_exit_status_test SOURCES exit_status_test.c NEEDS arcp_fixture
  LABELS integration slow)
arcp_test(arcp_conformance_test SOURCES conformance_test.c editing_proxy.c NEEDS arcp_fixture
  LABELS integration slow)
target_compile_definitions(arcp_conformance_test PRIVATE
  ARCP_VERSION_STRING="${PROJECT_VERSION}"
  ARCP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
arcp_test(arcp_tool_test SOURCES tool_test.c NEEDS arcp_fixture LABELS integration)
target_compile_definitions(arcp_tool_test PRIVATE
  ARCP_LIBEXEC_DIRECTORY="${CMAKE_INSTALL_FULL_LIBEXECDIR}/arcp")
arcp_test(arcp_golden_test SOURCES golden_test.c NEEDS arcp_fixture LABELS integration slow)
arcp_test(arcp_terminal_test SOURCES terminal_test.c tty_screen.c NEEDS arcp_fixture
  LABELS integration slow)
arcp_test(arcp_jobs_test SOURCES jobs_test.c tty_screen.c editing_proxy.c NEEDS arcp_fixture arcp_commands
  LABELS integration slow)
arcp_test(arcp_large_result_test SOURCES large_result_test.c NEEDS arcp_fixture
  LABELS integration slow native)

# `arcp run`, on the sandbox of this host.
add_library(arcp_run_fixture STATIC run_fixture.c run_rows.c process.c temp_tree.c)
target_include_directories(arcp_run_fixture PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(arcp_run_fixture PUBLIC ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(arcp_run_fixture PUBLIC arcp_base PkgConfig::CMOCKA util PRIVATE arcp_flags)
add_dependencies(arcp_run_fixture arcp arcp-sandbox)
foreach(name context doctor explain_enforce run run_learn run_network run_terminal)
  arcp_test(arcp_${name}_test SOURCES ${name}_test.c NEEDS arcp_run_fixture LABELS integration slow)
endforeach()
arcp_test(arcp_run_limits_test SOURCES run_limits_test.c NEEDS arcp_run_fixture arcp_launch LABELS integration slow)

# Completion in bash, zsh and fish; screens of three widths.
find_program(ARCP_PYTHON python3)
if(ARCP_PYTHON AND NOT ARCP_SANITIZE AND NOT ARCP_COVERAGE AND NOT ARCP_VALGRIND)
  arcp_register_test(arcp_shells LABELS integration native
    COMMAND ${ARCP_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/shells.py ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(arcp_shells PROPERTIES SKIP_RETURN_CODE 77)
  arcp_register_test(arcp_screens LABELS integration native
    COMMAND ${ARCP_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/screens.py ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
endif()
