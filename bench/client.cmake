arcp_bench(client_bench SOURCES client_bench.c NEEDS arcp_client)
