arcp_bench(egress_bench SOURCES egress_bench.c NEEDS arcp_egress Threads::Threads)
