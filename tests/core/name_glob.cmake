arcp_test(name_glob_test SOURCES name_glob_test.c NEEDS arcp_core)
