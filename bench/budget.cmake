arcp_bench(budget_bench SOURCES budget_bench.c NEEDS arcp_core)
arcp_bench(gate_bench SOURCES gate_bench.c NEEDS arcp_core)
