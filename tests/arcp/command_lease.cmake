arcp_test(command_lease_test
  SOURCES command_lease_test.c ${PROJECT_SOURCE_DIR}/src/arcp/command_lease.c
  NEEDS arcp_core)
arcp_test(lease_guide_test
  SOURCES lease_guide_test.c ${PROJECT_SOURCE_DIR}/src/arcp/command_lease.c
  NEEDS arcp_core)
