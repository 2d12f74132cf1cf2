arcp_test(arcp_usage_test SOURCES usage_test.c NEEDS arcp_commands)
arcp_test(arcp_lease_request_test SOURCES lease_request_test.c NEEDS arcp_commands)
arcp_test(arcp_rendering_test SOURCES rendering_test.c NEEDS arcp_commands)
arcp_test(arcp_session_file_test SOURCES session_file_test.c temp_tree.c NEEDS arcp_commands)
