arcp_test(capability_test SOURCES capability_test.c NEEDS arcp_core)
