arcp_test(egress_address_test SOURCES egress_address_test.c NEEDS arcp_egress)
arcp_test(egress_names_test SOURCES egress_names_test.c NEEDS arcp_egress)
arcp_test(egress_policy_test SOURCES egress_policy_test.c NEEDS arcp_egress)
