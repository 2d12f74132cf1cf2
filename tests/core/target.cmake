arcp_test(target_test SOURCES target_test.c NEEDS arcp_core)
arcp_test(target_model_test SOURCES target_model_test.c target_model.c strings.c NEEDS arcp_core
  LABELS slow native exhaustive)
arcp_test(url_pattern_test SOURCES url_pattern_test.c NEEDS arcp_core)
