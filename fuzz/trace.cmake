arcp_fuzz(trace_fuzz SOURCES trace_fuzz.c NEEDS arcp_record)
