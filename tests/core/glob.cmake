arcp_test(glob_pattern_test SOURCES glob_pattern_test.c NEEDS arcp_core)
arcp_test(glob_host_test
  SOURCES glob_host_test.c glob_model.c target_model.c NEEDS arcp_core)
arcp_test(glob_reach_test SOURCES glob_reach_test.c glob_model.c strings.c NEEDS arcp_core)
arcp_test(glob_set_test SOURCES glob_set_test.c NEEDS arcp_core arcp_test_support Threads::Threads)
arcp_test(glob_subset_test
  SOURCES glob_subset_test.c glob_model.c target_model.c NEEDS arcp_core arcp_test_support)
arcp_test(glob_vectors_test SOURCES glob_vectors_test.c NEEDS arcp_core)
arcp_test(glob_exhaustive_test
  SOURCES glob_exhaustive_test.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native exhaustive)
arcp_test(glob_random_test
  SOURCES glob_random_test.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native exhaustive)
arcp_test(subset_exact_test
  SOURCES subset_exact_test.c subset_model.c glob_model.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native exhaustive)
