set(core_tests ${PROJECT_SOURCE_DIR}/tests/core)
arcp_fuzz(glob_match_fuzz SOURCES glob_match_fuzz.c ${core_tests}/glob_model.c NEEDS arcp_core)
arcp_fuzz(glob_subset_fuzz
  SOURCES glob_subset_fuzz.c ${core_tests}/subset_model.c ${core_tests}/glob_model.c
    ${core_tests}/target_model.c
  NEEDS arcp_core)
