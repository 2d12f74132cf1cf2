arcp_test(budget_counter_test SOURCES budget_counter_test.c NEEDS arcp_core Threads::Threads)
