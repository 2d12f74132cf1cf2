arcp_fuzz(mcp_message_fuzz SOURCES mcp_message_fuzz.c NEEDS arcp_mcp)
