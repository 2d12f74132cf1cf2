arcp_test(budget_counter_test SOURCES budget_counter_test.c NEEDS arcp_core Threads::Threads)

# The same promises from the atomics of machines other than x86-64, where they can be had.
include(CheckLibraryExists)
check_library_exists(atomic __atomic_compare_exchange_16 "" ARCP_HAS_LIBATOMIC)
if(ARCP_HAS_LIBATOMIC)
  arcp_test(budget_counter_generic_test
    SOURCES budget_counter_test.c ${PROJECT_SOURCE_DIR}/src/core/budget_counter.c
    NEEDS arcp_core Threads::Threads atomic)
  target_compile_definitions(budget_counter_generic_test PRIVATE ARCP__BUDGET_WORD_GENERIC)
endif()
