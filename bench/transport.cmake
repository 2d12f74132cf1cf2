arcp_bench(transport_bench SOURCES transport_bench.c NEEDS arcp_transport)
