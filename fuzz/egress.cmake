arcp_fuzz(client_hello_fuzz SOURCES client_hello_fuzz.c NEEDS arcp_egress)
arcp_fuzz(dns_fuzz SOURCES dns_fuzz.c NEEDS arcp_egress)
arcp_fuzz(egress_policy_fuzz SOURCES egress_policy_fuzz.c NEEDS arcp_egress)
