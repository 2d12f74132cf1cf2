arcp_test(otlp_test SOURCES otlp_test.c NEEDS arcp_core)
