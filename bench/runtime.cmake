arcp_bench(runtime_bench SOURCES runtime_bench.c NEEDS arcp_runtime)
