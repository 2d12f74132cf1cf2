arcp_fuzz(plan_text_fuzz SOURCES plan_text_fuzz.c NEEDS arcp_sandbox)
