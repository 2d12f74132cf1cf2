arcp_test(lease_test SOURCES lease_test.c NEEDS arcp_core)
arcp_test(budget_test SOURCES budget_test.c NEEDS arcp_core Threads::Threads)
arcp_test(gate_test SOURCES gate_test.c NEEDS arcp_core Threads::Threads)
arcp_test(lease_subset_test SOURCES lease_subset_test.c NEEDS arcp_core)
arcp_test(lease_derive_test SOURCES lease_derive_test.c NEEDS arcp_core)
arcp_test(lease_narrow_test SOURCES lease_narrow_test.c NEEDS arcp_core)
arcp_test(lease_explain_test SOURCES lease_explain_test.c NEEDS arcp_core)
arcp_test(lease_vectors_test SOURCES lease_vectors_test.c NEEDS arcp_core)
arcp_test(lease_model_test SOURCES lease_model_test.c NEEDS arcp_core)
arcp_test(lease_chain_test SOURCES lease_chain_test.c strings.c NEEDS arcp_core)

arcp_test(lease_alloc_test
  SOURCES lease_alloc_test.c ${PROJECT_SOURCE_DIR}/tests/transport/failing_alloc.c
  NEEDS arcp_core)
if(TARGET lease_alloc_test)
  foreach(function alloc alloc_array realloc realloc_array copy_cstr)
    target_link_options(lease_alloc_test PRIVATE -Wl,--wrap=arcp__${function})
  endforeach()
endif()
