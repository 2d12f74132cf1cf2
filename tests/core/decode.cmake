arcp_test(decode_test SOURCES decode_test.c NEEDS arcp_core)
