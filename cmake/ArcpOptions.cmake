# The options of a build, and the flags that every target is compiled with.
option(ARCP_BUILD_TESTS "Build the tests" ON)
option(ARCP_BUILD_FUZZERS "Build the libFuzzer programs (needs clang)" OFF)
option(ARCP_FUZZ_REPLAY "Build the programs that run the fuzzers' corpora as tests" ON)
option(ARCP_BUILD_BENCH "Build the benchmarks" ON)
option(ARCP_BUILD_MAN "Build the man pages (needs scdoc)" ON)
option(ARCP_WERROR "Treat warnings as errors" ON)
option(ARCP_LTO "Optimise the programs and the shared libraries as a whole (release builds with gcc)" ON)
option(ARCP_COVERAGE "Instrument for coverage" OFF)
option(ARCP_VALGRIND "Run the tests under valgrind" OFF)
option(ARCP_ANALYZE "Compile with gcc's static analyzer" OFF)
option(ARCP_FAULTS "Let tests make each step of a sandbox's set-up fail (ARCP_SANDBOX_FAIL); never for what people run" OFF)
set(ARCP_TESTS_BUILT "" CACHE STRING "A regular expression: tests with other names are built only when they are named as targets")
set(ARCP_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread or, with clang, memory)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Assertions stay in what people run: a broken invariant stops the process, where going on
# could break the promise. NDEBUG is therefore never defined.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g" CACHE STRING "Flags of a release build" FORCE)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g" CACHE STRING "Flags of a release build" FORCE)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# build/lib holds what is installed; helpers of tests and benchmarks stand aside.
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/helpers")

include(CheckPIESupported)
check_pie_supported()

add_library(arcp_flags INTERFACE)
target_compile_definitions(arcp_flags INTERFACE _GNU_SOURCE)
target_compile_options(arcp_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wswitch-enum -Wformat=2 -Wundef -Wvla
  -Wimplicit-fallthrough
  # Callbacks and vtable slots have parameters that not every implementation needs.
  -Wno-unused-parameter
  -fno-common -fstack-protector-strong)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  # Extensions that gcc and clang share; include/arcp stays free of them (tests/install).
  target_compile_options(arcp_flags INTERFACE
    -Wno-gnu-zero-variadic-macro-arguments -Wno-gnu-statement-expression -Wno-gnu-case-range
    -Wno-language-extension-token)
else()
  # Text is cut on purpose; the optimiser's guess of what might be cut is no finding.
  target_compile_options(arcp_flags INTERFACE -Wno-format-truncation)
endif()
if(ARCP_WERROR)
  target_compile_options(arcp_flags INTERFACE -Werror)
endif()

# A module's objects carry machine code and what a link that optimises the whole needs besides.
# Only what people run is linked so (arcp_optimise_whole): it takes seconds each, and tests are many.
set(ARCP_WHOLE_FLAGS)
if(ARCP_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release"
   AND NOT ARCP_SANITIZE AND NOT ARCP_COVERAGE AND NOT ARCP_ANALYZE AND NOT ARCP_VALGRIND)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT can_optimise_whole LANGUAGES C)
  if(can_optimise_whole)
    set(ARCP_WHOLE_FLAGS -flto=auto -ffat-lto-objects)
    target_link_options(arcp_flags INTERFACE
      $<IF:$<BOOL:$<TARGET_PROPERTY:ARCP_WHOLE>>,-flto=auto,-fno-lto>)
  endif()
endif()

if(ARCP_SANITIZE)
  target_compile_options(arcp_flags INTERFACE
    -fsanitize=${ARCP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(arcp_flags INTERFACE -fsanitize=${ARCP_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(arcp_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(ARCP_BUILD_FUZZERS)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ARCP_BUILD_FUZZERS needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(arcp_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(ARCP_COVERAGE)
  target_compile_options(arcp_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(arcp_flags INTERFACE --coverage)
endif()
if(ARCP_ANALYZE)
  target_compile_options(arcp_flags INTERFACE -fanalyzer)
endif()
if(ARCP_FAULTS)
  target_compile_definitions(arcp_flags INTERFACE ARCP_FAULTS)
endif()
target_link_options(arcp_flags INTERFACE -Wl,-z,relro,-z,now)

# Tests are hundreds of programs: mold links one in an eighth of the processor time, gold in half of it.
set(ARCP_TEST_LINK_FLAGS)
find_program(ARCP_MOLD ld.mold)
find_program(ARCP_GOLD ld.gold)
if(ARCP_MOLD AND NOT ARCP_BUILD_FUZZERS)
  set(ARCP_TEST_LINK_FLAGS -fuse-ld=mold)
elseif(ARCP_GOLD AND NOT ARCP_BUILD_FUZZERS)
  set(ARCP_TEST_LINK_FLAGS -fuse-ld=gold)
endif()
# A test that runs for milliseconds is compiled once for each run: optimising it takes longer than it saves.
add_library(arcp_quick_flags INTERFACE)
target_compile_options(arcp_quick_flags INTERFACE -O0 "SHELL:-U _FORTIFY_SOURCE") # spelt so that CMake keeps it in its place

if(ARCP_VALGRIND)
  find_program(VALGRIND valgrind REQUIRED)
  set(ARCP_VALGRIND_COMMAND ${VALGRIND} --quiet --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible
    --num-callers=30)
endif()
