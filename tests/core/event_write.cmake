arcp_test(event_write_test SOURCES event_write_test.c NEEDS arcp_core)
