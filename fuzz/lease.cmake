arcp_fuzz(lease_fuzz SOURCES lease_fuzz.c NEEDS arcp_core)
