arcp_bench(gateway_bench SOURCES gateway_bench.c model_calls.c NEEDS arcp_gateway arcp_gateway_services arcp_http Threads::Threads)
