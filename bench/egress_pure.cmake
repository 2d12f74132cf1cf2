arcp_bench(egress_pure_bench SOURCES egress_pure_bench.c NEEDS arcp_egress)
