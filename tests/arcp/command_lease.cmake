arcp_test(command_lease_test
  SOURCES command_lease_test.c
  NEEDS arcp_commands arcp_core)
arcp_test(lease_guide_test
  SOURCES lease_guide_test.c
  NEEDS arcp_commands arcp_core)
