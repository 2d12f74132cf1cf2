arcp_fuzz(calendar_fuzz SOURCES calendar_fuzz.c NEEDS arcp_calendar)
