arcp_test(denied_calls_test SOURCES denied_calls_test.c NEEDS arcp_core)
