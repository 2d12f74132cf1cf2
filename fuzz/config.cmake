arcp_fuzz(config_fuzz SOURCES config_fuzz.c NEEDS arcp_arcpd_parts)
