arcp_fuzz(store_fuzz SOURCES store_fuzz.c NEEDS arcp_store)
