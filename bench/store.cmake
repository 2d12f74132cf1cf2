if(ARCP_HAS_POSTGRES)
  arcp_bench(store_bench SOURCES store_bench.c store_postgres.c ${PROJECT_SOURCE_DIR}/src/store/postgres_module.c
    NEEDS arcp_store arcp_store_pg)
else()
  arcp_bench(store_bench SOURCES store_bench.c store_without_postgres.c NEEDS arcp_store)
endif()
