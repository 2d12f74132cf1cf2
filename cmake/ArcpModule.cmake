# The functions that folders' CMakeLists.txt are written with. One call per library,
# program, test, fuzzer or benchmark; everything they share is decided here. A source that
# does not exist is an error of the configuration (tests/tree/refuses.sh).

# arcp_optimise_whole(TARGET ...)
#   What people run or load: where ARCP_LTO allows it, modules are optimised together when it is
#   linked.
function(arcp_optimise_whole)
  set_target_properties(${ARGN} PROPERTIES ARCP_WHOLE TRUE)
endfunction()

# arcp_module(NAME SOURCES a.c b.c [NEEDS other modules or imported targets])
#   One folder of src/ as a static library arcp_NAME. Includes are written from
#   src/ ("base/alloc.h") and from include/ (<arcp/span.h>).
function(arcp_module name)
  cmake_parse_arguments(M "" "" "SOURCES;NEEDS" ${ARGN})
  add_library(arcp_${name} STATIC ${M_SOURCES})
  target_include_directories(arcp_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(arcp_${name} PUBLIC ${M_NEEDS} PRIVATE arcp_flags)
  target_compile_options(arcp_${name} PRIVATE ${ARCP_WHOLE_FLAGS})
  set_target_properties(arcp_${name} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/modules")
endfunction()

# arcp_loadable(NAME SOURCES a.c [NEEDS ...])
#   What arcpd loads when it is configured: NAME.so, installed in lib/arcp. In the build tree
#   it stands in build/modules, where arcpd of the same tree finds it.
function(arcp_loadable name)
  cmake_parse_arguments(L "" "" "SOURCES;NEEDS" ${ARGN})
  string(REPLACE "-" "_" target ${name})
  add_library(${target} MODULE ${L_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/modules")
  target_link_libraries(${target} PRIVATE ${L_NEEDS} arcp_flags)
  # One symbol goes out; what it shares with arcpd's own code stays its own.
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/arcp)
endfunction()

# arcp_program(NAME SOURCES main.c [NEEDS ...] [LIBEXEC])
#   A program that is installed: in bin/, or with LIBEXEC in libexec/arcp/ (those that
#   people do not start themselves: base/libexec.h). In the build tree both stand in bin/.
function(arcp_program name)
  cmake_parse_arguments(P "LIBEXEC" "" "SOURCES;NEEDS" ${ARGN})
  add_executable(${name} ${P_SOURCES})
  target_link_libraries(${name} PRIVATE ${P_NEEDS} arcp_flags)
  arcp_optimise_whole(${name})
  if(P_LIBEXEC)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/arcp)
  else()
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

# Registers `name` with ctest, under valgrind where the build asks for it.
# Labels say which runs take it in: `unit` (the default: in one process, milliseconds),
# `integration` (starts programs), `slow` (seconds), `house` (about the tree itself, or code that
# is not C: no sense under a sanitizer), `native` (no sense under valgrind: it forks by itself, measures
# time or runs for minutes there), `crash` (kills programs, cuts connections or fails the disk many
# times) and `exhaustive` (tries all small cases): these two `.ci/run` runs once, and `make soak` under
# sanitizers, too. `night` (does what another test does, with other seeds or programs): `make test` and `make soak`
# run it, `.ci/run` does not.
function(arcp_register_test name)
  cmake_parse_arguments(R "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT R_LABELS)
    set(R_LABELS unit)
  endif()
  set(wrapper)
  if(ARCP_VALGRIND AND NOT "house" IN_LIST R_LABELS AND NOT "native" IN_LIST R_LABELS)
    set(wrapper ${ARCP_VALGRIND_COMMAND})
  endif()
  if(NOT R_TIMEOUT)
    set(R_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${wrapper} ${R_COMMAND})
  # The longest are started first, so that none is left to run alone at the end.
  set(cost 1)
  if("crash" IN_LIST R_LABELS)
    set(cost 4)
  elseif("slow" IN_LIST R_LABELS)
    set(cost 3)
  elseif("integration" IN_LIST R_LABELS OR "house" IN_LIST R_LABELS)
    set(cost 2)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${R_LABELS}" TIMEOUT ${R_TIMEOUT} COST ${cost})
  if("pg" IN_LIST R_LABELS) # without PostgreSQL
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# How the sources of tests are compiled.
function(arcp_compile_as_test target)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${target} PRIVATE
    ARCP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ARCP_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE arcp_flags PkgConfig::CMOCKA)
endfunction()

# Sets OUT to the object of a source of tests/ that several tests may list: it is compiled once for all
# of them. The engine's fixture alone is in 42 programs.
function(arcp_test_object source out)
  file(RELATIVE_PATH target ${PROJECT_SOURCE_DIR}/tests ${source})
  string(REGEX REPLACE "[^a-zA-Z0-9]" "_" target test_object_${target})
  if(NOT TARGET ${target})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
    arcp_compile_as_test(${target})
  endif()
  set(${out} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

# arcp_test(NAME SOURCES a_test.c [fixture.c ...] [NEEDS ...] [ARGS ...] [LABELS ...] [TIMEOUT seconds])
#   A cmocka program, registered with ctest as NAME. Compile definitions that are added to NAME later
#   are those of the first source, and of sources outside tests/.
function(arcp_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;NEEDS;ARGS;LABELS" ${ARGN})
  list(POP_FRONT T_SOURCES sources)
  foreach(source ${T_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    string(FIND ${source} ${PROJECT_SOURCE_DIR}/tests/ at)
    if(at EQUAL 0)
      arcp_test_object(${source} source)
    endif()
    list(APPEND sources ${source})
  endforeach()
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  arcp_compile_as_test(${name})
  if(NOT T_LABELS OR T_LABELS STREQUAL "integration")
    target_link_libraries(${name} PRIVATE arcp_quick_flags)
  endif()
  target_link_libraries(${name} PRIVATE ${T_NEEDS} $<TARGET_NAME_IF_EXISTS:arcp_openssl_unseen>)
  target_link_options(${name} PRIVATE ${ARCP_TEST_LINK_FLAGS})
  if(NOT name MATCHES "${ARCP_TESTS_BUILT}")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  set_property(GLOBAL APPEND PROPERTY ARCP_TESTS ${name})
  arcp_register_test(${name} COMMAND $<TARGET_FILE:${name}> ${T_ARGS}
    LABELS ${T_LABELS} TIMEOUT ${T_TIMEOUT})
endfunction()

# arcp_fuzz(NAME SOURCES x_fuzz.c [NEEDS ...])
#   A libFuzzer program NAME in builds with ARCP_BUILD_FUZZERS; its corpus is
#   fuzz/corpus/NAME, its dictionary (where there is one) fuzz/NAME.dict. In all other
#   builds with ARCP_FUZZ_REPLAY a program NAME that runs every file of the corpus once, as a test: what a
#   fuzzer found once stays found.
function(arcp_fuzz name)
  if(DEFINED ARCP_FUZZ_REPLAY AND NOT ARCP_FUZZ_REPLAY AND NOT ARCP_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(F "" "" "SOURCES;NEEDS" ${ARGN})
  add_executable(${name} ${F_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -include ${PROJECT_SOURCE_DIR}/fuzz/entry.h)
  target_link_libraries(${name} PRIVATE ${F_NEEDS} arcp_flags)
  target_link_options(${name} PRIVATE ${ARCP_TEST_LINK_FLAGS})
  set_property(GLOBAL APPEND PROPERTY ARCP_FUZZERS ${name})
  if(ARCP_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/replay.c)
  if(NOT name MATCHES "${ARCP_TESTS_BUILT}")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  arcp_register_test(${name}_corpus
    COMMAND $<TARGET_FILE:${name}> ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
endfunction()

# arcp_bench(NAME SOURCES x_bench.c [NEEDS ...])
#   A benchmark program on the harness of bench/harness.h. A test runs it once, briefly,
#   so that it goes on working; figures come from `make bench`.
function(arcp_bench name)
  cmake_parse_arguments(B "" "" "SOURCES;NEEDS" ${ARGN})
  add_executable(${name} ${B_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${B_NEEDS} arcp_bench_harness arcp_flags)
  arcp_optimise_whole(${name})
  set_property(GLOBAL APPEND PROPERTY ARCP_BENCHES ${name})
  if(ARCP_BUILD_TESTS)
    arcp_register_test(${name}_runs COMMAND $<TARGET_FILE:${name}> --quick LABELS slow native)
  endif()
endfunction()
