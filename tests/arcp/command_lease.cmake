arcp_test(command_lease_test
  SOURCES command_lease_test.c captured_run.c
  NEEDS arcp_commands arcp_core)
arcp_test(lease_guide_test
  SOURCES lease_guide_test.c
  NEEDS arcp_commands arcp_core)
arcp_test(command_models_test
  SOURCES command_models_test.c captured_run.c
  NEEDS arcp_commands arcp_core)
