# Some of these make allocations fail.
set(failing_alloc ${PROJECT_SOURCE_DIR}/tests/transport/failing_alloc.c)
set(wrapped_alloc -Wl,--wrap=arcp__alloc -Wl,--wrap=arcp__alloc_array -Wl,--wrap=arcp__realloc
  -Wl,--wrap=arcp__realloc_array -Wl,--wrap=arcp__copy_cstr)

arcp_test(glob_pattern_test SOURCES glob_pattern_test.c NEEDS arcp_core)
arcp_test(glob_set_test SOURCES glob_set_test.c ${failing_alloc} NEEDS arcp_core Threads::Threads)
arcp_test(glob_subset_test
  SOURCES glob_subset_test.c glob_model.c target_model.c ${failing_alloc} NEEDS arcp_core)
target_link_options(glob_set_test PRIVATE ${wrapped_alloc})
target_link_options(glob_subset_test PRIVATE ${wrapped_alloc})
arcp_test(glob_vectors_test SOURCES glob_vectors_test.c NEEDS arcp_core)
arcp_test(glob_exhaustive_test
  SOURCES glob_exhaustive_test.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native)
arcp_test(glob_random_test
  SOURCES glob_random_test.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native)
arcp_test(subset_exact_test
  SOURCES subset_exact_test.c subset_model.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native)
