arcp_bench(json_bench SOURCES json_bench.c NEEDS arcp_json)
