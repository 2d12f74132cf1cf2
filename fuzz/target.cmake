arcp_fuzz(target_fuzz SOURCES target_fuzz.c ${PROJECT_SOURCE_DIR}/tests/core/target_model.c
  NEEDS arcp_core)
