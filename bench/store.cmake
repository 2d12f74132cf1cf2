arcp_bench(store_bench SOURCES store_bench.c NEEDS arcp_store)
