arcp_test(egress_address_test SOURCES egress_address_test.c NEEDS arcp_egress)
arcp_test(egress_names_test SOURCES egress_names_test.c NEEDS arcp_egress)
arcp_test(egress_policy_test SOURCES egress_policy_test.c NEEDS arcp_egress)
arcp_test(egress_dns_test SOURCES egress_dns_test.c NEEDS arcp_egress)
arcp_test(egress_hello_test SOURCES egress_hello_test.c NEEDS arcp_egress)
arcp_test(egress_plan_test SOURCES egress_plan_test.c ${PROJECT_SOURCE_DIR}/tests/sandbox/sandbox_rig.c
  ${PROJECT_SOURCE_DIR}/tests/sandbox/plan_model.c
  ${PROJECT_SOURCE_DIR}/tests/core/strings.c NEEDS arcp_egress arcp_sandbox LABELS slow native)
