arcp_test(decimal_test SOURCES decimal_test.c NEEDS arcp_core)
