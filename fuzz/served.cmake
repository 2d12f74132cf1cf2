arcp_fuzz(served_line_fuzz SOURCES served_line_fuzz.c NEEDS arcp_process)
