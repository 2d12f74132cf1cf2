arcp_fuzz(mcp_message_fuzz SOURCES mcp_message_fuzz.c NEEDS arcp_mcp)
arcp_fuzz(mcp_link_fuzz SOURCES mcp_link_fuzz.c NEEDS arcp_mcp)
arcp_fuzz(mcp_post_fuzz SOURCES mcp_post_fuzz.c NEEDS arcp_mcp)
arcp_fuzz(mcp_target_fuzz SOURCES mcp_target_fuzz.c NEEDS arcp_mcp)
