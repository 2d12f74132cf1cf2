arcp_test(id_set_test SOURCES id_set_test.c NEEDS arcp_core arcp_test_support)
