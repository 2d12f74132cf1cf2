arcp_bench(target_bench SOURCES target_bench.c NEEDS arcp_core)
