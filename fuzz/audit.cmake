arcp_fuzz(audit_check_fuzz SOURCES audit_check_fuzz.c NEEDS arcp_audit)
