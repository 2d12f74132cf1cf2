arcp_fuzz(decimal_fuzz SOURCES decimal_fuzz.c NEEDS arcp_core)
