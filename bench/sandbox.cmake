arcp_bench(sandbox_bench SOURCES sandbox_bench.c NEEDS arcp_sandbox)
