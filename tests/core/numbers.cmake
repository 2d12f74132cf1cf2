arcp_test(core_numbers_test SOURCES numbers_test.c NEEDS arcp_core)
